#include "lab/watts/planner.hpp"

#include <algorithm>
#include <cstdlib>

#include "lab/ledger/world/optimum.hpp"

namespace laird::lab {

std::vector<std::int64_t> caps_by_welfare(const WattsWorkload& workload,
                                          const std::vector<consensus::Demand>& demands,
                                          std::int64_t divided_mw) {
  double caps = 0.0;
  for (const consensus::Demand& d : demands) caps += static_cast<double>(d.cap);
  const auto whole = static_cast<double>(consensus::kWhole);
  const Optimum best = optimum_of(demands, std::min(whole, caps));
  std::vector<std::int64_t> out;
  for (std::size_t b = 0; b < demands.size(); ++b) {
    const double share = best.shares[b] / whole * static_cast<double>(divided_mw);
    out.push_back(workload.boards[b].floor_mw + static_cast<std::int64_t>(share));
  }
  return out;
}

consensus::Demand demand_of_oracle(const core::State& state, const WattsBoard& board,
                                   const core::Division& division) {
  consensus::BoardLimits limits = limits_of(state, core::Resource::kPower, division);
  std::vector<consensus::TaskNeed> needs;
  for (const core::Task& task : state.live) {
    if (task.outcome != core::Outcome::kNone) continue;
    // Tasks of the lab are called "t" and their place.
    const auto place = static_cast<std::size_t>(std::atoi(task.spec.name.c_str() + 1));
    const SimulatedTask& known = board.tasks[place];
    const double whole_s = need_units(known);
    const double done_s = static_cast<double>(task.samples) * known.duration_units /
                          static_cast<double>(known.losses->size() * kSamplesPerPoint);
    const auto busy = static_cast<DurationNs>((whole_s - done_s) * 1e9);
    const DurationNs left = task.deadline_at - state.now;
    if (whole_s < 0.0 || busy > left) continue;
    // A governor holds the mean a little below the cap, and a tick is a second.
    const DurationNs claimed = std::min(left, std::max<DurationNs>(busy, 0) + busy / 32 + kSecond);
    needs.push_back(
        {0, limits.cap - limits.idle, claimed, left, 1'000'000, task.spec.weight_milli});
  }
  if (needs.empty()) limits.want = limits.least;
  return consensus::demand_from(needs, limits);
}

}  // namespace laird::lab
