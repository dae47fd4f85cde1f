// What this board and its peers say to each other, between the broker and the core: packets in are
// judged, taken apart and kept for the next tick; ledger messages and parts of models out are put
// together and sealed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/fleet.hpp"
#include "agent/fleet/peer_guard.hpp"
#include "agent/fleet/peer_inbox.hpp"
#include "agent/settings/settings.hpp"
#include "mqtt/client/message.hpp"
#include "mqtt/codec/coop.hpp"

namespace laird::agent {

class PeerTraffic {
 public:
  struct Callbacks {
    std::function<void(const std::string& peer, std::string packet, mqtt::Class kind)> publish;
    std::function<void(const std::string& from, std::string_view body)> model_part;
    std::function<void(const std::string& text)> notice;
  };
  PeerTraffic(std::string self, std::optional<mqtt::PeerIdentity> identity, DurationNs tick,
              Callbacks callbacks);

  void on_packet(const std::string& from, std::string_view payload, const core::FleetBudget& budget,
                 const PeerGuard::Moment& moment);
  // What was heard since the last call.
  [[nodiscard]] std::vector<core::PeerMessage> gather() { return inbox_.take(); }
  // The same of titles.
  [[nodiscard]] std::vector<core::PeerMessage> gather_titles() { return titles_.take(); }

  void send(const core::SendToPeer& message, TimeNs now);
  void send_title(const core::SendTitle& message, TimeNs now);
  // The same of earlier runs.
  [[nodiscard]] std::vector<core::PeerMessage> gather_runs() { return runs_.take(); }
  void send_run(const core::SendRun& message, TimeNs now);
  void send_model(const std::string& peer, std::string_view body, TimeNs now);
  // In one packet.
  void send_model_to_all(const std::vector<std::string>& peers, std::string_view body, TimeNs now);
  // Sends the ledger messages that wait.
  void flush(TimeNs now);

  [[nodiscard]] PeerGuard& guard() { return guard_; }
  [[nodiscard]] const PeerGuard& guard() const { return guard_; }

 private:
  void send_waiting(const std::string& peer, mqtt::CoopWriter& writer, TimeNs now);

  Callbacks callbacks_;
  PeerGuard guard_;
  PeerInbox inbox_;
  TitleInbox titles_;
  TitleInbox runs_;
  std::map<std::string, mqtt::CoopWriter> outbound_;  // by peer
};

// The identity that the board's certificate gives it; none in a lab without certificates.
[[nodiscard]] Result<std::optional<mqtt::PeerIdentity>> peer_identity_of(
    const FleetSettings& settings, const std::string& node, std::uint64_t start);

}  // namespace laird::agent
