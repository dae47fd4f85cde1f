// What the three kinds of threads share, and what each of them does: Paho's (LinkEvents), our
// worker, which alone calls Paho, and the owner's. Core::mutex is held for moments only and never
// while Paho is called: its callbacks come under a lock of its own.
#include "mqtt/client/client.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/require.hpp"
#include "mqtt/client/address.hpp"
#include "mqtt/client/paho_link.hpp"
#include "mqtt/client/sockets.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/topics.hpp"
#include "mqtt/sign/tls_files.hpp"
#include "mqtt/sign/tls_probe.hpp"

namespace laird::mqtt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kProblemsMax = 32;       // between two takes
constexpr std::size_t kRefusedTopicsMax = 64;  // remembered, to name each once per connection
constexpr auto kDiagnoseAfter = std::chrono::seconds(5);  // of an outage, and then
constexpr auto kDiagnoseEvery = std::chrono::minutes(5);
constexpr int kNotAuthorised = 0x87;

const char* const kLost = "the connection was lost";
constexpr DurationNs kProbeWait = 3 * kSecond;

TimeNs now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
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

struct Client::Core final : LinkEvents {
  // One message in Paho's hands. The context of its callbacks; never moves.
  struct Slot {
    Outgoing message;
    bool busy = false;
  };

  explicit Core(Options given)
      : options(std::move(given)), outbox(options.outbox), slots(options.in_flight_max) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() {
    if (event_fd >= 0) ::close(event_fd);
  }

  // --- called by Paho's threads ---
  void link_up() override;
  void link_down(const std::string& cause) override;
  void taken_over() override;
  void connect_failed(const std::string& reason, bool by_broker) override;
  void arrived(Incoming message, std::size_t oversized_bytes) override;
  void published(void* context, Delivery how, int reason) override;
  void subscribed(const std::string& filter, Delivery how) override;

  // --- called by the worker ---
  static void run(const std::shared_ptr<Core>& core);
  void connect();
  void yield(std::unique_lock<std::mutex>& lock);
  void work(const std::shared_ptr<Core>& self);
  void pump(std::unique_lock<std::mutex>& lock);
  void subscribe(std::unique_lock<std::mutex>& lock);
  void hand_over(Slot& slot, std::unique_lock<std::mutex>& lock);
  void drain(std::unique_lock<std::mutex>& lock);

  // --- called by a thread for it alone: a resolver may hold it for long ---
  static void diagnose(const std::shared_ptr<Core>& core);

  // --- with the mutex held ---
  void signal();
  void problem(std::string text);
  void broke(std::uint64_t connection);
  void announce();
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
  std::vector<std::uint16_t> ports;  // of the brokers
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
  std::set<std::string> awaited;  // filters whose subscription is not acknowledged yet
  Counters counters;
  std::uint64_t dropped_told = 0;
  std::string why = "connecting";
  bool up = false;
  bool announced = false;  // up, and subscribed: what we are sent from now on arrives
  bool resubscribe = false;
  bool link_changed = false;
  bool signalled = false;
  bool closing = false;
  bool done = false;
  bool diagnosing = false;
  bool yielding = false;  // to another client of our id
  bool tell_taken_over = false;
  std::uint32_t yield_s = 0;  // the next time
  Clock::time_point yield_until = Clock::time_point::max();
  Clock::time_point diagnose_at = Clock::time_point::max();
  Clock::time_point close_by = Clock::time_point::max();

  std::unique_ptr<PahoLink> link;  // of the worker alone
};

// --- Paho's threads -----------------------------------------------------------------------------

void Client::Core::link_up() {
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.connects;
  up = true;
  resubscribe = true;
  refused_topics.clear();
  outbox.resend_states();
  if (options.subscriptions.empty()) announce();
  wake.notify_one();
}

void Client::Core::link_down(const std::string& cause) {
  const std::lock_guard<std::mutex> hold(mutex);
  // The bare fact and the broker's reason come in either order.
  if (yielding || (!up && (cause.empty() || why != kLost))) return;
  link_changed = true;
  why = cause.empty() ? kLost : kLost + (": " + cause);
  if (up) diagnose_at = Clock::now() + kDiagnoseAfter;
  up = false;
  announced = false;
  signal();
  wake.notify_one();
}

void Client::Core::taken_over() {
  const std::lock_guard<std::mutex> hold(mutex);
  if (yielding) return;
  yield_s = yield_s == 0 ? options.yield_min_s : std::min(2 * yield_s, options.yield_max_s);
  yield_until = Clock::now() + std::chrono::seconds(yield_s);
  yielding = tell_taken_over = link_changed = true;
  up = announced = false;
  diagnose_at = Clock::time_point::max();
  why = "another client came under the name '" + options.client_id +
        "': two agents have one id, or a key was copied; this one keeps away for " +
        std::to_string(yield_s) + " s";
  signal();
  wake.notify_one();
}

void Client::Core::arrived(Incoming message, std::size_t oversized_bytes) {
  const std::lock_guard<std::mutex> hold(mutex);
  ++counters.received;
  if (oversized_bytes != 0) {
    ++counters.oversized;
    return problem("dropped a message of " + std::to_string(oversized_bytes) + " bytes on " +
                   message.topic + ": at most " + std::to_string(kPayloadBytesMax) + " are taken");
  }
  // What was sent with QoS 0 can be lost anyway; commands find room in the last quarter.
  const bool sure = message.qos > 0;
  const std::size_t count_max = sure ? options.inbox_max : options.inbox_max / 4 * 3;
  const std::size_t bytes_max = sure ? options.inbox_bytes_max : options.inbox_bytes_max / 4 * 3;
  const std::size_t bytes = message.payload.size() + message.topic.size();
  if (inbox.size() >= count_max || inbox_bytes + bytes > bytes_max) {
    ++counters.inbox_dropped;
    return;
  }
  inbox.push_back(std::move(message));
  inbox_bytes += bytes;
  signal();
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
    case Delivery::kLost: outbox.put_back(std::move(slot->message), now_ns()); break;
  }
  slot->message = {};
  slot->busy = false;
  wake.notify_one();
}

void Client::Core::connect_failed(const std::string& reason, bool by_broker) {
  const std::lock_guard<std::mutex> hold(mutex);
  why = reason;
  link_changed = true;
  // The broker's own words need no looking into.
  if (!by_broker) diagnose_at = Clock::now();
  signal();
  wake.notify_one();
}

void Client::Core::subscribed(const std::string& filter, Delivery how) {
  const std::lock_guard<std::mutex> hold(mutex);
  if (!up) return;
  if (how == Delivery::kLost) {
    resubscribe = true;
    wake.notify_one();
    return;
  }
  if (how == Delivery::kRefused) {
    problem("the broker's ACL does not allow this client to read " + filter);
  }
  awaited.erase(filter);
  if (awaited.empty() && !announced) announce();
}

// --- the worker ---------------------------------------------------------------------------------

void Client::Core::run(const std::shared_ptr<Core>& core) {
  core->connect();
  core->work(core);
}

void Client::Core::connect() {
  link = std::make_unique<PahoLink>(options, *this);
  std::string refused = link->connect();
  if (refused.empty()) return;
  const std::lock_guard<std::mutex> hold(mutex);
  problem(std::move(refused));
}

// The library's own reconnecting ends with the link; what it still had to send waits here.
void Client::Core::yield(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  link->disconnect();
  link.reset();
  lock.lock();
  up = announced = false;
  for (Slot& slot : slots) {
    if (!slot.busy) continue;
    outbox.put_back(std::move(slot.message), now_ns());
    slot = {};
  }
  const Clock::time_point until = yield_until;
  wake.wait_until(lock, until, [this] { return closing; });
  yielding = false;
  if (closing) return;
  lock.unlock();
  connect();
  lock.lock();
}

void Client::Core::work(const std::shared_ptr<Core>& self) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!closing) {
    const bool watching = is_watching();
    const auto due = [&] {
      return closing || yielding || has_work() || diagnosis_due() || is_watching() != watching;
    };
    if (watching) {
      const Clock::time_point until = diagnose_at;
      wake.wait_until(lock, until, due);
    } else {
      wake.wait(lock, due);
    }
    if (closing) break;
    if (yielding) {
      yield(lock);
      continue;
    }
    if (has_work()) pump(lock);
    if (diagnosis_due()) {
      diagnosing = true;
      diagnose_at = Clock::now() + kDiagnoseEvery;
      std::thread([self] { diagnose(self); }).detach();
    }
  }
  drain(lock);
  lock.unlock();
  if (link) link->disconnect();
  link.reset();
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
  awaited.clear();
  for (const auto& [filter, qos] : options.subscriptions) awaited.insert(filter);
  const std::uint64_t connection = counters.connects;
  lock.unlock();
  tend_connections(ports);  // of a connection that is new
  const PahoLink::Handed handed = link->subscribe();
  lock.lock();
  if (handed == PahoLink::Handed::kUnfit) problem("the MQTT library refuses the subscriptions");
  if (handed == PahoLink::Handed::kBroken) broke(connection);
}

void Client::Core::hand_over(Slot& slot, std::unique_lock<std::mutex>& lock) {
  // The slot is busy: nobody else touches it until published(), which may come before this returns.
  const std::uint64_t connection = counters.connects;
  lock.unlock();
  const PahoLink::Handed handed = link->publish(slot.message, &slot);
  lock.lock();
  if (handed == PahoLink::Handed::kHanded) return;
  if (handed == PahoLink::Handed::kUnfit) {
    outbox.drop(slot.message.kind);
    problem("the MQTT library refuses a message on " + slot.message.topic);
  } else {
    outbox.put_back(std::move(slot.message), now_ns());
    broke(connection);
  }
  slot.message = {};
  slot.busy = false;
}

// The library says so before its callback does; without this the worker would try in a loop. Unless
// the callbacks came in between and there is a new connection already.
void Client::Core::broke(std::uint64_t connection) {
  if (!up || connection != counters.connects) return;
  up = false;
  announced = false;
  link_changed = true;
  why = kLost;
  diagnose_at = Clock::now() + kDiagnoseAfter;
  signal();
}

void Client::Core::drain(std::unique_lock<std::mutex>& lock) {
  while (up && Clock::now() < close_by) {
    pump(lock);
    if (outbox.empty() && in_flight() == 0) return;
    wake.wait_until(lock, close_by, [this] { return !up || has_work() || in_flight() == 0; });
  }
}

// --- with the mutex held ------------------------------------------------------------------------

void Client::Core::signal() {
  if (signalled) return;
  signalled = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(event_fd, &one, sizeof one);
}

void Client::Core::announce() {
  announced = true;
  link_changed = true;
  why = "connected";
  signal();
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
  std::vector<std::uint16_t> ports;
  for (const std::string& broker : options.brokers) ports.push_back(parse_address(broker)->port);
  auto core = std::make_shared<Core>(std::move(options));
  core->ports = std::move(ports);
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
  out.connected = c.announced;
  out.taken_over = std::exchange(c.tell_taken_over, false);
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

void Client::yield_to_other() { core_->taken_over(); }

bool Client::connected() const {
  const std::lock_guard<std::mutex> hold(core_->mutex);
  return core_->announced;
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
