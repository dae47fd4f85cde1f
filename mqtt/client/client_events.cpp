// The client on Paho's threads: takes note of what happened, wakes the worker, and returns.
#include "mqtt/client/client_core.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::mqtt {
namespace {

constexpr std::size_t kRefusedTopicsMax = 64;  // remembered, to name each once per connection
constexpr std::size_t kTopicsMax = 4'096;      // whose messages are counted
constexpr int kNotAuthorised = 0x87;

}  // namespace

void Client::Core::link_up() {
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.connects;
  up = true;
  attempting = false;
  failed = 0;
  diagnose_at = SteadyClock::time_point::max();
  look_home_at = SteadyClock::now() + std::chrono::seconds(options.look_home_every_s);
  to_subscribe.clear();
  for (const auto& [filter, qos] : filters) to_subscribe.insert(filter);
  to_leave = left;
  awaited = to_subscribe;
  refused_topics.clear();
  outbox.resend_states();
  if (awaited.empty()) announce();
  wake.notify_one();
}

void Client::Core::link_down(const std::string& cause) {
  const std::lock_guard<std::mutex> hold(mutex);
  // The bare fact and the broker's reason come in either order.
  if (yielding || (!up && (cause.empty() || why != kLinkLost))) return;
  link_changed = true;
  why = cause.empty() ? kLinkLost : kLinkLost + (": " + cause);
  lost();
  signal();
  wake.notify_one();
}

void Client::Core::taken_over() {
  const std::lock_guard<std::mutex> hold(mutex);
  if (yielding) return;
  yield_s = yield_s == 0 ? options.yield_min_s : std::min(2 * yield_s, options.yield_max_s);
  yield_until = SteadyClock::now() + std::chrono::seconds(yield_s);
  yielding = tell_taken_over = link_changed = true;
  up = announced = false;
  diagnose_at = SteadyClock::time_point::max();
  why = "another client came under the name '" + options.name +
        "': two agents have one id, or a key was copied; this one keeps away for " +
        std::to_string(yield_s) + " s";
  signal();
  wake.notify_one();
}

bool Client::Core::wants(const std::string& topic, int qos, std::size_t bytes) {
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.received;
  if (bytes > kPayloadBytesMax || has_room_for(topic, qos, bytes)) return true;
  ++counters.inbox_dropped;
  return false;
}

void Client::Core::arrived(Incoming message, std::size_t oversized_bytes) {
  const std::lock_guard<std::mutex> hold(mutex);
  if (oversized_bytes != 0) {
    ++counters.oversized;
    return problem("dropped a message of " + std::to_string(oversized_bytes) + " bytes on " +
                   message.topic + ": at most " + std::to_string(kPayloadBytesMax) + " are taken");
  }
  if (message.qos == 0) ++inbox_by_topic[message.topic].waiting;
  inbox_bytes += message.payload.size() + message.topic.size();
  inbox.push_back(std::move(message));
  signal();
}

// What was sent with QoS 0 can be lost anyway; commands find room in the last quarter.
bool Client::Core::has_room_for(const std::string& topic, int qos, std::size_t bytes) {
  const bool sure = qos > 0;
  const std::size_t count_max = sure ? options.inbox_max : options.inbox_max / 4 * 3;
  const std::size_t bytes_max = sure ? options.inbox_bytes_max : options.inbox_bytes_max / 4 * 3;
  if (inbox.size() >= count_max || inbox_bytes + bytes + topic.size() > bytes_max) return false;
  if (sure) return true;
  if (inbox_by_topic.size() >= kTopicsMax) {
    std::erase_if(inbox_by_topic, [](const auto& each) { return each.second.waiting == 0; });
  }
  TopicShare& share = inbox_by_topic[topic];
  const SteadyClock::time_point now = SteadyClock::now();
  if (now - share.since >= std::chrono::seconds(1)) {
    share.since = now;
    share.in_second = 0;
  }
  if (share.waiting >= options.inbox_topic_max) return false;
  return ++share.in_second <= options.inbox_topic_per_second;
}

void Client::Core::leave_inbox(const std::string& topic) {
  const auto found = inbox_by_topic.find(topic);
  if (found != inbox_by_topic.end() && found->second.waiting > 0) --found->second.waiting;
}

void Client::Core::published(void* context, Delivery how, int reason) {
  Slot* slot = static_cast<Slot*>(context);
  const std::lock_guard<std::mutex> hold(mutex);
  switch (how) {
    case Delivery::kDone:
      ++counters.sent;
      outbox.delivered(slot->message);
      break;
    case Delivery::kRefused: {
      // An answer, not an accident: the same message would get the same one again.
      ++counters.refused;
      const std::string& topic = slot->message.topic;
      if (refused_topics.size() < kRefusedTopicsMax && refused_topics.insert(topic).second) {
        problem("the broker refused a message on " + topic +
                (reason == kNotAuthorised ? ": its ACL does not allow this client to write there"
                                          : ": reason " + std::to_string(reason)));
      }
      break;
    }
    case Delivery::kLost: outbox.put_back(std::move(slot->message), steady_now_ns()); break;
  }
  slot->message = {};
  slot->busy = false;
  wake.notify_one();
}

void Client::Core::connect_failed(const std::string& reason, bool by_broker) {
  const std::lock_guard<std::mutex> hold(mutex);
  if (up || yielding) return;
  attempt_failed();
  wake.notify_one();
  // The broker's own words need no looking into. Otherwise the first failure is told, and from then
  // on what the diagnosis finds.
  const bool first = diagnose_at == SteadyClock::time_point::max();
  if (by_broker ? why == reason : !first) return;
  why = reason;
  link_changed = true;
  if (!by_broker) diagnose_at = SteadyClock::now();
  signal();
}

void Client::Core::subscribed(const std::string& filter, Delivery how) {
  const std::lock_guard<std::mutex> hold(mutex);
  if (!up) return;
  if (how == Delivery::kLost) {
    if (filters.count(filter) != 0) to_subscribe.insert(filter);
    wake.notify_one();
    return;
  }
  if (how == Delivery::kRefused) {
    problem("the broker's ACL does not allow this client to read " + filter);
  }
  awaited.erase(filter);
  if (awaited.empty() && !announced) announce();
}

}  // namespace laird::mqtt
