// What would have saved a task. Symbols as in why.hpp; further: p = r / (r + time throttled), the
// part of its turns in which a throttled task really ran, 1 when it was not throttled; C the cap
// and P0 the power of the idle board.
//  - A cap of at least P0 + (C - P0) (r + R) / r: power above idle goes with the lane's time, so
//  the
//    cap has to rise as that has to; and never more than the board draws with all its lanes at work
//    for the part of the time that this task needed. Only if the time that it was throttled is at
//    least R.
//  - Without a rival: if p times the time that the rival had is at least R.
//  - Submitted earlier: by R W / r, with as much of the lane as it had.
//  - A target: the lowest loss that it came to.
#include "agent/why/savers.hpp"

#include <algorithm>
#include <cmath>

#include "base/duration.hpp"

namespace laird::why {
namespace {

using core::TimeUse;
using placement::NeedBasis;

struct Times {
  double ran = 0.0;
  double throttled = 0.0;
  double still = 0.0;  // R
  double whole = 0.0;
  [[nodiscard]] double pace() const { return ran > 0.0 ? ran / (ran + throttled) : 1.0; }
};

DurationNs sum_of(const Finding& f, TimeUse use) {
  DurationNs sum = 0;
  for (const Use& u : f.uses) sum += u.line.key.use == use ? u.line.ns : 0;
  return sum;
}

const Use* largest(const Finding& f, TimeUse use) {
  for (const Use& u : f.uses) {
    if (u.line.key.use == use) return &u;
  }
  return nullptr;
}

void add(Finding& f, Remedy remedy, double amount, std::string text, std::string task = {}) {
  f.savers.push_back({remedy, amount, std::move(task), std::move(text)});
}

// The cap with which the lane time that was wanted would have fitted.
void add_cap(Finding& f, const core::State& state, const Times& t, double wanted_s) {
  const Use* held = largest(f, TimeUse::kThrottled);
  if (held == nullptr || held->line.key.by == core::Throttler::kFleetTime) return;
  const core::PowerConfig& power = state.config.power;
  const auto idle = static_cast<double>(power.governor.idle_mw);
  const double most = idle + static_cast<double>(power.governor.dynamic_mw);
  const double cap =
      (static_cast<double>(held->line.limit_low) + static_cast<double>(held->line.limit_high)) /
      2.0;
  if (most <= idle) return;
  const double turns = t.ran + t.throttled;
  double mw = turns > 0.0 ? std::min(most, idle + (most - idle) * wanted_s / turns) : most;
  if (t.ran > 0.0 && cap > idle) mw = std::min(mw, idle + (cap - idle) * wanted_s / t.ran);
  const double watts = std::ceil(mw / 100.0) / 10.0;
  std::string text = "a cap of at least " + fixed(watts, 1) + " W";
  if (held->line.key.by == core::Throttler::kFleet ||
      held->line.key.by == core::Throttler::kFenced) {
    text = "a share of at least " + fixed(watts, 1) + " W for this board";
  }
  if (mw >= most) text += ", all that it can draw";
  add(f, Remedy::kCap, watts, text);
}

void add_rivals(Finding& f, const Times& t) {
  const double all = seconds(sum_of(f, TimeUse::kRival));
  if (all * t.pace() < t.still) return;
  std::string names;
  std::size_t enough = 0;
  for (const Use& u : f.uses) {
    if (u.line.key.use != TimeUse::kRival || u.rival.empty()) continue;
    if (seconds(u.line.ns) * t.pace() >= t.still) {
      add(f, Remedy::kWithoutRival, 0.0, "without '" + u.rival + "' beside it", u.rival);
      ++enough;
    }
    names += (names.empty() ? "'" : ", '") + u.rival + "'";
  }
  if (enough == 0) add(f, Remedy::kWithoutRival, 0.0, "without " + names + " beside it");
}

void add_memory(Finding& f, const core::State& state, const core::Task& task, const Times& t) {
  if (seconds(sum_of(f, TimeUse::kMemory)) * t.pace() < t.still) return;
  const Use* held = largest(f, TimeUse::kMemory);
  if (held == nullptr) return;
  const core::Task* other = state.find_any(held->line.key.rival);
  const std::int64_t bytes =
      task.spec.memory_bytes + (other == nullptr ? 0 : other->spec.memory_bytes);
  add(f, Remedy::kMemory, static_cast<double>(bytes),
      std::to_string((bytes + 999'999) / 1'000'000) + " MB of memory for tasks on this board" +
          (held->rival.empty() ? "" : ": room for it beside '" + held->rival + "'"),
      held->rival);
}

void add_time_savers(Finding& f, const core::State& state, const core::Task& task) {
  Times t;
  t.ran = seconds(sum_of(f, TimeUse::kRunning));
  t.throttled = seconds(sum_of(f, TimeUse::kThrottled));
  t.still = f.need.seconds.median;
  t.whole = seconds(f.whole);
  const auto gives = [&](TimeUse use) { return seconds(sum_of(f, use)) * t.pace() >= t.still; };
  if (t.throttled > 0.0 && t.throttled >= t.still) add_cap(f, state, t, t.ran + t.still);
  add_rivals(f, t);
  add_memory(f, state, task, t);
  if (gives(TimeUse::kCrashed)) add(f, Remedy::kNoCrash, 0.0, "a trainer that does not crash");
  if (gives(TimeUse::kPaused)) add(f, Remedy::kNoPause, 0.0, "not being paused");
  if (gives(TimeUse::kAgentDown)) add(f, Remedy::kAgentUp, 0.0, "an agent that runs all the time");
  const double earlier = t.ran > 0.0 ? t.still * t.whole / t.ran : 0.0;
  if (earlier > 0.0 && earlier < 1e9) {
    add(f, Remedy::kEarlier, earlier,
        "being submitted " + spoken_seconds(earlier) +
            " earlier, with as much of its lane as it had");
  }
}

// A task that is not over and more likely misses: what its time left would have to be like.
void add_live_savers(Finding& f, const core::State& state) {
  if (f.need.probability >= 0.5) return;
  const double left = seconds(std::max<DurationNs>(f.need.left, 0));
  if (f.need.seconds.median > left) return;
  Times t;
  t.ran = seconds(sum_of(f, TimeUse::kRunning));
  t.throttled = seconds(sum_of(f, TimeUse::kThrottled));
  if (f.cause == Cause::kPower && t.ran > 0.0 && left > 0.0) {
    add_cap(f, state, t, (t.ran + t.throttled) * f.need.seconds.median / left);
  }
  const Use* rival = largest(f, TimeUse::kRival);
  if (f.cause == Cause::kRival && rival != nullptr && !rival->rival.empty()) {
    add(f, Remedy::kWithoutRival, 0.0, "without '" + rival->rival + "' beside it", rival->rival);
  }
}

}  // namespace

std::string fixed(double value, int digits) {
  double scale = 1.0;
  for (int i = 0; i < digits; ++i) scale *= 10.0;
  const auto whole = std::llround(std::fabs(value) * scale);
  const auto step = static_cast<long long>(scale);
  std::string out = (value < 0.0 && whole != 0 ? "-" : "") + std::to_string(whole / step);
  if (digits == 0) return out;
  std::string rest = std::to_string(whole % step);
  rest.insert(0, static_cast<std::size_t>(digits) - rest.size(), '0');
  return out + "." + rest;
}

std::string loss_number(double loss) {
  const double size = std::fabs(loss);
  if (!(size < 1e6)) return std::to_string(loss);
  int digits = 3;
  for (double limit = 1.0; digits < 9 && size < limit && size > 0.0; limit /= 10.0) ++digits;
  for (double limit = 10.0; digits > 0 && size >= limit; limit *= 10.0) --digits;
  std::string out = fixed(loss, digits);
  if (out.find('.') != std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
  }
  return out;
}

std::string percent(double probability) { return fixed(100.0 * probability, 0) + "%"; }

void add_savers(Finding& f, const core::State& state, const core::Task& task) {
  const bool known = f.need.basis == NeedBasis::kForecast;
  switch (task.outcome) {
    case core::Outcome::kNone:
      if (known) add_live_savers(f, state);
      return;
    case core::Outcome::kMissed:
      if (known && f.cause != Cause::kOutOfReach) add_time_savers(f, state, task);
      break;
    case core::Outcome::kExhausted:
      if (known && f.need.reach >= kReachMin && f.need.samples.median < 1e15) {
        const double more = std::ceil(f.need.samples.median);
        add(f, Remedy::kSamples, more, "about " + fixed(more, 0) + " more planned samples");
      }
      break;
    case core::Outcome::kFailed:
      if (f.cause == Cause::kOutOfMemory) {
        add(f, Remedy::kMemory, 0.0,
            "more than the " + std::to_string((task.spec.memory_bytes + 999'999) / 1'000'000) +
                " MB that it asked for, or a smaller batch");
      } else {
        add(f, Remedy::kNoCrash, 0.0, "a trainer that does not crash");
      }
      return;
    default: return;
  }
  if (task.loss_known && std::isfinite(task.best_loss)) {
    add(f, Remedy::kTarget, task.best_loss,
        "a target loss of at least " + loss_number(task.best_loss));
  }
}

}  // namespace laird::why
