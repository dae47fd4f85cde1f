// Virtual time: one clock for a whole world, moved from one thing that happens to the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/split_mix.hpp"
#include "base/time.hpp"
#include "os/clock.hpp"

namespace laird::test {

// Everything random in a world comes from its seed, in the order in which it happens.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : source_{seed} {}
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return source_.next() % n; }
  [[nodiscard]] bool chance(double p) { return source_.unit() < p; }
  [[nodiscard]] bool happens(std::uint32_t permille) { return below(1000) < permille; }
  [[nodiscard]] DurationNs between(DurationNs least, DurationNs most) {
    return least + static_cast<DurationNs>(below(static_cast<std::uint64_t>(most - least + 1)));
  }

 private:
  SplitMix64 source_;
};

class Timeline {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] TimeNs now() const { return now_; }
  [[nodiscard]] TimeNs next() const { return waiting_.empty() ? kNever : waiting_.top().at; }
  void at(TimeNs when, Action action) {
    waiting_.push({std::max(when, now_), next_number_++, std::move(action)});
  }
  void after(DurationNs delay, Action action) { at(now_ + delay, std::move(action)); }

  void advance_to(TimeNs when) { now_ = std::max(now_, when); }
  // What is due now, in the order in which it was planned.
  void run_due() {
    while (!waiting_.empty() && waiting_.top().at <= now_) {
      const Action action = std::move(const_cast<Planned&>(waiting_.top()).action);
      waiting_.pop();
      action();
    }
  }

 private:
  struct Planned {
    TimeNs at = 0;
    std::uint64_t number = 0;
    Action action;
    bool operator<(const Planned& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  TimeNs now_ = 0;
  std::uint64_t next_number_ = 0;
  std::priority_queue<Planned> waiting_;
};

// A board's own clocks: they run a little fast or slow, start anew with the machine, and the wall
// clock can be set.
class BoardClock final : public Clock {
 public:
  BoardClock(const Timeline& time, std::int64_t drift_ppm) : time_(time), drift_ppm_(drift_ppm) {}

  [[nodiscard]] TimeNs boot_ns() override { return local(time_.now()) - booted_at_; }
  [[nodiscard]] TimeNs wall_ns() override { return kWallStart + local(time_.now()) + wall_off_; }
  // The world's time from which on boot_ns() is `boot` or later.
  [[nodiscard]] TimeNs world_time_of(TimeNs boot) const {
    const TimeNs wanted = boot + booted_at_;
    TimeNs at = wanted;
    for (TimeNs off = wanted - local(at); off != 0; off = wanted - local(at)) {
      at += off;
      if (off > 0 && off < kMicrosecond) at += kMicrosecond;
      if (local(at) >= wanted && local(at) < wanted + kMillisecond) break;
    }
    return at;
  }
  // The machine starts anew, or its wall clock is set.
  void reboot() { booted_at_ = local(time_.now()) - 10 * kSecond; }
  void set_wall_off(DurationNs off) { wall_off_ = off; }

 private:
  static constexpr TimeNs kWallStart = 1'800'000'000 * kSecond;
  [[nodiscard]] TimeNs local(TimeNs at) const { return at + at / 1'000'000 * drift_ppm_; }

  const Timeline& time_;
  const std::int64_t drift_ppm_;
  TimeNs booted_at_ = -kHour;
  DurationNs wall_off_ = 0;
};

}  // namespace laird::test
