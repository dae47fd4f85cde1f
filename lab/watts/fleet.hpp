// One workload under one way to divide the power budget, in virtual time.
//
// Every board is the unchanged core with its governor and gate (lab/simulator/curve_board.hpp). It
// reads its modelled power every second. Boards tick once a second, each at its own moment.
// - ours: the core's own ledger; its messages take 10 to 150 ms, and one in fifty is lost.
// - before: the same ledger beside the core, with the demand of lab/watts/before.hpp.
// - central: caps from one place every second, by the same demands as ours and no messages.
// - oracle: the same with what the tasks really need.
// - equal, size: every board has the same cap, or one in proportion to what it can draw.
#pragma once

#include <string_view>
#include <vector>

#include "lab/watts/workload.hpp"

namespace laird::lab {

enum class Strategy : std::uint8_t { kEqual, kSize, kBefore, kOurs, kCentral, kOracle };
inline constexpr std::size_t kStrategies = 6;
[[nodiscard]] std::string_view name(Strategy strategy);

// Power is averaged over this long before it is held against the budget: a gate works in pieces.
inline constexpr double kWattsWindowS = 5.0;

struct WattsResult {
  double successes = 0.0;  // by weight
  double tasks = 0.0;      // all that came, by weight
  double energy_j = 0.0;   // of the fleet, to the last deadline
  double waste = 0.0;      // of budget times time: not drawn while some task was throttled
  double over = 0.0;       // the most that was drawn above the budget, of the budget
  struct Moment {
    double at_s = 0.0;
    double drawn_w = 0.0;
    bool throttled = false;
  };
  std::vector<Moment> moments;  // each window
};

[[nodiscard]] WattsResult run_watts(const WattsWorkload& workload, std::int64_t budget_mw,
                                    Strategy strategy, std::uint64_t seed);

}  // namespace laird::lab
