// The client's worker, the only thread that calls Paho; and what all threads do with the mutex
// held.
#include <thread>

#include "base/require.hpp"
#include "mqtt/client/address.hpp"
#include "mqtt/client/client_core.hpp"
#include "mqtt/client/sockets.hpp"
#include "mqtt/sign/tls_probe.hpp"

namespace laird::mqtt {
namespace {

constexpr std::size_t kProblemsMax = 32;  // between two takes
constexpr DurationNs kProbeWait = 3 * kSecond;

Status reach(const Options& options, std::size_t broker) {
  const auto address = parse_address(options.brokers[broker]);
  LAIRD_TRY(address);
  return probe({address->host, address->port, address->tls, options.ca, options.cert, options.key},
               kProbeWait);
}

// Why the brokers cannot be reached, the first one's reason first; empty when they can.
std::string diagnosis(const Options& options) {
  std::string out;
  for (std::size_t i = 0; i < options.brokers.size(); ++i) {
    const Status reached = reach(options, i);
    if (reached) return {};
    out += (out.empty() ? "" : "; ") + reached.error().context;
  }
  return out;
}

}  // namespace

void Client::Core::run(const std::shared_ptr<Core>& core) {
  core->link = std::make_unique<PahoLink>(core->options, *core);
  core->work(core);
}

// Brokers are tried in turn; after all of them, at growing intervals.
void Client::Core::attempt(std::unique_lock<std::mutex>& lock) {
  if (attempting) {
    // The library has its own limit for an attempt and did not keep it.
    end_link(lock);
    link = std::make_unique<PahoLink>(options, *this);
    at = (at + 1) % options.brokers.size();
  }
  attempting = true;
  attempt_at = SteadyClock::now() + std::chrono::seconds(options.connect_timeout_s + 2);
  const std::size_t broker = at;
  lock.unlock();
  std::string refused = link->connect(broker);
  lock.lock();
  if (refused.empty() || up) return;
  problem(std::move(refused));
  attempt_failed();
}

// The library's own threads end with the link; what it still had to send waits here.
void Client::Core::end_link(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  link->disconnect();
  link.reset();
  lock.lock();
  up = announced = false;
  for (Slot& slot : slots) {
    if (!slot.busy) continue;
    outbox.put_back(std::move(slot.message), steady_now_ns());
    slot = {};
  }
}

void Client::Core::yield(std::unique_lock<std::mutex>& lock) {
  end_link(lock);
  const SteadyClock::time_point until = yield_until;
  wake.wait_until(lock, until, [this] { return closing; });
  yielding = attempting = false;
  link = std::make_unique<PahoLink>(options, *this);
  attempt_at = SteadyClock::now();
}

void Client::Core::go_home(std::unique_lock<std::mutex>& lock) {
  const std::size_t to = *std::exchange(home, std::nullopt);
  if (!up || to >= at) return;
  end_link(lock);
  link = std::make_unique<PahoLink>(options, *this);
  at = to;
  failed = 0;
  attempting = false;
  link_changed = true;
  why = "going back to " + options.brokers[to];
  attempt_at = SteadyClock::now();
  signal();
}

void Client::Core::work(const std::shared_ptr<Core>& self) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!closing) {
    const SteadyClock::time_point until = next_due();
    const auto due = [&] {
      return closing || yielding || home || has_work() || diagnosis_due() || attempt_due() ||
             look_home_due() || next_due() < until;
    };
    if (until == SteadyClock::time_point::max()) {
      wake.wait(lock, due);
    } else {
      wake.wait_until(lock, until, due);
    }
    if (closing) break;
    if (yielding) {
      yield(lock);
      continue;
    }
    if (home) go_home(lock);
    if (attempt_due()) attempt(lock);
    if (has_work()) pump(lock);
    if (diagnosis_due()) {
      diagnosing = true;
      diagnose_at = SteadyClock::now() + kDiagnoseEvery;
      std::thread([self] { diagnose(self); }).detach();
    }
    if (look_home_due()) {
      looking_home = true;
      look_home_at = SteadyClock::now() + std::chrono::seconds(options.look_home_every_s);
      std::thread([self, before = at] { look_home(self, before); }).detach();
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

void Client::Core::look_home(const std::shared_ptr<Core>& core, std::size_t before) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < before && !found; ++i) {
    if (reach(core->options, i)) found = i;
  }
  const std::lock_guard<std::mutex> hold(core->mutex);
  core->looking_home = false;
  if (core->up && found && *found < core->at) core->home = found;
  core->wake.notify_one();
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
    if (!to_subscribe.empty() || !to_leave.empty()) {
      change_subscriptions(lock);
      continue;
    }
    auto message = outbox.pop(steady_now_ns());
    if (!message) return;
    Slot* slot = free_slot();
    slot->message = std::move(*message);
    slot->busy = true;
    hand_over(*slot, lock);
  }
}

void Client::Core::change_subscriptions(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<std::string, int>> wanted;
  for (const std::string& filter : to_subscribe) wanted.emplace_back(filter, filters.at(filter));
  const std::vector<std::string> unwanted(to_leave.begin(), to_leave.end());
  to_subscribe.clear();
  to_leave.clear();
  const std::uint64_t connection = counters.connects;
  lock.unlock();
  tend_connections(ports);  // of a connection that is new
  PahoLink::Handed handed = link->unsubscribe(unwanted);
  if (handed == PahoLink::Handed::kHanded) handed = link->subscribe(wanted);
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
    outbox.put_back(std::move(slot.message), steady_now_ns());
    broke(connection);
  }
  slot.message = {};
  slot.busy = false;
}

// The library says so before its callback does; without this the worker would try in a loop. Unless
// the callbacks came in between and there is a new connection already.
void Client::Core::broke(std::uint64_t connection) {
  if (!up || connection != counters.connects) return;
  lost();
  link_changed = true;
  why = kLinkLost;
  signal();
}

void Client::Core::drain(std::unique_lock<std::mutex>& lock) {
  while (up && SteadyClock::now() < close_by) {
    pump(lock);
    if (outbox.empty() && in_flight() == 0) return;
    wake.wait_until(lock, close_by, [this] { return !up || has_work() || in_flight() == 0; });
  }
}

// --- with the mutex held ------------------------------------------------------------------------

// A fleet that lost its broker does not come back in one instant.
void Client::Core::lost() {
  if (!up) return;
  up = announced = false;
  diagnose_at = SteadyClock::now() + kDiagnoseAfter;
  failed = 0;
  at = (at + 1) % options.brokers.size();
  attempt_at = SteadyClock::now() + pause(options.retry_min_s);
}

void Client::Core::attempt_failed() {
  attempting = false;
  ++failed;
  at = (at + 1) % options.brokers.size();
  attempt_at = SteadyClock::now();
  const std::size_t rounds = failed / options.brokers.size();
  if (failed % options.brokers.size() != 0) return;
  const std::uint32_t doubled = options.retry_min_s << std::min<std::size_t>(rounds - 1, 16);
  attempt_at += pause(std::min(doubled, options.retry_max_s));
}

// So long, and a random part of the jitter.
std::chrono::milliseconds Client::Core::pause(std::uint32_t seconds) {
  const std::uint32_t jitter_ms = options.retry_jitter_s * 1'000;
  return std::chrono::milliseconds(seconds * 1'000 + random() % (jitter_ms + 1));
}

SteadyClock::time_point Client::Core::next_due() const {
  SteadyClock::time_point out = SteadyClock::time_point::max();
  if (!up) out = std::min(out, attempt_at);
  if (is_watching()) out = std::min(out, diagnose_at);
  if (up && at != 0 && !looking_home) out = std::min(out, look_home_at);
  return out;
}

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

}  // namespace laird::mqtt
