#include "lab/watts/workload.hpp"

#include <algorithm>
#include <cstdio>

#include "base/require.hpp"
#include "lab/forecast/evaluate.hpp"
#include "lab/scheduling/bundles.hpp"

namespace laird::lab {
namespace {

SimulatedTask draw(const std::vector<Curve>& curves, double arrival, Random& random) {
  const Curve& curve = curves[random.below(curves.size())];
  const BundleDraw drawn = draw_task(curve, random);
  SimulatedTask task;
  task.losses = &curve.loss;
  task.arrival_units = arrival;
  task.deadline_units = kDeadlinePart * drawn.deadline_units;
  task.duration_units = drawn.duration_units;
  task.target_loss = drawn.target_loss;
  task.planned_length_known = true;
  task.forecast_constants = &untuned_on(curve.source);
  const double kind = random.unit();
  task.weight_milli = kind < 0.2 ? 4000 : kind < 0.4 ? 500 : core::kWeightMilliOne;
  return task;
}

// A random board on which no task's time runs then; a random one if there is none.
std::size_t free_board(const std::vector<WattsBoard>& boards, double at, Random& random) {
  std::vector<std::size_t> free;
  for (std::size_t b = 0; b < boards.size(); ++b) {
    const auto& tasks = boards[b].tasks;
    const bool taken = std::any_of(tasks.begin(), tasks.end(), [at](const SimulatedTask& t) {
      return t.arrival_units <= at && at < t.arrival_units + t.deadline_units;
    });
    if (!taken) free.push_back(b);
  }
  return free.empty() ? random.below(boards.size()) : free[random.below(free.size())];
}

}  // namespace

std::int64_t WattsWorkload::most_mw() const {
  std::int64_t sum = 0;
  for (const WattsBoard& board : boards) sum += board.most_mw();
  return sum;
}

WattsWorkload draw_watts(const std::vector<power::Board>& modules, const std::vector<Curve>& curves,
                         std::size_t boards, std::uint64_t seed) {
  LAIRD_REQUIRE(!modules.empty() && !curves.empty() && boards >= 2, "something to draw from");
  Random random(seed);
  WattsWorkload out;
  const std::size_t first = random.below(modules.size());
  for (std::size_t b = 0; b < boards; ++b) {
    WattsBoard board;
    char node[32];
    std::snprintf(node, sizeof node, "n-%03zu", b);
    board.node = node;
    board.model = modules[(first + b) % modules.size()].model;
    board.model.gpu_dynamic_mw += board.model.cpu_dynamic_mw;
    board.model.cpu_dynamic_mw = 0;
    board.floor_mw = board.model.idle_mw / 2;
    out.boards.push_back(std::move(board));
  }
  std::vector<double> next(boards / 2);  // when each stream's next task comes
  for (double& at : next) at = kFirstUntilS * random.unit();
  while (true) {
    const auto soonest = std::min_element(next.begin(), next.end());
    if (*soonest >= kArriveUntilS) break;
    SimulatedTask task = draw(curves, *soonest, random);
    *soonest += kNextPart * task.deadline_units;
    out.until_s = std::max(out.until_s, task.arrival_units + task.deadline_units);
    out.boards[free_board(out.boards, task.arrival_units, random)].tasks.push_back(task);
  }
  return out;
}

}  // namespace laird::lab
