// What waits for the link: a bounded ring for each class, and for states the newest of each topic.
//
// Paho has a buffer of its own; it is not used, since its way of dropping the oldest leaks a token
// for each (200,000 publishes without a broker: 214 MB). No thread, no clock: the owner locks it
// and says what time it is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/enum_array.hpp"
#include "base/time.hpp"
#include "mqtt/client/message.hpp"

namespace laird::mqtt {

struct OutboxLimits {
  std::size_t peer_max = 512;
  std::size_t telemetry_max = 64;
  std::size_t event_max = 512;
  std::size_t reply_max = 128;
  std::size_t model_max = 256;
  std::size_t state_max = 2'048;         // topics
  std::size_t ring_bytes_max = 1 << 20;  // of all rings together
  std::size_t state_bytes_max = 2 << 20;
};

class Outbox {
 public:
  explicit Outbox(const OutboxLimits& limits) : limits_(limits) {}

  // Takes the message or drops one, this or an older one of less worth.
  void push(Outgoing message, TimeNs now);
  // The next to send: replies, peers, states, models, events, telemetry. What expired is dropped;
  // what is left of an expiry is given on.
  [[nodiscard]] std::optional<Outgoing> pop(TimeNs now);
  // It was popped and did not reach the broker. A state stands here anyway; the rest goes first.
  void put_back(Outgoing message, TimeNs now);
  // It reached the broker: a state that was cleared need not be kept.
  void delivered(const Outgoing& message);
  // The link is new: every state is to be sent again.
  void resend_states();

  // Counts a message that was popped and will not be sent.
  void drop(Class kind) { ++dropped_[kind]; }

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::uint64_t dropped(Class kind) const { return dropped_[kind]; }
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Waiting {
    Outgoing message;
    TimeNs expires = kNever;
    std::size_t bytes = 0;
  };
  struct State {
    Waiting waiting;
    bool due = false;
  };
  using Ring = std::deque<Waiting>;

  void push_state(Waiting waiting);
  void push_ring(Waiting waiting, bool first);
  // Frees ring bytes by dropping the oldest of the classes worth no more than `kind`.
  bool make_room(Class kind, std::size_t bytes);
  std::optional<Outgoing> pop_ring(Class kind, TimeNs now);
  std::optional<Outgoing> pop_state(TimeNs now);
  Ring& ring(Class kind) { return rings_[kind]; }
  [[nodiscard]] std::size_t ring_max(Class kind) const;
  void drop_oldest(Class kind);

  OutboxLimits limits_;
  EnumArray<Class, Ring, kClasses> rings_;  // the one of kState stays empty
  std::map<std::string, State, std::less<>> states_;
  std::deque<std::string> due_;  // topics of states to send, in the order they became so
  std::size_t ring_bytes_ = 0;
  std::size_t state_bytes_ = 0;
  EnumArray<Class, std::uint64_t, kClasses> dropped_{};
};

}  // namespace laird::mqtt
