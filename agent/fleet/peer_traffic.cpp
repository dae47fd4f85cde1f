#include "agent/fleet/peer_traffic.hpp"

#include <algorithm>
#include <utility>

#include "mqtt/codec/topics.hpp"

namespace laird::agent {
namespace {

// By name, not by the number of the name: another name may have the same number. Founders that are
// no members (any more) are heard too: they may have an edge to close.
bool is_heard(const core::FleetBudget& budget, const std::string& name) {
  return budget.member(name) != nullptr ||
         std::find(budget.founders.begin(), budget.founders.end(), name) != budget.founders.end();
}

}  // namespace

using mqtt::CoopKind;

PeerTraffic::PeerTraffic(std::string self, std::optional<mqtt::PeerIdentity> identity,
                         DurationNs tick, Callbacks callbacks)
    : callbacks_(std::move(callbacks)),
      guard_(std::move(self), std::move(identity), tick,
             {[this](const std::string& peer, std::string packet) {
                callbacks_.publish(peer, std::move(packet), mqtt::Class::kPeer);
              },
              callbacks_.notice}) {}

void PeerTraffic::on_packet(const std::string& from, std::string_view payload,
                            const core::FleetBudget& budget, const PeerGuard::Moment& moment) {
  if (!is_heard(budget, from)) {
    guard_.count_stranger();
    return;
  }
  const std::optional<PeerGuard::Opened> packet = guard_.open(from, payload, moment);
  if (!packet) return;
  if (packet->kind == CoopKind::kModel || packet->kind == CoopKind::kModelToAll) {
    callbacks_.model_part(from, packet->body);
    return;
  }
  if (packet->kind == CoopKind::kTitle || packet->kind == CoopKind::kRun) {
    TitleInbox& inbox = packet->kind == CoopKind::kTitle ? titles_ : runs_;
    if (const CoopResult kept = inbox.add(from, packet->body); kept != CoopResult::kOpened) {
      guard_.count(from, kept);
    }
    return;
  }
  const Result<std::vector<std::string_view>> frames = mqtt::parse_frames(packet->body);
  if (!frames) {
    guard_.count(from, CoopResult::kUndecoded);
    return;
  }
  for (const std::string_view frame : *frames) {
    const CoopResult kept = inbox_.add(from, frame);
    if (kept != CoopResult::kOpened) guard_.count(from, kept);
  }
}

void PeerTraffic::send(const core::SendToPeer& message, TimeNs now) {
  mqtt::CoopWriter& writer = outbound_[message.to];
  if (writer.add(message.bytes)) return;
  send_waiting(message.to, writer, now);
  static_cast<void>(writer.add(message.bytes));
}

void PeerTraffic::send_title(const core::SendTitle& message, TimeNs now) {
  std::optional<std::string> packet = guard_.seal(message.to, CoopKind::kTitle, message.bytes, now);
  if (packet) callbacks_.publish(message.to, std::move(*packet), mqtt::Class::kPeer);
}

void PeerTraffic::send_run(const core::SendRun& message, TimeNs now) {
  std::optional<std::string> packet = guard_.seal(message.to, CoopKind::kRun, message.bytes, now);
  if (packet) callbacks_.publish(message.to, std::move(*packet), mqtt::Class::kPeer);
}

void PeerTraffic::flush(TimeNs now) {
  for (auto& [peer, writer] : outbound_) send_waiting(peer, writer, now);
}

void PeerTraffic::send_waiting(const std::string& peer, mqtt::CoopWriter& writer, TimeNs now) {
  if (writer.empty()) return;
  std::optional<std::string> packet = guard_.seal(peer, CoopKind::kLedger, writer.take(), now);
  if (packet) callbacks_.publish(peer, std::move(*packet), mqtt::Class::kPeer);
}

void PeerTraffic::send_model(const std::string& peer, std::string_view body, TimeNs now) {
  std::optional<std::string> packet = guard_.seal(peer, CoopKind::kModel, body, now);
  if (packet) callbacks_.publish(peer, std::move(*packet), mqtt::Class::kModel);
}

void PeerTraffic::send_model_to_all(const std::vector<std::string>& peers, std::string_view body,
                                    TimeNs now) {
  std::optional<std::string> packet = guard_.seal_for_all(peers, body, now);
  if (packet)
    callbacks_.publish(std::string(mqtt::kEveryone), std::move(*packet), mqtt::Class::kModel);
}

Result<std::optional<mqtt::PeerIdentity>> peer_identity_of(const FleetSettings& settings,
                                                           const std::string& node,
                                                           std::uint64_t start) {
  if (settings.cert.empty()) return std::optional<mqtt::PeerIdentity>();
  Result<mqtt::PeerIdentity> identity = mqtt::PeerIdentity::open(
      {settings.ca, settings.cert, settings.key}, settings.name, node, start);
  LAIRD_TRY(identity);
  return std::optional<mqtt::PeerIdentity>(std::move(*identity));
}

}  // namespace laird::agent
