// The demand as boards made it before deadlines and spare watts were told apart, kept to compare
// with: the share with which the tasks just meet their deadlines by the median of the forecast, a
// half of the lane for a task that nothing is known of, a tenth for one that will not do; urgency 1
// to 10 by slack; nothing for what would only end work sooner, and idle draw not counted.
#pragma once

#include "agent/core/step/fleet_need.hpp"

namespace laird::lab {

[[nodiscard]] consensus::Demand demand_before(const core::State& state,
                                              const core::Division& division);

}  // namespace laird::lab
