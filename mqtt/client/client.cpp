// The only file that names Paho (C++ 1.2 over C 1.3). Its traps that shape this code, all measured
// or read in its sources:
// - Its offline buffer leaks when it drops: publish only while connected, a bounded number at once.
// - MQTT 5 must be asked for both when the client is made and when it connects, or it is 3.1.1.
// - Copies of connect_options keep pointing into the original's properties, and connect() copies:
//   the options live in Core and are filled by setters, not by the builder. For the same reason
//   ssl_options' error handler cannot be used: it would be called on a dead copy.
// - Callbacks run under the library's lock: ours take Core::mutex for a moment, put something into
//   a queue and return; no thread of ours calls Paho with that mutex held.
// - A call may wait for that lock while a host name is resolved: only the worker calls.
// - The first connect may fail and the library still goes on retrying: connect() is called once.
//   Of later failures it says nothing at all: mqtt/sign/tls_probe.hpp finds out why.
// - disconnect_options cannot carry a reason code (its C struct says version 0): the way to leave
//   with the will is to publish it ourselves.
#include "mqtt/client/client.hpp"

#include <mqtt/async_client.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/require.hpp"
#include "mqtt/client/address.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/topics.hpp"
#include "mqtt/sign/tls_files.hpp"
#include "mqtt/sign/tls_probe.hpp"

namespace laird::mqtt {
namespace {

namespace paho = ::mqtt;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kProblemsMax = 32;       // between two takes
constexpr std::size_t kRefusedTopicsMax = 64;  // remembered, to name each once per connection
constexpr std::uint32_t kPacketBytesMax = 256 * 1024;     // the broker need not send what we drop
constexpr auto kDiagnoseAfter = std::chrono::seconds(5);  // of an outage, and then
constexpr auto kDiagnoseEvery = std::chrono::minutes(5);
constexpr int kNotAuthorised = 0x87;
constexpr int kUnsupportedVersion = 0x84;
constexpr int kUnacceptableVersion311 = 1;  // the same in a CONNACK of MQTT 3.1.1

constexpr DurationNs kProbeWait = 3 * kSecond;
const char* const kNoConnection = "no connection";

TimeNs now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

paho::properties properties_of(const Outgoing& from) {
  paho::properties out;
  out.add({paho::property::PAYLOAD_FORMAT_INDICATOR, from.json ? 1 : 0});
  out.add(
      {paho::property::CONTENT_TYPE, from.json ? "application/json" : "application/octet-stream"});
  if (from.expiry_s != 0) {
    out.add({paho::property::MESSAGE_EXPIRY_INTERVAL, static_cast<std::int32_t>(from.expiry_s)});
  }
  if (!from.response_topic.empty()) {
    out.add({paho::property::RESPONSE_TOPIC, from.response_topic});
  }
  if (!from.correlation.empty()) {
    out.add({paho::property::CORRELATION_DATA, from.correlation});
  }
  return out;
}

std::string text_property(const paho::properties& from, paho::property::code code) {
  if (!from.contains(code)) return {};
  return paho::get<std::string>(from, code);
}

std::string failure_text(const paho::token& token) {
  const int code = static_cast<int>(token.get_reason_code());
  const int result = token.get_return_code();
  if (code == kUnsupportedVersion || result == kUnsupportedVersion ||
      result == kUnacceptableVersion311) {
    return "the broker does not speak MQTT 5: mosquitto does from 1.6 on";
  }
  if (code == kNotAuthorised || result == kNotAuthorised) {
    return "the broker does not let this client in: check its certificate and the broker's config";
  }
  if (code >= 0x80) return "the broker refused: reason " + std::to_string(code);
  if (result > 0) return "the broker refused: code " + std::to_string(result);
  return kNoConnection;
}

// Why the brokers cannot be reached, the first one's reason first; empty when they can.
std::string diagnosis(const Options& options) {
  std::string out;
  for (const std::string& broker : options.brokers) {
    const auto address = parse_address(broker);
    if (!address) continue;
    const auto reached =
        probe({address->host, address->port, address->tls, options.ca, options.cert, options.key},
              kProbeWait);
    if (reached) return {};
    out += (out.empty() ? "" : "; ") + reached.error().context;
  }
  return out;
}

}  // namespace

struct Client::Core {
  // One message in Paho's hands. The context of its callbacks; never moves.
  struct Slot {
    Outgoing message;
    bool busy = false;
  };

  struct PublishListener final : paho::iaction_listener {
    Core* core = nullptr;
    void on_success(const paho::token& token) override { core->published(token, true); }
    void on_failure(const paho::token& token) override { core->published(token, false); }
  };
  struct ConnectListener final : paho::iaction_listener {
    Core* core = nullptr;
    void on_success(const paho::token&) override {}
    void on_failure(const paho::token& token) override { core->connect_failed(token); }
  };
  struct SubscribeListener final : paho::iaction_listener {
    Core* core = nullptr;
    void on_success(const paho::token& token) override { core->subscribed(token); }
    void on_failure(const paho::token& token) override { core->subscribe_failed(token); }
  };

  explicit Core(Options given)
      : options(std::move(given)), outbox(options.outbox), slots(options.in_flight_max) {
    on_publish.core = this;
    on_connect.core = this;
    on_subscribe.core = this;
  }
  ~Core() {
    if (event_fd >= 0) ::close(event_fd);
  }

  // --- called by Paho's threads ---
  void link_up();
  void link_down(const std::string& why);
  void arrived(const paho::message& message);
  void published(const paho::token& token, bool good);
  void connect_failed(const paho::token& token);
  void subscribed(const paho::token& token);
  void subscribe_failed(const paho::token& token);

  // --- called by the worker ---
  static void run(const std::shared_ptr<Core>& core);
  void work(const std::shared_ptr<Core>& self);
  void build();
  void pump(std::unique_lock<std::mutex>& lock);
  void subscribe(std::unique_lock<std::mutex>& lock);
  void hand_over(Slot& slot, std::unique_lock<std::mutex>& lock);
  void drain(std::unique_lock<std::mutex>& lock);
  void disconnect();

  // --- called by a thread for it alone: a resolver may hold it for long ---
  static void diagnose(const std::shared_ptr<Core>& core);

  // --- with the mutex held ---
  void signal();
  void problem(std::string text);
  [[nodiscard]] Slot* free_slot();
  [[nodiscard]] std::size_t in_flight() const;
  [[nodiscard]] bool has_work() const {
    return up && (resubscribe || (!outbox.empty() && in_flight() < slots.size()));
  }

  [[nodiscard]] bool is_watching() const {
    return !up && !diagnosing && diagnose_at != Clock::time_point::max();
  }
  [[nodiscard]] bool diagnosis_due() const { return is_watching() && Clock::now() >= diagnose_at; }

  Options options;
  int event_fd = -1;

  mutable std::mutex mutex;
  std::condition_variable wake;    // the worker waits for work
  std::condition_variable closed;  // close() waits for the worker
  Outbox outbox;
  std::vector<Slot> slots;
  std::vector<Incoming> inbox;
  std::size_t inbox_bytes = 0;
  std::vector<std::string> problems;
  std::set<std::string> refused_topics;
  Counters counters;
  std::uint64_t dropped_told = 0;
  std::string why = "connecting";
  bool up = false;
  bool resubscribe = false;
  bool link_changed = false;
  bool signalled = false;
  bool closing = false;
  bool done = false;
  bool diagnosing = false;
  Clock::time_point diagnose_at = Clock::time_point::max();
  Clock::time_point close_by = Clock::time_point::max();

  // Of the worker alone, and of Paho.
  PublishListener on_publish;
  ConnectListener on_connect;
  SubscribeListener on_subscribe;
  paho::connect_options connect_options;
  std::unique_ptr<paho::async_client> client;
};

// --- Paho's threads -----------------------------------------------------------------------------

void Client::Core::link_up() {
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.connects;
  up = true;
  resubscribe = true;
  link_changed = true;
  why = "connected";
  refused_topics.clear();
  outbox.resend_states();
  signal();
  wake.notify_one();
}

void Client::Core::link_down(const std::string& cause) {
  const std::lock_guard<std::mutex> hold(mutex);
  if (!up) return;
  up = false;
  link_changed = true;
  why = cause.empty() ? "the connection was lost" : "the connection was lost: " + cause;
  diagnose_at = Clock::now() + kDiagnoseAfter;
  signal();
  wake.notify_one();
}

void Client::Core::arrived(const paho::message& message) {
  const std::string& payload = message.get_payload_ref().str();
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.received;
  if (payload.size() > kPayloadBytesMax) {
    ++counters.oversized;
    return problem("dropped a message of " + std::to_string(payload.size()) + " bytes on " +
                   message.get_topic() + ": at most " + std::to_string(kPayloadBytesMax) +
                   " are taken");
  }
  // What was sent with QoS 0 can be lost anyway; commands find room in the last quarter.
  const bool sure = message.get_qos() > 0;
  const std::size_t count_max = sure ? options.inbox_max : options.inbox_max / 4 * 3;
  const std::size_t bytes_max = sure ? options.inbox_bytes_max : options.inbox_bytes_max / 4 * 3;
  const std::size_t bytes = payload.size() + message.get_topic().size();
  if (inbox.size() >= count_max || inbox_bytes + bytes > bytes_max) {
    ++counters.inbox_dropped;
    return;
  }
  Incoming in;
  in.topic = message.get_topic();
  in.payload = payload;
  in.retained = message.is_retained();
  in.qos = static_cast<std::uint8_t>(message.get_qos());
  in.response_topic = text_property(message.get_properties(), paho::property::RESPONSE_TOPIC);
  in.correlation = text_property(message.get_properties(), paho::property::CORRELATION_DATA);
  inbox.push_back(std::move(in));
  inbox_bytes += bytes;
  signal();
}

void Client::Core::published(const paho::token& token, bool good) {
  Slot* slot = static_cast<Slot*>(token.get_user_context());
  const std::lock_guard<std::mutex> hold(mutex);
  const int reason = static_cast<int>(token.get_reason_code());
  if (good && reason < 0x80) {
    ++counters.sent;
    outbox.delivered(slot->message);
  } else if (reason >= 0x80) {
    // An answer, not an accident: the same message would get the same one again.
    ++counters.refused;
    const std::string& topic = slot->message.topic;
    if (refused_topics.size() < kRefusedTopicsMax && refused_topics.insert(topic).second) {
      problem("the broker refused a message on " + topic +
              (reason == kNotAuthorised ? ": its ACL does not allow this client to write there"
                                        : ": reason " + std::to_string(reason)));
    }
  } else {
    outbox.put_back(std::move(slot->message), now_ns());
  }
  slot->message = {};
  slot->busy = false;
  wake.notify_one();
}

void Client::Core::connect_failed(const paho::token& token) {
  const std::lock_guard<std::mutex> hold(mutex);
  why = failure_text(token);
  link_changed = true;
  // The broker's own words need no looking into.
  if (why == kNoConnection) diagnose_at = Clock::now();
  signal();
  wake.notify_one();
}

void Client::Core::subscribed(const paho::token& token) {
  if (static_cast<int>(token.get_reason_code()) >= 0x80) subscribe_failed(token);
}

void Client::Core::subscribe_failed(const paho::token& token) {
  using Subscription = std::pair<std::string, int>;
  const auto* subscription = static_cast<const Subscription*>(token.get_user_context());
  const std::lock_guard<std::mutex> hold(mutex);
  const int reason = static_cast<int>(token.get_reason_code());
  if (reason == kNotAuthorised) {
    problem("the broker's ACL does not allow this client to read: " + subscription->first);
  } else if (reason >= 0x80) {
    problem("the broker refused the subscription to " + subscription->first + ": reason " +
            std::to_string(reason));
  } else if (up) {
    resubscribe = true;  // lost on the way; the link still stands
    wake.notify_one();
  }
}

// --- the worker ---------------------------------------------------------------------------------

void Client::Core::build() {
  std::vector<std::string> servers;
  bool tls = false;
  for (const std::string& broker : options.brokers) {
    const auto address = parse_address(broker);
    LAIRD_REQUIRE(address.has_value(), "create() checked the addresses");
    tls = tls || address->tls;
    servers.push_back((address->tls ? "ssl://" : "tcp://") + address->host_and_port());
  }
  client = std::make_unique<paho::async_client>(servers.front(), options.client_id,
                                                paho::create_options(MQTTVERSION_5));
  client->set_connected_handler([this](const std::string&) { link_up(); });
  client->set_connection_lost_handler([this](const std::string& cause) { link_down(cause); });
  client->set_disconnected_handler([this](const paho::properties&, paho::ReasonCode code) {
    link_down("the broker closed it, reason " + std::to_string(static_cast<int>(code)));
  });
  client->set_message_callback([this](const paho::const_message_ptr& m) { arrived(*m); });

  std::random_device device;
  const std::uint32_t jitter = options.retry_jitter_s + 1;
  const std::uint32_t retry_min_s = options.retry_min_s + device() % jitter;
  const std::uint32_t retry_max_s = std::max(retry_min_s, options.retry_max_s + device() % jitter);
  paho::connect_options& c = connect_options;
  c.set_mqtt_version(MQTTVERSION_5);
  c.set_clean_start(!options.keep_session);
  c.set_keep_alive_interval(static_cast<int>(options.keep_alive_s));
  c.set_connect_timeout(static_cast<int>(options.connect_timeout_s));
  c.set_max_inflight(static_cast<int>(options.in_flight_max) + 4);
  c.set_automatic_reconnect(static_cast<int>(retry_min_s), static_cast<int>(retry_max_s));
  c.set_servers(paho::string_collection::create(servers));
  paho::properties properties;
  properties.add({paho::property::SESSION_EXPIRY_INTERVAL,
                  static_cast<std::int32_t>(options.keep_session ? options.session_expiry_s : 0)});
  properties.add({paho::property::MAXIMUM_PACKET_SIZE, static_cast<std::int32_t>(kPacketBytesMax)});
  c.set_properties(properties);
  if (tls) {
    paho::ssl_options ssl;
    ssl.set_trust_store(options.ca);
    ssl.set_key_store(options.cert);
    ssl.set_private_key(options.key);
    ssl.set_enable_server_cert_auth(true);
    ssl.set_verify(true);  // the host name
    c.set_ssl(ssl);
  }
  if (!options.will.topic.empty()) {
    paho::properties with = properties_of(options.will);
    with.add(
        {paho::property::WILL_DELAY_INTERVAL, static_cast<std::int32_t>(options.will_delay_s)});
    const std::string& payload = options.will.payload;
    c.set_will(paho::will_options(options.will.topic, payload.data(), payload.size(),
                                  options.will.qos, options.will.retained, with));
  }
  LAIRD_REQUIRE(c.get_mqtt_version() == MQTTVERSION_5, "MQTT 5 or nothing");
}

void Client::Core::run(const std::shared_ptr<Core>& core) {
  try {
    core->build();
    core->client->connect(core->connect_options, nullptr, core->on_connect);
  } catch (const std::exception& e) {
    const std::lock_guard<std::mutex> hold(core->mutex);
    core->problem(std::string("the MQTT library refused its options: ") + e.what());
  }
  core->work(core);
}

void Client::Core::work(const std::shared_ptr<Core>& self) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!closing) {
    const bool watching = is_watching();
    const auto due = [&] {
      return closing || has_work() || diagnosis_due() || is_watching() != watching;
    };
    if (watching) {
      const Clock::time_point until = diagnose_at;
      wake.wait_until(lock, until, due);
    } else {
      wake.wait(lock, due);
    }
    if (closing) break;
    if (has_work()) pump(lock);
    if (diagnosis_due()) {
      diagnosing = true;
      diagnose_at = Clock::now() + kDiagnoseEvery;
      std::thread([self] { diagnose(self); }).detach();
    }
  }
  drain(lock);
  lock.unlock();
  disconnect();
  client.reset();  // no callback comes after this
  lock.lock();
  done = true;
  closed.notify_all();
}

void Client::Core::diagnose(const std::shared_ptr<Core>& core) {
  const std::string found = diagnosis(core->options);
  const std::lock_guard<std::mutex> hold(core->mutex);
  core->diagnosing = false;
  core->wake.notify_one();
  if (core->up || found.empty() || core->why == found) return;
  core->why = found;
  core->link_changed = true;
  core->signal();
}

void Client::Core::pump(std::unique_lock<std::mutex>& lock) {
  while (has_work()) {
    if (resubscribe) {
      subscribe(lock);
      continue;
    }
    auto message = outbox.pop(now_ns());
    if (!message) return;
    Slot* slot = free_slot();
    slot->message = std::move(*message);
    slot->busy = true;
    hand_over(*slot, lock);
  }
}

void Client::Core::subscribe(std::unique_lock<std::mutex>& lock) {
  resubscribe = false;
  if (options.subscriptions.empty()) return;
  lock.unlock();
  bool handed = true;
  try {
    // One at a time: with several filters at once Paho 1.2.0 reads options that are not there.
    for (auto& subscription : options.subscriptions) {
      client->subscribe(subscription.first, subscription.second, &subscription, on_subscribe);
    }
  } catch (const std::exception&) {
    handed = false;
  }
  lock.lock();
  // The link broke in this moment; the next one subscribes.
  if (!handed) up = false;
}

void Client::Core::hand_over(Slot& slot, std::unique_lock<std::mutex>& lock) {
  // The slot is busy: nobody else touches it until Paho's callback, and that may already come
  // before publish() returns.
  lock.unlock();
  bool handed = true;
  try {
    const Outgoing& m = slot.message;
    client->publish(paho::message::create(m.topic, m.payload.data(), m.payload.size(), m.qos,
                                          m.retained, properties_of(m)),
                    &slot, on_publish);
  } catch (const std::exception&) {
    handed = false;
  }
  lock.lock();
  if (handed) return;
  outbox.put_back(std::move(slot.message), now_ns());
  slot.message = {};
  slot.busy = false;
  // Its callback may be late: do not try again in a loop.
  if (up) link_changed = true;
  up = false;
}

void Client::Core::drain(std::unique_lock<std::mutex>& lock) {
  while (up && Clock::now() < close_by) {
    pump(lock);
    if (outbox.empty() && in_flight() == 0) return;
    wake.wait_until(lock, close_by, [this] { return !up || has_work() || in_flight() == 0; });
  }
}

void Client::Core::disconnect() {
  if (!client) return;
  try {
    paho::disconnect_options how;
    how.set_timeout(std::chrono::milliseconds(100));
    client->disconnect(how)->wait_for(std::chrono::seconds(1));
  } catch (const std::exception&) {
    // It was not connected.
  }
}

// --- with the mutex held ------------------------------------------------------------------------

void Client::Core::signal() {
  if (signalled) return;
  signalled = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(event_fd, &one, sizeof one);
}

void Client::Core::problem(std::string text) {
  if (problems.size() >= kProblemsMax) return;
  problems.push_back(std::move(text));
  signal();
}

Client::Core::Slot* Client::Core::free_slot() {
  const auto found =
      std::find_if(slots.begin(), slots.end(), [](const Slot& s) { return !s.busy; });
  LAIRD_REQUIRE(found != slots.end(), "has_work() saw a free slot");
  return &*found;
}

std::size_t Client::Core::in_flight() const {
  return static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.busy; }));
}

// --- the owner's thread -------------------------------------------------------------------------

Client::Client(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Result<std::unique_ptr<Client>> Client::create(Options options) {
  if (options.brokers.empty()) return fail(Code::kInvalid, "no broker is named");
  bool tls = false;
  for (const std::string& broker : options.brokers) {
    const auto address = parse_address(broker);
    if (!address) return tl::make_unexpected(address.error());
    if (!address->tls && !options.insecure_lab) {
      return fail(Code::kRefused, broker + " is without TLS: use mqtts://, or say insecure_lab");
    }
    tls = tls || address->tls;
  }
  if (tls) {
    const auto fine = check_tls_files(options.ca, options.cert, options.key);
    if (!fine) return tl::make_unexpected(fine.error());
  }
  if (options.in_flight_max == 0 || options.client_id.empty()) {
    return fail(Code::kInvalid, "an MQTT client needs an id and something in flight");
  }
  for (const auto& [filter, qos] : options.subscriptions) {
    if (!is_valid_filter(filter) || qos < 0 || qos > 1) {
      return fail(Code::kInvalid, "cannot subscribe to '" + filter + "'");
    }
  }
  auto core = std::make_shared<Core>(std::move(options));
  core->event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (core->event_fd < 0) return fail_errno(errno, "eventfd");
  // The worker owns the core with us: close() may leave before a slow resolver does.
  std::thread([core] { Core::run(core); }).detach();
  return std::unique_ptr<Client>(new Client(std::move(core)));
}

Client::~Client() {
  Outgoing will = core_->options.will;
  will.kind = Class::kState;
  close(std::move(will), kSecond);
}

int Client::ready_fd() const { return core_->event_fd; }

Client::Batch Client::take() {
  Batch out;
  const std::lock_guard<std::mutex> hold(core_->mutex);
  Core& c = *core_;
  std::uint64_t count = 0;
  if (c.signalled) {
    [[maybe_unused]] const ssize_t n = ::read(c.event_fd, &count, sizeof count);
    c.signalled = false;
  }
  out.messages.swap(c.inbox);
  c.inbox_bytes = 0;
  out.problems.swap(c.problems);
  out.link_changed = std::exchange(c.link_changed, false);
  out.connected = c.up;
  out.why = c.why;
  const std::uint64_t dropped =
      c.outbox.dropped() + c.counters.inbox_dropped + c.counters.oversized;
  out.dropped = dropped - std::exchange(c.dropped_told, dropped);
  return out;
}

void Client::publish(Outgoing message) {
  const std::lock_guard<std::mutex> hold(core_->mutex);
  if (core_->closing) return;
  core_->outbox.push(std::move(message), now_ns());
  if (core_->up) core_->wake.notify_one();
}

bool Client::connected() const {
  const std::lock_guard<std::mutex> hold(core_->mutex);
  return core_->up;
}

Counters Client::counters() const {
  const std::lock_guard<std::mutex> hold(core_->mutex);
  Counters out = core_->counters;
  for (std::size_t i = 0; i < kClasses; ++i) {
    out.dropped[i] = core_->outbox.dropped(static_cast<Class>(i));
  }
  return out;
}

void Client::close(Outgoing last_word, DurationNs wait_max) {
  std::unique_lock<std::mutex> lock(core_->mutex);
  if (core_->closing) return;
  if (!last_word.topic.empty()) core_->outbox.push(std::move(last_word), now_ns());
  core_->close_by = Clock::now() + std::chrono::nanoseconds(wait_max);
  core_->closing = true;
  core_->wake.notify_one();
  core_->closed.wait_until(lock, core_->close_by, [this] { return core_->done; });
}

}  // namespace laird::mqtt
