// The agent's only thread waits here: file descriptors, signals and timers become calls.
//
// The loop owns no time of its own: what it calls now is its clock's, and how it waits is its
// poller's. Whoever needs the time asks the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "agent/os/poller.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "os/clock.hpp"
#include "os/fd.hpp"

namespace laird::agent {

class Loop {
 public:
  using Ready = std::function<void(std::uint32_t events)>;
  using Fired = std::function<void()>;
  using TimerId = std::uint64_t;

  // On this machine: the kernel's poll, and the clock given, which outlives the loop.
  [[nodiscard]] static Result<std::unique_ptr<Loop>> create(Clock& clock);
  Loop(Clock& clock, std::unique_ptr<Poller> poller) : clock_(clock), poller_(std::move(poller)) {}

  // Watches fd for EPOLLIN and friends until forget(fd). The loop does not own it.
  [[nodiscard]] Status watch(int fd, std::uint32_t events, Ready ready);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  // Calls once after `delay` on the clock that counts suspend.
  TimerId after(DurationNs delay, Fired fired);
  // Calls once at that instant of the same clock.
  TimerId at(TimeNs when, Fired fired);
  void cancel(TimerId id);

  // By the clock that counts suspend.
  [[nodiscard]] TimeNs now() { return clock_.boot_ns(); }
  // When the next timer is due; kNever without one.
  [[nodiscard]] TimeNs next_due() const {
    return timers_.empty() ? kNever : timers_.begin()->first;
  }

  // Waits for at most one round of readiness and runs what is due.
  [[nodiscard]] Status run_once(DurationNs wait_max);

 private:
  void fire_due();

  Clock& clock_;
  std::unique_ptr<Poller> poller_;
  std::map<int, std::shared_ptr<Ready>> watched_;
  std::multimap<TimeNs, std::pair<TimerId, Fired>> timers_;
  TimerId next_timer_ = 1;
};

}  // namespace laird::agent
