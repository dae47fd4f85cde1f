// What a board drew, what it was allowed to draw, and its place in its fleet.
#include <algorithm>
#include <utility>

#include "agent/view/shares.hpp"
#include "base/duration.hpp"
#include "report/story/teller.hpp"

namespace laird::story {
namespace {

double watts(std::int64_t mw) { return static_cast<double>(mw) * 1e-3; }

template <class T>
void add_known(Series& series, TimeNs at, const std::optional<T>& value, double unit) {
  if (value) series.add({at, static_cast<double>(*value) * unit, 0.0});
}

}  // namespace

void Teller::see_power(const core::Event& event, const core::State& state) {
  if (const auto* sampled = std::get_if<core::PowerSampled>(&event.body)) {
    see_reading(sampled->reading, state);
  }
  std::uint32_t ceiling_ppm = core::kShareWholePpm;
  for (const core::Lane& lane : state.lanes) {
    ceiling_ppm = std::min(ceiling_ppm, lane.gate.ceiling_ppm);
  }
  story_.power.ceiling.add_change(state.now, ceiling_ppm * 1e-4);
  see_cap(state);
}

void Teller::see_reading(const power::PowerReading& reading, const core::State& state) {
  PowerStory& out = story_.power;
  const TimeNs at = state.now;
  if (reading.total_mw) {
    const double drawn = watts(*reading.total_mw);
    out.drawn_w.add({at, drawn, 0.0});
    if (drawn > out.peak_w) {
      out.peak_w = drawn;
      out.peak_at = at;
    }
  }
  add_known(out.hottest_c, at, reading.hottest_mc(), 1e-3);
  add_known(out.gpu_mhz, at, reading.gpu_clock_mhz, 1.0);
  add_known(out.cpu_mhz, at, reading.cpu_clock_mhz, 1.0);
  add_known(out.gpu_load, at, reading.gpu_load_permille, 0.1);
  add_known(out.cpu_load, at, reading.cpu_load_permille, 0.1);
  for (const power::RailReading& rail : reading.rails) {
    auto found = std::find_if(out.rails.begin(), out.rails.end(),
                              [&](const PowerStory::Rail& r) { return r.name == rail.name; });
    if (found == out.rails.end()) {
      if (out.rails.size() == kRailsKept) continue;
      out.rails.push_back({rail.name, Series(512)});
      found = out.rails.end() - 1;
    }
    found->w.add({at, watts(rail.mw), 0.0});
  }
}

// A throttle lets lanes work in bursts, so single readings say little. The governor's mean, over a
// window, is what the board drew and what a cap is held against.
void Teller::see_cap(const core::State& state) {
  const std::optional<std::int64_t> cap = state.power.in_force(state.config.power).mw;
  PowerStory& out = story_.power;
  out.cap_w.add_change(state.now, cap ? watts(*cap) : -1.0);
  const core::PowerState& power = state.power;
  if (power.mean_at == mean_at_ || !power.mean_mw) return;
  const DurationNs since = power.mean_at - mean_at_;
  mean_at_ = power.mean_at;
  // A long gap says nothing about the time in it.
  if (since > kPowerGapMax) {
    window_ = {};
    end_breach();
    return;
  }
  window_.ns += since;
  window_.drawn_j += watts(*power.mean_mw) * seconds(since);
  if (cap) {
    window_.capped_ns += since;
    window_.allowed_j += watts(*cap) * seconds(since);
  }
  if (window_.ns >= kPowerWindow) end_window(state.now);
}

void Teller::end_window(TimeNs at) {
  PowerStory& out = story_.power;
  const Window window = std::exchange(window_, {});
  const double drawn = window.drawn_j / seconds(window.ns);
  out.mean_w.add({at - window.ns / 2, drawn, 0.0});
  // A cap that came or went within the window is not judged by it.
  if (window.capped_ns != window.ns) {
    end_breach();
    return;
  }
  out.capped_ns += window.ns;
  const double cap = window.allowed_j / seconds(window.ns);
  const double over = drawn - cap;
  if (over > 0.0) {
    out.over_ns += window.ns;
    out.over_most_w = std::max(out.over_most_w, over);
  }
  if (drawn <= kBreachFactor * cap) {
    end_breach();
    return;
  }
  if (breach_windows_++ == 0) breach_ = {at - window.ns, at, 0.0, cap};
  breach_.to = at;
  breach_.over_w = std::max(breach_.over_w, over);
}

void Teller::end_breach() {
  if (std::exchange(breach_windows_, 0) < kBreachWindows) return;
  ++story_.power.breaches;
  if (story_.power.breach_list.size() < kBreachesKept) story_.power.breach_list.push_back(breach_);
  tell(breach_.from, Kind::kPower, "the cap was not held for " + spoken(breach_.to - breach_.from));
}

void Teller::see_fleet(const core::Event& event, const core::State& state) {
  FleetStory& out = story_.fleet;
  out.member = true;
  if (shares_.points().size() < kSharesKept) {
    shares_.see(event, state);
  } else {
    out.shares_cut = true;
  }
  const TimeNs wall = state.now + state.wall_minus_agent;
  const std::int64_t budget = state.fleet.budget.budget_at(core::Resource::kPower, wall);
  if (out.budgets.empty() || out.budgets.back().mw != budget) {
    out.budgets.push_back({state.now, budget});
  }
  if (const auto asked = agent::demanded(state, core::Resource::kPower, state.now)) {
    out.asked_w.add_change(state.now, watts(*asked));
  }
}

}  // namespace laird::story
