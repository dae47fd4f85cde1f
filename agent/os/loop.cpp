#include "agent/os/loop.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

namespace laird::agent {

TimeNs boot_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<TimeNs>(now.tv_sec) * kSecond + now.tv_nsec;
}

Result<std::unique_ptr<Loop>> Loop::create() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "epoll");
  return std::unique_ptr<Loop>(new Loop(fd));
}

Status Loop::watch(int fd, std::uint32_t events, Ready ready) {
  epoll_event what{};
  what.events = events;
  what.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &what) != 0) return fail_errno(errno, "epoll add");
  watched_[fd] = std::make_shared<Ready>(std::move(ready));
  return {};
}

void Loop::change(int fd, std::uint32_t events) {
  epoll_event what{};
  what.events = events;
  what.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &what);
}

void Loop::forget(int fd) {
  if (watched_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Loop::TimerId Loop::after(DurationNs delay, Fired fired) {
  return at(boot_now_ns() + std::max<DurationNs>(delay, 0), std::move(fired));
}

Loop::TimerId Loop::at(TimeNs when, Fired fired) {
  const TimerId id = next_timer_++;
  timers_.emplace(when, std::pair(id, std::move(fired)));
  return id;
}

void Loop::cancel(TimerId id) {
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second.first == id) {
      timers_.erase(at);
      return;
    }
  }
}

void Loop::fire_due() {
  const TimeNs now = boot_now_ns();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Fired fired = std::move(timers_.begin()->second.second);
    timers_.erase(timers_.begin());
    fired();
  }
}

Status Loop::run_once(DurationNs wait_max) {
  DurationNs wait = wait_max;
  if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first - boot_now_ns());
  // Rounded up: waking a moment early would spin until the timer is due.
  const auto wait_ms = static_cast<int>(
      std::clamp<DurationNs>((wait + kMillisecond - 1) / kMillisecond, 0, 3'600'000));
  std::array<epoll_event, 64> ready{};
  const int n = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), wait_ms);
  if (n < 0 && errno != EINTR) return fail_errno(errno, "epoll wait");
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const auto found = watched_.find(event.data.fd);
    if (found == watched_.end()) continue;  // forgotten by an earlier call of this round
    const std::shared_ptr<Ready> keep = found->second;
    (*keep)(event.events);
  }
  fire_due();
  return {};
}

}  // namespace laird::agent
