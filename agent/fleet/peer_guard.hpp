// Decides which packets of peers are taken, and seals those for peers.
//
// A packet is taken when it comes from a member, within what one peer may send, sealed with the key
// that this board and that peer have for it (mqtt/sign/peer_keys.hpp), and not for the second time.
// Whatever is refused costs next to nothing and is counted by its reason; nothing of it is
// journalled. The broker is believed in nothing but in that it carries.
//
// Keys are exchanged by those who speak to each other, when they do: a board that has something for
// a peer, or hears one whose key it does not know, sends its own announcement, at most once a
// second, until the peer has shown by a good packet that it knows it. So nothing needs to be
// retained at the broker, and a broker that comes back without memory changes nothing.
//
// Replays: the keys of a pair change with every start of either agent, and a peer's start never
// goes back while this agent lives, so an old packet fits no key; within a start every packet has a
// number of its own, and the last 64 are remembered.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_array.hpp"
#include "base/time.hpp"
#include "mqtt/codec/coop.hpp"
#include "mqtt/sign/peer_keys.hpp"
#include "mqtt/sign/revocations.hpp"

namespace laird::agent {

enum class CoopResult : std::uint8_t {
  kOpened,      // a good packet
  kKeyTaken,    // a peer's key, new or known
  kStranger,    // of a board that is no member
  kVersion,     // of another version of these packets
  kMalformed,   // no packet
  kTooMuch,     // more than one peer may send
  kUnwanted,    // a part of a model, and this board has no co-training task
  kUnsealed,    // without a seal, in a fleet with certificates; or the other way round
  kNoKey,       // sealed, and the peer's key is not known yet
  kForged,      // the seal is wrong
  kRepeated,    // a packet that came before, or is too old to tell
  kKeyRefused,  // a key whose certificate or signature is wrong, or of an earlier start
  kRevoked,     // a key whose certificate is revoked
  kUndecoded,   // a ledger message that is none, in a good packet
  kCrowded,     // a ledger message for which there was no room until the next tick
};
inline constexpr std::size_t kCoopResults = 15;
[[nodiscard]] std::string_view name(CoopResult result);

using CoopCounts = EnumArray<CoopResult, std::uint64_t, kCoopResults>;

// A bucket that fills at a steady rate: how much of something there may be.
class Allowance {
 public:
  Allowance(double per_second, double most) : per_second_(per_second), most_(most), left_(most) {}
  [[nodiscard]] bool take(double amount, TimeNs now);

 private:
  double per_second_;
  double most_;
  double left_;
  TimeNs at_ = 0;
};

class PeerGuard {
 public:
  struct Callbacks {
    std::function<void(const std::string& peer, std::string packet)> send;  // an announcement
    std::function<void(const std::string& text)> notice;                    // for people; few
  };
  // Without an identity, in a lab, nothing is sealed and only plain packets are taken.
  PeerGuard(std::string self, std::optional<mqtt::PeerIdentity> identity, DurationNs tick,
            Callbacks callbacks);

  struct Opened {
    mqtt::CoopKind kind = mqtt::CoopKind::kLedger;
    std::string_view body;  // a view into the payload
  };
  struct Moment {
    TimeNs now = 0;             // agent time
    std::int64_t unix_s = 0;    // the board's wall clock
    std::size_t members = 0;    // of the fleet
    bool takes_models = false;  // whether this board has a co-training task
  };
  // A packet of `from`, which the caller knows to be a member.
  [[nodiscard]] std::optional<Opened> open(const std::string& from, std::string_view payload,
                                           const Moment& moment);
  // The packet to send; none while the peer's key is not known.
  [[nodiscard]] std::optional<std::string> seal(const std::string& to, mqtt::CoopKind kind,
                                                std::string_view body, TimeNs now);
  // The packet with a part of a model for all of these whose keys are known; none if none is.
  [[nodiscard]] std::optional<std::string> seal_for_all(const std::vector<std::string>& to,
                                                        std::string_view body, TimeNs now);
  // From now on. Keys of revoked certificates that were taken before are forgotten.
  void revoke(mqtt::Revocations list);

  void count(const std::string& peer, CoopResult result);
  void count_stranger() { ++totals_[CoopResult::kStranger]; }
  [[nodiscard]] const CoopCounts& totals() const { return totals_; }
  // What was refused of single peers, by name; at most `most` of them, those with most first.
  [[nodiscard]] std::vector<std::pair<std::string, CoopCounts>> refused_by_peer(
      std::size_t most) const;

 private:
  // Which numbers of packets came before.
  struct Heard {
    std::uint64_t highest = 0;
    std::uint64_t last_64 = 0;  // bit i: highest - i was heard
    [[nodiscard]] bool knows(std::uint64_t number) const;
    void add(std::uint64_t number);
  };
  struct Peer {
    Peer(DurationNs tick);
    std::optional<mqtt::CheckedKey> key;
    mqtt::PairKeys pair;
    std::uint64_t sent = 0;
    Heard single;           // packets for this board alone
    Heard for_many;         // and those for several
    bool knows_us = false;  // it has sealed a packet for this start of ours
    TimeNs announced_at = -kHour;
    TimeNs checked_at = -kHour;
    TimeNs told_at = -kHour;
    std::string told;
    Allowance packets;
    Allowance bytes;
    Allowance title_packets;
    Allowance title_bytes;
    Allowance model_packets;
    Allowance model_bytes;
    CoopCounts counts{};
  };

  [[nodiscard]] Peer* peer(const std::string& name);
  [[nodiscard]] CoopResult judge(const std::string& from, Peer& peer, std::string_view payload,
                                 const Moment& moment, Opened& opened);
  [[nodiscard]] CoopResult unseal(const std::string& from, Peer& peer,
                                  const mqtt::CoopPacket& packet, std::string_view payload,
                                  const Moment& moment);
  [[nodiscard]] CoopResult take_key(const std::string& from, Peer& peer, std::string_view body,
                                    const Moment& moment);
  [[nodiscard]] bool within_allowance(Peer& peer, const mqtt::CoopPacket& packet, std::size_t bytes,
                                      const Moment& moment);
  void announce(const std::string& to, Peer& peer, TimeNs now);
  [[nodiscard]] static bool may_tell(const Peer& about, TimeNs now);
  void tell(Peer& about, TimeNs now, const std::string& text);

  const std::string self_;
  const std::optional<mqtt::PeerIdentity> identity_;
  const DurationNs tick_;
  const Callbacks callbacks_;
  std::map<std::string, Peer> peers_;
  mqtt::Revocations revoked_;
  Allowance key_checks_;
  CoopCounts totals_{};
  std::uint64_t sent_to_many_ = 0;
};

}  // namespace laird::agent
