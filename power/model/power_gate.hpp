// From a dynamic power budget to a ceiling on lane time: what the step gate carries out.
//
// Lanes differ in what a second of theirs costs, and their demand comes and goes apart. A ceiling
// on time alone would be worth other watts each time the mix changes, and a governor that only sees
// the meter would always be a reading late. So the governor's gate level is a share of the board's
// dynamic power (GovernorConfig::dynamic_mw), and the gate turns it into the one ceiling c that
// fills the budget with what is runnable now:
//   the largest c in [0, 1000] with  sum over lanes of weight * min(demand, c) <= budget
// Weights are the lane's dynamic power from the board file, or better, the task's own as metered
// (TaskEnergy::dynamic over busy time). A wrong weight is an error the governor's feedback takes
// out.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.hpp"

namespace laird::power {

struct LaneDemand {
  std::int64_t weight_mw = 0;        // dynamic power when it runs all the time
  std::int32_t demand_permille = 0;  // of its time, if nothing held it back
};

inline constexpr std::size_t kGateLanesMax = 64;

// 1000 when everything fits. Lanes beyond kGateLanesMax are left out.
[[nodiscard]] std::int32_t gate_ceiling(std::span<const LaneDemand> lanes, std::int64_t budget_mw);

// The same for the governor's gate level, in thousandths of the dynamic power `full_mw`. Lanes do
// not matter at full level; a board whose dynamic power is unknown (0) has nothing to share by, and
// the level itself is the ceiling.
[[nodiscard]] std::int32_t ceiling_at_level(std::span<const LaneDemand> lanes, std::int64_t full_mw,
                                            std::int32_t level_permille);

// A lane's use as a reading shows it, 0 to 1: the use itself through a first-order lag.
struct SeenUse {
  double use = 0.0;
  double sum_ns = 0.0;  // its integral over the time that passed
};
// `use` held all the time since `seen` was true.
[[nodiscard]] SeenUse seen_after(double seen, double use, DurationNs passed, DurationNs lag);

}  // namespace laird::power
