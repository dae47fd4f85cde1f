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
    outbox.put_back(std::move(slot.message), steady_now_ns());
    slot = {};
  }
  const SteadyClock::time_point until = yield_until;
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
      const SteadyClock::time_point until = diagnose_at;
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
      diagnose_at = SteadyClock::now() + kDiagnoseEvery;
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
  up = false;
  announced = false;
  link_changed = true;
  why = kLinkLost;
  diagnose_at = SteadyClock::now() + kDiagnoseAfter;
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
