// The client on its owner's thread.
#include "mqtt/client/client.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "mqtt/client/address.hpp"
#include "mqtt/client/client_core.hpp"
#include "mqtt/codec/topics.hpp"
#include "mqtt/sign/tls_files.hpp"

namespace laird::mqtt {

Client::Client(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Result<std::unique_ptr<Client>> Client::create(Options options) {
  if (options.brokers.empty()) return fail(Code::kInvalid, "no broker is named");
  bool tls = false;
  for (const std::string& broker : options.brokers) {
    const auto address = parse_address(broker);
    LAIRD_TRY(address);
    if (!address->tls && !options.insecure_lab) {
      return fail(Code::kRefused, broker + " is without TLS: use mqtts://, or say insecure_lab");
    }
    tls = tls || address->tls;
  }
  if (tls) {
    const auto fine = check_tls_files(options.ca, options.cert, options.key);
    LAIRD_TRY(fine);
  }
  if (options.in_flight_max == 0 || options.client_id.empty()) {
    return fail(Code::kInvalid, "an MQTT client needs an id and something in flight");
  }
  if (options.subscriptions.size() > kFiltersMax) {
    return fail(Code::kInvalid, "too many subscriptions");
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

Client::Batch Client::take(std::size_t messages_max) {
  Batch out;
  const std::lock_guard<std::mutex> hold(core_->mutex);
  Core& c = *core_;
  const std::size_t taken = std::min(messages_max, c.inbox.size());
  std::uint64_t count = 0;
  if (c.signalled && taken == c.inbox.size()) {
    [[maybe_unused]] const ssize_t n = ::read(c.event_fd, &count, sizeof count);
    c.signalled = false;
  }
  out.messages.reserve(taken);
  for (std::size_t i = 0; i < taken; ++i) {
    Incoming& message = c.inbox.front();
    c.inbox_bytes -= message.payload.size() + message.topic.size();
    if (message.qos == 0) c.leave_inbox(message.topic);
    out.messages.push_back(std::move(message));
    c.inbox.pop_front();
  }
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
  core_->outbox.push(std::move(message), steady_now_ns());
  if (core_->up) core_->wake.notify_one();
}

bool Client::subscribe(const std::string& filter, int qos) {
  if (!is_valid_filter(filter) || qos < 0 || qos > 1) return false;
  const std::lock_guard<std::mutex> hold(core_->mutex);
  Core& c = *core_;
  if (c.filters.size() >= kFiltersMax && c.filters.count(filter) == 0) return false;
  c.filters[filter] = qos;
  c.left.erase(filter);
  c.to_leave.erase(filter);
  // What is asked for on the next connection is worked out then.
  if (!c.up) return true;
  c.to_subscribe.insert(filter);
  if (!c.announced) c.awaited.insert(filter);
  c.wake.notify_one();
  return true;
}

bool Client::unsubscribe(const std::string& filter) {
  if (!is_valid_filter(filter)) return false;
  const std::lock_guard<std::mutex> hold(core_->mutex);
  Core& c = *core_;
  if (c.left.size() >= kFiltersMax && c.left.count(filter) == 0) return false;
  c.filters.erase(filter);
  c.to_subscribe.erase(filter);
  c.awaited.erase(filter);
  c.left.insert(filter);
  if (!c.up) return true;
  c.to_leave.insert(filter);
  if (c.awaited.empty() && !c.announced) c.announce();
  c.wake.notify_one();
  return true;
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
  if (!last_word.topic.empty()) core_->outbox.push(std::move(last_word), steady_now_ns());
  core_->close_by = SteadyClock::now() + std::chrono::nanoseconds(wait_max);
  core_->closing = true;
  core_->wake.notify_one();
  core_->closed.wait_until(lock, core_->close_by, [this] { return core_->done; });
}

}  // namespace laird::mqtt
