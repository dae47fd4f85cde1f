#include "mqtt/client/outbox.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::mqtt {
namespace {

// From the first to be dropped to the last.
constexpr std::array kByWorth = {Class::kTelemetry, Class::kModel, Class::kPeer, Class::kReply,
                                 Class::kEvent};
constexpr std::size_t kOverheadBytes = 256;  // of an entry in its container

std::size_t bytes_of(const Outgoing& m) {
  return m.topic.size() + m.payload.size() + m.response_topic.size() + m.correlation.size() +
         kOverheadBytes;
}

// With the expiry that is left of it; nothing once that is over.
std::optional<Outgoing> unless_expired(Outgoing message, TimeNs expires, TimeNs now) {
  if (expires == kNever) return message;
  if (now >= expires) return std::nullopt;
  message.expiry_s = static_cast<std::uint32_t>((expires - now + kSecond - 1) / kSecond);
  return message;
}

}  // namespace

std::size_t Outbox::ring_max(Class kind) const {
  switch (kind) {
    case Class::kPeer: return limits_.peer_max;
    case Class::kTelemetry: return limits_.telemetry_max;
    case Class::kEvent: return limits_.event_max;
    case Class::kReply: return limits_.reply_max;
    case Class::kModel: return limits_.model_max;
    case Class::kState: break;
  }
  return 0;
}

void Outbox::push(Outgoing message, TimeNs now) {
  const Class kind = message.kind;
  if (message.payload.size() > kPayloadBytesMax || !is_valid_topic(message.topic)) {
    return drop(kind);
  }
  Waiting waiting;
  waiting.bytes = bytes_of(message);
  if (message.expiry_s != 0) waiting.expires = now + message.expiry_s * kSecond;
  waiting.message = std::move(message);
  if (kind == Class::kState) return push_state(std::move(waiting));
  push_ring(std::move(waiting), false);
}

void Outbox::put_back(Outgoing message, TimeNs now) {
  if (message.kind == Class::kState) return;
  Waiting waiting;
  waiting.bytes = bytes_of(message);
  if (message.expiry_s != 0) waiting.expires = now + message.expiry_s * kSecond;
  waiting.message = std::move(message);
  push_ring(std::move(waiting), true);
}

void Outbox::push_state(Waiting waiting) {
  const auto found = states_.find(waiting.message.topic);
  const std::size_t before = found == states_.end() ? 0 : found->second.waiting.bytes;
  if ((found == states_.end() && states_.size() >= limits_.state_max) ||
      state_bytes_ - before + waiting.bytes > limits_.state_bytes_max) {
    return drop(Class::kState);
  }
  state_bytes_ += waiting.bytes - before;
  State& state = found == states_.end() ? states_[waiting.message.topic] : found->second;
  if (!state.due) due_.push_back(waiting.message.topic);
  state.due = true;
  state.waiting = std::move(waiting);
}

void Outbox::push_ring(Waiting waiting, bool first) {
  const Class kind = waiting.message.kind;
  Ring& to = ring(kind);
  // What comes back is older than what waits: it yields when there is no room.
  if (first && to.size() >= ring_max(kind)) return drop(kind);
  if (!first && !to.empty() && to.size() >= ring_max(kind)) drop_oldest(kind);
  if (to.size() >= ring_max(kind) || !make_room(kind, waiting.bytes)) return drop(kind);
  ring_bytes_ += waiting.bytes;
  if (first) {
    to.push_front(std::move(waiting));
  } else {
    to.push_back(std::move(waiting));
  }
}

bool Outbox::make_room(Class kind, std::size_t bytes) {
  if (bytes > limits_.ring_bytes_max) return false;
  for (const Class victim : kByWorth) {
    while (ring_bytes_ + bytes > limits_.ring_bytes_max && !ring(victim).empty()) {
      drop_oldest(victim);
    }
    if (victim == kind) break;
  }
  return ring_bytes_ + bytes <= limits_.ring_bytes_max;
}

void Outbox::drop_oldest(Class kind) {
  ring_bytes_ -= ring(kind).front().bytes;
  ring(kind).pop_front();
  drop(kind);
}

std::optional<Outgoing> Outbox::pop(TimeNs now) {
  for (const Class kind : {Class::kReply, Class::kPeer}) {
    if (auto out = pop_ring(kind, now)) return out;
  }
  if (auto out = pop_state(now)) return out;
  for (const Class kind : {Class::kModel, Class::kEvent, Class::kTelemetry}) {
    if (auto out = pop_ring(kind, now)) return out;
  }
  return std::nullopt;
}

std::optional<Outgoing> Outbox::pop_ring(Class kind, TimeNs now) {
  Ring& from = ring(kind);
  while (!from.empty()) {
    Waiting waiting = std::move(from.front());
    from.pop_front();
    ring_bytes_ -= waiting.bytes;
    if (auto out = unless_expired(std::move(waiting.message), waiting.expires, now)) return out;
    drop(kind);
  }
  return std::nullopt;
}

std::optional<Outgoing> Outbox::pop_state(TimeNs now) {
  while (!due_.empty()) {
    const auto found = states_.find(due_.front());
    due_.pop_front();
    if (found == states_.end() || !found->second.due) continue;
    State& state = found->second;
    state.due = false;
    if (auto out = unless_expired(state.waiting.message, state.waiting.expires, now)) return out;
    state_bytes_ -= state.waiting.bytes;
    states_.erase(found);
    drop(Class::kState);
  }
  return std::nullopt;
}

void Outbox::delivered(const Outgoing& message) {
  if (message.kind != Class::kState || !message.payload.empty()) return;
  const auto found = states_.find(message.topic);
  // A newer text of the topic may be on its way already.
  if (found == states_.end() || !found->second.waiting.message.payload.empty()) return;
  if (found->second.due) return;
  state_bytes_ -= found->second.waiting.bytes;
  states_.erase(found);
}

void Outbox::resend_states() {
  due_.clear();
  for (auto& [topic, state] : states_) {
    state.due = true;
    due_.push_back(topic);
  }
}

bool Outbox::empty() const {
  return due_.empty() &&
         std::all_of(rings_.begin(), rings_.end(), [](const Ring& r) { return r.empty(); });
}

std::uint64_t Outbox::dropped() const {
  return std::accumulate(dropped_.begin(), dropped_.end(), std::uint64_t{0});
}

}  // namespace laird::mqtt
