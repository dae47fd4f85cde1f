// The agent's only thread waits here: file descriptors, signals and timers become calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "base/time.hpp"
#include "os/fd.hpp"

namespace laird::agent {

class Loop {
 public:
  using Ready = std::function<void(std::uint32_t events)>;
  using Fired = std::function<void()>;
  using TimerId = std::uint64_t;

  [[nodiscard]] static Result<std::unique_ptr<Loop>> create();

  // Watches fd for EPOLLIN and friends until forget(fd). The loop does not own it.
  [[nodiscard]] Status watch(int fd, std::uint32_t events, Ready ready);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  // Calls once after `delay` on the clock that counts suspend.
  TimerId after(DurationNs delay, Fired fired);
  // Calls once at that instant of the same clock.
  TimerId at(TimeNs when, Fired fired);
  void cancel(TimerId id);

  // Waits for at most one round of readiness and runs what is due.
  [[nodiscard]] Status run_once(DurationNs wait_max);

 private:
  explicit Loop(int epoll_fd) : epoll_(epoll_fd) {}
  void fire_due();

  Fd epoll_;
  std::map<int, std::shared_ptr<Ready>> watched_;
  std::multimap<TimeNs, std::pair<TimerId, Fired>> timers_;
  TimerId next_timer_ = 1;
};

// CLOCK_BOOTTIME in nanoseconds.
[[nodiscard]] TimeNs boot_now_ns();

}  // namespace laird::agent
