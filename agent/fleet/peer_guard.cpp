#include "agent/fleet/peer_guard.hpp"

#include <algorithm>

#include "agent/core/state/limits.hpp"

namespace laird::agent {
namespace {

using mqtt::CoopKind;

constexpr DurationNs kAnnounceEvery = kSecond;
constexpr DurationNs kKeyCheckEvery = kSecond;  // of one peer
constexpr DurationNs kTellEvery = kMinute;      // about one peer
// To check a key costs two signatures: of all peers together so many a second, and at once.
constexpr double kKeyChecksPerSecond = 32;
constexpr double kKeyChecksMost = 128;
// A peer has one or two packets for this board in a tick; more come at once when a link was silent
// for a while.
constexpr double kPacketsPerTick = 8;
constexpr double kPacketsMost = 96;
// Messages on edges are tens of bytes. Registers and foundings are as long as the fleet is large,
// and rare.
constexpr double kBytesPerTick = 1024;
constexpr double kBytesPerTickAndMember = 16;
constexpr double kBytesMost = 192 * 1024;
// Titles: a few words in a tick, and now and then what travels with a task.
constexpr double kTitlePacketsPerTick = 64;
constexpr double kTitlePacketsMost = 512;
constexpr double kTitleBytesPerTick = 64 * 1024;
constexpr double kTitleBytesMost = 1024 * 1024;
constexpr double kModelPacketsPerSecond = 1000;
constexpr double kModelBytesPerSecond = 2 * 1024 * 1024;
constexpr unsigned kWindow = 64;

double per_second(double per_tick, DurationNs tick) {
  return per_tick * static_cast<double>(kSecond) /
         static_cast<double>(std::max<DurationNs>(tick, 1));
}

}  // namespace

std::string_view name(CoopResult result) {
  switch (result) {
    case CoopResult::kOpened: return "opened";
    case CoopResult::kKeyTaken: return "key";
    case CoopResult::kStranger: return "stranger";
    case CoopResult::kVersion: return "version";
    case CoopResult::kMalformed: return "malformed";
    case CoopResult::kTooMuch: return "too-much";
    case CoopResult::kUnwanted: return "unwanted";
    case CoopResult::kUnsealed: return "unsealed";
    case CoopResult::kNoKey: return "no-key";
    case CoopResult::kForged: return "forged";
    case CoopResult::kRepeated: return "repeated";
    case CoopResult::kKeyRefused: return "key-refused";
    case CoopResult::kRevoked: return "revoked";
    case CoopResult::kUndecoded: return "undecoded";
    case CoopResult::kCrowded: return "crowded";
  }
  return "";
}

bool Allowance::take(double amount, TimeNs now) {
  left_ = std::min(
      most_, left_ + per_second_ * static_cast<double>(std::max<DurationNs>(now - at_, 0)) * 1e-9);
  at_ = now;
  if (left_ < amount) return false;
  left_ -= amount;
  return true;
}

PeerGuard::Peer::Peer(DurationNs tick)
    : packets(per_second(kPacketsPerTick, tick), kPacketsMost),
      bytes(per_second(kBytesPerTick, tick), kBytesMost),
      title_packets(per_second(kTitlePacketsPerTick, tick), kTitlePacketsMost),
      title_bytes(per_second(kTitleBytesPerTick, tick), kTitleBytesMost),
      model_packets(kModelPacketsPerSecond, kModelPacketsPerSecond),
      model_bytes(kModelBytesPerSecond, kModelBytesPerSecond) {}

PeerGuard::PeerGuard(std::string self, std::optional<mqtt::PeerIdentity> identity, DurationNs tick,
                     Callbacks callbacks)
    : self_(std::move(self)),
      identity_(std::move(identity)),
      tick_(tick),
      callbacks_(std::move(callbacks)),
      key_checks_(kKeyChecksPerSecond, kKeyChecksMost) {}

PeerGuard::Peer* PeerGuard::peer(const std::string& name) {
  if (name == self_) return nullptr;
  const auto found = peers_.find(name);
  if (found != peers_.end()) return &found->second;
  if (peers_.size() >= core::kMembersMax) return nullptr;
  return &peers_.try_emplace(name, tick_).first->second;
}

void PeerGuard::count(const std::string& from, CoopResult result) {
  ++totals_[result];
  if (const auto found = peers_.find(from); found != peers_.end()) ++found->second.counts[result];
}

std::optional<PeerGuard::Opened> PeerGuard::open(const std::string& from, std::string_view payload,
                                                 const Moment& moment) {
  Peer* sender = peer(from);
  if (sender == nullptr) {
    count_stranger();
    return std::nullopt;
  }
  Opened out;
  const CoopResult result = judge(from, *sender, payload, moment, out);
  count(from, result);
  if (result != CoopResult::kOpened) return std::nullopt;
  return out;
}

CoopResult PeerGuard::judge(const std::string& from, Peer& sender, std::string_view payload,
                            const Moment& moment, Opened& opened) {
  const int version = mqtt::coop_version_of(payload);
  if (version != 0 && version != mqtt::kCoopVersion) {
    if (!may_tell(sender, moment.now)) return CoopResult::kVersion;
    tell(sender, moment.now,
         "board " + from + " speaks version " + std::to_string(version) +
             " of what boards say to each other, this board " + std::to_string(mqtt::kCoopVersion) +
             ": upgrade " + (version < mqtt::kCoopVersion ? "that board" : "this one"));
    return CoopResult::kVersion;
  }
  const Result<mqtt::CoopPacket> packet = mqtt::parse_packet(payload);
  if (!packet) return CoopResult::kMalformed;
  const bool is_model = packet->kind == CoopKind::kModel || packet->kind == CoopKind::kModelToAll;
  if (is_model && !moment.takes_models) return CoopResult::kUnwanted;
  if (!within_allowance(sender, *packet, payload.size(), moment)) return CoopResult::kTooMuch;
  opened = {packet->kind, packet->body};
  if (!identity_) {
    return packet->sealed || packet->kind == CoopKind::kKey ? CoopResult::kUnsealed
                                                            : CoopResult::kOpened;
  }
  if (packet->kind == CoopKind::kKey) return take_key(from, sender, packet->body, moment);
  if (!packet->sealed) return CoopResult::kUnsealed;
  return unseal(from, sender, *packet, payload, moment);
}

bool PeerGuard::within_allowance(Peer& sender, const mqtt::CoopPacket& packet, std::size_t bytes,
                                 const Moment& moment) {
  if (packet.kind == CoopKind::kModel || packet.kind == CoopKind::kModelToAll) {
    return sender.model_packets.take(1, moment.now) &&
           sender.model_bytes.take(static_cast<double>(bytes), moment.now);
  }
  if (packet.kind == CoopKind::kTitle || packet.kind == CoopKind::kRun) {
    return sender.title_packets.take(1, moment.now) &&
           sender.title_bytes.take(static_cast<double>(bytes), moment.now);
  }
  // A large fleet says more: each byte then costs less of the allowance.
  const double scale = kBytesPerTick / (kBytesPerTick + kBytesPerTickAndMember *
                                                            static_cast<double>(moment.members));
  return sender.packets.take(1, moment.now) &&
         sender.bytes.take(static_cast<double>(bytes) * scale, moment.now);
}

bool PeerGuard::Heard::knows(std::uint64_t number) const {
  if (number > highest) return false;
  const std::uint64_t age = highest - number;
  return age >= kWindow || (last_64 >> age & 1) != 0;
}

void PeerGuard::Heard::add(std::uint64_t number) {
  if (number <= highest) {
    last_64 |= std::uint64_t{1} << (highest - number);
    return;
  }
  const std::uint64_t ahead = number - highest;
  last_64 = (ahead >= kWindow ? 0 : last_64 << ahead) | 1;
  highest = number;
}

CoopResult PeerGuard::unseal(const std::string& from, Peer& sender, const mqtt::CoopPacket& packet,
                             std::string_view payload, const Moment& moment) {
  if (sender.key && sender.key->not_after_s < moment.unix_s) sender.key.reset();
  if (!sender.key) {
    announce(from, sender, moment.now);
    return CoopResult::kNoKey;
  }
  const bool for_many = packet.kind == CoopKind::kModelToAll;
  Heard& heard = for_many ? sender.for_many : sender.single;
  if (heard.knows(packet.counter)) return CoopResult::kRepeated;
  if (for_many) {
    const Result<mqtt::ManyPacket> many = mqtt::parse_many_packet(payload);
    const std::string_view tag = many ? many->tag_for(self_) : std::string_view();
    if (tag.empty()) {
      // The sender does not know this board's key yet.
      announce(from, sender, moment.now);
      return CoopResult::kNoKey;
    }
    if (!sender.pair.in.fits(many->covered, tag)) {
      announce(from, sender, moment.now);
      return CoopResult::kForged;
    }
  } else if (!sender.pair.in.fits(packet.covered, packet.tag)) {
    // It may be good, and for an earlier start of this board.
    announce(from, sender, moment.now);
    return CoopResult::kForged;
  }
  heard.add(packet.counter);
  sender.knows_us = true;
  return CoopResult::kOpened;
}

CoopResult PeerGuard::take_key(const std::string& from, Peer& sender, std::string_view body,
                               const Moment& moment) {
  const Result<mqtt::KeyAnnouncement> told = mqtt::parse_key_body(body);
  if (!told) return CoopResult::kMalformed;
  if (sender.key && told->start <= sender.key->start) {
    if (told->start < sender.key->start || told->key != sender.key->key) {
      return CoopResult::kKeyRefused;
    }
    // It does not know whether this board knows it.
    announce(from, sender, moment.now);
    return CoopResult::kKeyTaken;
  }
  if (moment.now - sender.checked_at < kKeyCheckEvery || !key_checks_.take(1, moment.now)) {
    return CoopResult::kTooMuch;
  }
  sender.checked_at = moment.now;
  Result<mqtt::CheckedKey> checked = identity_->check(from, *told, moment.unix_s);
  if (!checked) {
    tell(sender, moment.now,
         "the key of board " + from + " is refused: " + checked.error().context);
    return CoopResult::kKeyRefused;
  }
  if (revoked_.has(checked->serial)) {
    tell(sender, moment.now, "board " + from + " shows a certificate that is revoked");
    return CoopResult::kRevoked;
  }
  Result<mqtt::PairKeys> pair = identity_->pair_with(from, *checked);
  if (!pair) {
    tell(sender, moment.now, "the key of board " + from + " is refused: " + pair.error().context);
    return CoopResult::kKeyRefused;
  }
  sender.key = std::move(*checked);
  sender.pair = std::move(*pair);
  sender.sent = 0;
  sender.single = sender.for_many = {};
  sender.knows_us = false;
  announce(from, sender, moment.now);
  return CoopResult::kKeyTaken;
}

std::optional<std::string> PeerGuard::seal(const std::string& to, CoopKind kind,
                                           std::string_view body, TimeNs now) {
  if (!identity_) return mqtt::plain_packet(kind, body);
  Peer* receiver = peer(to);
  if (receiver == nullptr) return std::nullopt;
  if (!receiver->knows_us) announce(to, *receiver, now);
  if (!receiver->key) return std::nullopt;
  std::string out = mqtt::unsealed_packet(kind, ++receiver->sent, body);
  out += receiver->pair.out.tag(out);
  return out;
}

std::optional<std::string> PeerGuard::seal_for_all(const std::vector<std::string>& to,
                                                   std::string_view body, TimeNs now) {
  if (!identity_) return mqtt::plain_packet(CoopKind::kModelToAll, body);
  std::vector<std::pair<std::string, std::string>> tags;
  const std::uint64_t number = sent_to_many_ + 1;
  const std::string covered = mqtt::covered_of_many(number, body);
  for (const std::string& name : to) {
    Peer* receiver = peer(name);
    if (receiver == nullptr || tags.size() == mqtt::kManyRecipientsMax) continue;
    if (!receiver->knows_us) announce(name, *receiver, now);
    if (receiver->key) tags.emplace_back(name, receiver->pair.out.tag(covered));
  }
  if (tags.empty()) return std::nullopt;
  sent_to_many_ = number;
  return mqtt::many_packet(number, body, tags);
}

void PeerGuard::announce(const std::string& to, Peer& receiver, TimeNs now) {
  if (now - receiver.announced_at < kAnnounceEvery) return;
  receiver.announced_at = now;
  callbacks_.send(to, identity_->announcement());
}

void PeerGuard::revoke(mqtt::Revocations list) {
  revoked_ = std::move(list);
  for (auto& [name, known] : peers_) {
    if (!known.key || !revoked_.has(known.key->serial)) continue;
    known.key.reset();
    known.pair = {};
    callbacks_.notice("the certificate of board " + name + " is revoked: it is not heard any more");
  }
  if (identity_ && revoked_.has(identity_->serial())) {
    callbacks_.notice(
        "this board's own certificate is revoked: its peers do not hear it; lairctl pki issue "
        "node " +
        self_ + " --force makes a new one");
  }
}

bool PeerGuard::may_tell(const Peer& about, TimeNs now) {
  return now - about.told_at >= kTellEvery;
}

void PeerGuard::tell(Peer& about, TimeNs now, const std::string& text) {
  if (!may_tell(about, now) || text == about.told) return;
  about.told_at = now;
  about.told = text;
  callbacks_.notice(text);
}

std::vector<std::pair<std::string, CoopCounts>> PeerGuard::refused_by_peer(std::size_t most) const {
  std::vector<std::pair<std::uint64_t, const std::string*>> order;
  for (const auto& [name, known] : peers_) {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : known.counts) sum += n;
    sum -= known.counts[CoopResult::kOpened] + known.counts[CoopResult::kKeyTaken];
    if (sum > 0) order.emplace_back(sum, &name);
  }
  const auto more = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : *a.second < *b.second;
  };
  std::sort(order.begin(), order.end(), more);
  std::vector<std::pair<std::string, CoopCounts>> out;
  for (const auto& [sum, name] : order) {
    if (out.size() == most) break;
    out.emplace_back(*name, peers_.at(*name).counts);
    out.back().second[CoopResult::kOpened] = out.back().second[CoopResult::kKeyTaken] = 0;
  }
  return out;
}

}  // namespace laird::agent
