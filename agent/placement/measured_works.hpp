// What a board has learned of the works it was given: how fast it does each, and how many samples
// its target took. This is what boards tell each other, so that a task's time can be told on a
// board that never ran it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/core/state/state.hpp"

namespace laird::placement {

// A work is a trainer with its parameters on one kind of lane. Two tasks of one work run at one
// speed on one board, whatever their names, targets and deadlines are.
[[nodiscard]] std::string work_of(const core::TaskSpec& spec);  // 16 hexadecimal digits

struct MeasuredWork {
  std::string trainer;
  std::string work;
  core::LaneKind lane = core::LaneKind::kCpu;
  double samples_per_s = 0.0;  // of the whole lane; the median of its runs
  double samples = 0.0;        // until the target of the last run that reached it; 0: none did
  double target_loss = 0.0;    // of that run
  std::uint32_t runs = 0;
};

// How many a board tells of: the ones that it ran last.
inline constexpr std::size_t kMeasuredWorksMax = 32;

// The works of the tasks that ended, the last one first. Promotions are none, and of runs that
// began with an earlier run's model only the speed counts.
[[nodiscard]] std::vector<MeasuredWork> measured_works(const core::State& state);

}  // namespace laird::placement
