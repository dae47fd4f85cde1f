// The task bundles of the LaiRA paper, with curves calibrated to what it says of their models.
//
// Source: Wang, Liu, Zhou, "CoRE-Learning with Look-Ahead and Immediate Resource Allocation":
// Tables 1 and 2 (deadline d_k, target epsilon_k, samples per unit of time N_k), the text on Figure
// 2, and the setting of Figure 4. The paper prints no curve. Ours are
//     ln loss(s) = ln l_1 - b_s ln(s / N_k) + noise
// from the loss l_1 after the first unit of time to epsilon_k after `need` units, where b_s drifts
// (a slow wave of up to kDrift) and reports are noisy. Needs are ours too, chosen so that what the
// text says of tasks holds: on the pure bundle 2, 5, 6 and 9 cannot be done, on the mixed one 2, 6
// and 7 (they fall like the others and level off above their targets); Round Robin can finish two
// and three tasks. Each seed moves every need by up to kNeedSpread either way.
// Symbols: one report per unit of time alone on the lane (B = N_k samples); times in units.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/simulator/curve_board.hpp"

namespace laird::lab {

struct Bundle {
  std::vector<SimulatedTask> tasks;
  std::vector<std::unique_ptr<std::vector<double>>> curves;  // those the tasks do not borrow
};

[[nodiscard]] Bundle pure_bundle(std::uint64_t seed);
[[nodiscard]] Bundle mixed_bundle(std::uint64_t seed);

// Figure 4: LSTMs with near, middle and far deadlines 2 : 6 : 2, the middle ones close together and
// a sixth of them with a target out of reach. Time grows with the tasks, so that about three
// quarters of the work fits.
[[nodiscard]] Bundle scale_bundle(std::size_t tasks, std::uint64_t seed);

}  // namespace laird::lab
