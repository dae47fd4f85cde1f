#include "agent/os/loop.hpp"

#include <algorithm>

namespace laird::agent {

Result<std::unique_ptr<Loop>> Loop::create(Clock& clock) {
  Result<std::unique_ptr<Poller>> poller = open_epoll();
  LAIRD_TRY(poller);
  return std::make_unique<Loop>(clock, std::move(*poller));
}

Status Loop::watch(int fd, std::uint32_t events, Ready ready) {
  LAIRD_TRY(poller_->add(fd, events));
  watched_[fd] = std::make_shared<Ready>(std::move(ready));
  return {};
}

void Loop::change(int fd, std::uint32_t events) { poller_->change(fd, events); }

void Loop::forget(int fd) {
  if (watched_.erase(fd) > 0) poller_->remove(fd);
}

Loop::TimerId Loop::after(DurationNs delay, Fired fired) {
  return at(now() + std::max<DurationNs>(delay, 0), std::move(fired));
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
  const TimeNs until = now();
  while (!timers_.empty() && timers_.begin()->first <= until) {
    Fired fired = std::move(timers_.begin()->second.second);
    timers_.erase(timers_.begin());
    fired();
  }
}

Status Loop::run_once(DurationNs wait_max) {
  const DurationNs wait =
      timers_.empty() ? wait_max : std::min(wait_max, timers_.begin()->first - now());
  Poller::Round round;
  const Result<std::size_t> count = poller_->wait(std::max<DurationNs>(wait, 0), round);
  LAIRD_TRY(count);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto found = watched_.find(round[i].fd);
    if (found == watched_.end()) continue;  // forgotten by an earlier call of this round
    const std::shared_ptr<Ready> keep = found->second;
    (*keep)(round[i].events);
  }
  fire_due();
  return {};
}

}  // namespace laird::agent
