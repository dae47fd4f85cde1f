#include "agent/placement/earlier_run.hpp"

#include <algorithm>
#include <cmath>

namespace laird::placement {

std::optional<EarlierRun> earlier_run_of(const core::Task& task, const core::Task* earlier) {
  if (!task.forecast.recalls()) return {};
  const auto end = static_cast<double>(task.planned_samples);
  EarlierRun run;
  run.key = task.recalled;
  run.board = task.recalled_from;
  run.task = task.recalled_task;
  run.part = task.forecast.recalled_part(std::max(end, task.forecast.samples()));
  if (earlier != nullptr) run.task = earlier->spec.name;
  return run;
}

std::string describe(const EarlierRun& run) {
  const std::string key = "task " + std::to_string(run.key);
  std::string of = run.task.empty() ? key : "'" + run.task + "' (" + key + ")";
  if (!run.board.empty()) of = "'" + run.task + "' on " + run.board;
  return "the earlier run " + of + " has " + std::to_string(std::lround(100.0 * run.part)) +
         "% of its forecast";
}

}  // namespace laird::placement
