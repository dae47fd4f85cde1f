#include "tests/virtual/fake_broker.hpp"

#include <iterator>

#include "mqtt/codec/topics.hpp"

namespace laird::test {
namespace {

mqtt::Incoming as_heard(const mqtt::Outgoing& message, bool retained) {
  return {message.topic, message.payload,        retained,
          message.qos,   message.response_topic, message.correlation};
}

}  // namespace

FakeConnection::FakeConnection(FakeBroker& broker, mqtt::Options options, int fd,
                               std::function<void(bool)> signal)
    : broker_(broker),
      options_(std::move(options)),
      fd_(fd),
      signal_(std::move(signal)),
      outbox_(options_.outbox) {
  for (const auto& [filter, qos] : options_.subscriptions) filters_[filter] = qos;
  broker_.time_.after(kMillisecond, [self = self_] {
    if (*self != nullptr) (*self)->try_to_connect();
  });
}

FakeConnection::~FakeConnection() {
  if (connected_) broker_.detach(*this, true);
  *self_ = nullptr;
}

void FakeConnection::try_to_connect() {
  if (connected_ || dead_) return;
  if (broker_.reachable(options_.client_id)) {
    retry_ = 0;
    ++link_;
    ++counters_.connects;
    connected_ = true;
    broker_.attach(*this);
    outbox_.resend_states();
    changed(true, "");
    flush();
    return;
  }
  if (retry_ == 0) changed(false, "cannot reach the broker");
  retry_ = std::clamp<DurationNs>(2 * retry_, options_.retry_min_s * kSecond,
                                  options_.retry_max_s * kSecond);
  const DurationNs wait = retry_ + broker_.chance_.between(0, options_.retry_jitter_s * kSecond);
  broker_.time_.after(wait, [self = self_] {
    if (*self != nullptr) (*self)->try_to_connect();
  });
}

void FakeConnection::lose_link(const std::string& why) {
  if (!connected_) return;
  connected_ = false;
  ++link_;
  changed(false, why);
  broker_.time_.after(options_.retry_min_s * kSecond, [self = self_] {
    if (*self != nullptr) (*self)->try_to_connect();
  });
}

void FakeConnection::changed(bool connected, std::string why) {
  batch_.link_changed = true;
  batch_.connected = connected;
  batch_.why = std::move(why);
  signal_(true);
}

mqtt::Connection::Batch FakeConnection::take(std::size_t messages_max) {
  Batch out = std::exchange(batch_, Batch{});
  if (out.messages.size() > messages_max) {
    const auto rest = out.messages.begin() + static_cast<std::ptrdiff_t>(messages_max);
    std::move(rest, out.messages.end(), std::back_inserter(batch_.messages));
    out.messages.erase(rest, out.messages.end());
  }
  signal_(!batch_.messages.empty());
  out.connected = connected_;
  return out;
}

void FakeConnection::publish(mqtt::Outgoing message) {
  if (dead_) return;
  outbox_.push(std::move(message), broker_.time_.now());
  if (connected_) flush();
}

void FakeConnection::flush() {
  while (std::optional<mqtt::Outgoing> next = outbox_.pop(broker_.time_.now())) {
    send(std::move(*next));
  }
}

// On its way to the broker. What a cut overtakes is lost, or put back to be sent again.
void FakeConnection::send(mqtt::Outgoing message) {
  ++counters_.sent;
  bool copy = false;  // of a message that is on its way already
  const auto arrive = [&](DurationNs delay) {
    const TimeNs at = to_broker_.arrival(broker_.time_.now() + delay);
    broker_.time_.at(at, [self = self_, made = link_, copy, message] {
      if (*self == nullptr) return;
      FakeConnection& me = **self;
      if (me.dead_) return;
      if (me.link_ != made) {
        if (message.qos > 0 && !copy) me.outbox_.put_back(message, me.broker_.time_.now());
        return;
      }
      me.outbox_.delivered(message);
      me.broker_.route(message);
    });
    copy = true;
  };
  lab::carry(broker_.link(options_.client_id, message.qos), broker_.chance_, arrive);
}

bool FakeConnection::subscribe(const std::string& filter, int qos) {
  filters_[filter] = qos;
  if (connected_) {
    FakeBroker::Session& session = broker_.sessions_[options_.client_id];
    session.filters[filter] = qos;
    broker_.hearers_.clear();
    broker_.subscribed(session, filter);
  }
  return true;
}

bool FakeConnection::unsubscribe(const std::string& filter) {
  filters_.erase(filter);
  if (connected_) {
    broker_.sessions_[options_.client_id].filters.erase(filter);
    broker_.hearers_.clear();
  }
  return true;
}

void FakeConnection::yield_to_other() {
  batch_.taken_over = true;
  signal_(true);
}

void FakeConnection::hear(mqtt::Incoming message) {
  ++counters_.received;
  batch_.messages.push_back(std::move(message));
  signal_(true);
}

void FakeConnection::close(mqtt::Outgoing last_word, DurationNs) {
  if (dead_ || !connected_) return;
  flush();
  // The goodbye waits until the broker has it, so it is there at once.
  if (!last_word.topic.empty()) broker_.route(last_word);
  broker_.detach(*this, false);
  connected_ = false;
}

void FakeConnection::die() {
  if (connected_) broker_.detach(*this, true);
  connected_ = false;
  dead_ = true;
}

bool FakeBroker::reachable(const std::string& client) const {
  const auto cut = cut_until_.find(client);
  return running_ && (cut == cut_until_.end() || cut->second <= time_.now());
}

LinkQuality FakeBroker::link(const std::string& client, int qos) const {
  const auto found = links_.find(client);
  LinkQuality out = found == links_.end() ? LinkQuality{} : found->second;
  if (qos > 0) out.loss = 0.0;
  return out;
}

void FakeBroker::attach(FakeConnection& client) {
  Session& session = sessions_[client.options_.client_id];
  if (session.client != nullptr && session.client != &client) {
    FakeConnection& other = *session.client;
    other.connected_ = false;
    ++other.link_;
    other.batch_.taken_over = true;
    other.changed(false, "another client came under this name");
  }
  session.client = &client;
  ++session.attached;
  session.filters = client.filters_;
  hearers_.clear();
  if (!client.options_.will.topic.empty()) session.will = client.options_.will;
  for (const auto& [filter, qos] : client.filters_) subscribed(session, filter);
  for (auto& [message, expires] : std::exchange(session.queued, {})) {
    deliver(client.options_.client_id, session, message, expires);
  }
}

void FakeBroker::detach(FakeConnection& client, bool with_will) {
  const std::string& id = client.options_.client_id;
  Session& session = sessions_[id];
  if (session.client != &client) return;
  session.client = nullptr;
  if (!with_will || !session.will) return;
  time_.after(client.options_.will_delay_s * kSecond, [this, id, was = session.attached] {
    const Session& now = sessions_[id];
    if (now.client == nullptr && now.attached == was && now.will) route(*now.will);
  });
}

void FakeBroker::cut(const std::string& client, DurationNs for_ns) {
  cut_until_[client] = time_.now() + for_ns;
  const auto found = sessions_.find(client);
  if (found == sessions_.end() || found->second.client == nullptr) return;
  FakeConnection& there = *found->second.client;
  detach(there, true);
  there.lose_link("the link was cut");
}

void FakeBroker::stop(bool forget) {
  running_ = false;
  for (auto& [id, session] : sessions_) {
    if (session.client == nullptr) continue;
    FakeConnection* there = std::exchange(session.client, nullptr);
    there->lose_link("the broker is gone");
  }
  if (!forget) return;
  sessions_.clear();
  hearers_.clear();
  retained_.clear();
}

void FakeBroker::start() { running_ = true; }

void FakeBroker::subscribed(Session& session, const std::string& filter) {
  if (session.client == nullptr) return;
  for (const auto& [topic, payload] : retained_) {
    if (!mqtt::matches(filter, topic)) continue;
    mqtt::Incoming message;
    message.topic = topic;
    message.payload = payload;
    message.retained = true;
    message.qos = 1;
    deliver(session.client->options_.client_id, session, message, kNever);
  }
}

void FakeBroker::route(const mqtt::Outgoing& message) {
  if (!running_) return;
  ++routed_;
  if (message.retained) {
    if (message.payload.empty()) {
      retained_.erase(message.topic);
    } else {
      retained_[message.topic] = message.payload;
    }
  }
  const TimeNs expires = message.expiry_s == 0 ? kNever : time_.now() + message.expiry_s * kSecond;
  for (const std::string& id : hearers_of(message.topic)) {
    deliver(id, sessions_[id], as_heard(message, false), expires);
  }
}

const std::vector<std::string>& FakeBroker::hearers_of(const std::string& topic) {
  const auto [found, is_new] = hearers_.try_emplace(topic);
  if (!is_new) return found->second;
  for (const auto& [id, session] : sessions_) {
    for (const auto& [filter, qos] : session.filters) {
      if (!mqtt::matches(filter, topic)) continue;
      found->second.push_back(id);
      break;
    }
  }
  return found->second;
}

void FakeBroker::deliver(const std::string& client, Session& session, const mqtt::Incoming& message,
                         TimeNs expires) {
  if (expires <= time_.now()) return;
  if (session.client == nullptr) {
    if (message.qos > 0 && session.queued.size() < kQueuedMax) {
      session.queued.emplace_back(message, expires);
    }
    return;
  }
  lab::carry(link(client, message.qos), chance_, [&](DurationNs delay) {
    const TimeNs at = session.to_client.arrival(time_.now() + delay);
    time_.at(at, [this, client, was = session.attached, message, expires] {
      const auto found = sessions_.find(client);
      if (found == sessions_.end()) return;
      Session& there = found->second;
      if (there.client == nullptr || there.attached != was) {
        // Sent and not acknowledged: the session keeps it for the next connection.
        if (message.qos > 0) deliver(client, there, message, expires);
        return;
      }
      there.client->hear(message);
    });
  });
}

}  // namespace laird::test
