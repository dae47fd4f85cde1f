// What peers' ledgers said between two ticks. Bounded, and no peer can take the place of another:
// each has room for a few messages, and of the kinds where a later message says all that an earlier
// one did, only the newest is kept. When all peers together say too much, those with most here lose
// theirs first. Every ledger message is idempotent and may be lost (consensus/message.hpp).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/limits.hpp"
#include "agent/fleet/peer_guard.hpp"

namespace laird::agent {

class PeerInbox {
 public:
  static constexpr std::size_t kMessagesPerPeerMax = 16;

  // kOpened: it is kept. kUndecoded: it is no ledger message; one of another version is still told
  // to the core, by its first bytes. kCrowded: it is kept, and an older one made room for it.
  [[nodiscard]] CoopResult add(const std::string& from, std::string_view frame);
  // All of it, in the order in which it came.
  [[nodiscard]] std::vector<core::PeerMessage> take();

 private:
  struct Kept {
    core::PeerMessage message;
    std::size_t kind = 0;
  };
  CoopResult keep(const std::string& from, std::string_view frame, std::size_t kind,
                  bool replaces_earlier);
  void drop_oldest_of(const std::string& peer);

  std::vector<Kept> kept_;
  std::map<std::string, std::size_t> by_peer_;
};

// The same of titles: every packet counts by itself and may be lost, since what is not acknowledged
// is said again. Bounded in packets and in bytes.
class TitleInbox {
 public:
  static constexpr std::size_t kPacketsPerPeerMax = 64;
  static constexpr std::size_t kBytesMax = 1024 * 1024;

  // kOpened: it is kept. kUndecoded: it cannot be one. kCrowded: there is no room until the next
  // tick.
  [[nodiscard]] CoopResult add(const std::string& from, std::string_view packet);
  [[nodiscard]] std::vector<core::PeerMessage> take();

 private:
  std::vector<core::PeerMessage> kept_;
  std::map<std::string, std::size_t> by_peer_;
  std::size_t bytes_ = 0;
};

}  // namespace laird::agent
