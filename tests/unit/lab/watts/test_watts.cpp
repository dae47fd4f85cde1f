// Whole cores with their ledgers, governors and gates, and one power budget for all of them.
#include "lab/watts/fleet.hpp"

#include <algorithm>
#include <cmath>

#include "lab/watts/page.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

// A clean curve: the loss falls as a power of the samples.
std::vector<double> power_law() {
  std::vector<double> losses;
  for (int i = 1; i <= 300; ++i) losses.push_back(std::pow(static_cast<double>(i), -0.5));
  return losses;
}

WattsBoard board_of(std::size_t index, std::int64_t idle_mw, std::int64_t dynamic_mw,
                    std::int64_t floor_mw) {
  WattsBoard board;
  board.node = "n-" + std::string(1, static_cast<char>('a' + index));
  board.model.idle_mw = idle_mw;
  board.model.gpu_dynamic_mw = dynamic_mw;
  board.floor_mw = floor_mw;
  return board;
}

// Twelve boards of three sizes with 100 W, and nothing to do on any of them.
WattsWorkload twelve() {
  WattsWorkload out;
  for (std::size_t i = 0; i < 12; ++i) {
    out.boards.push_back(i < 6   ? board_of(i, 1900, 8000, 2000)
                         : i < 9 ? board_of(i, 4000, 14'000, 5000)
                                 : board_of(i, 4500, 25'000, 5500));
  }
  return out;
}
constexpr std::int64_t kBudgetMw = 100'000;

SimulatedTask task_on(const std::vector<double>& losses, double need_s, double deadline_s) {
  SimulatedTask task;
  task.losses = &losses;
  task.duration_units = 2.0 * need_s;
  task.target_loss = losses[losses.size() / 2];
  task.arrival_units = 20.0;
  task.deadline_units = deadline_s;
  return task;
}

}  // namespace

TEST(one_task_in_a_fleet_of_twelve_runs_as_if_it_were_alone) {
  const std::vector<double> losses = power_law();
  WattsWorkload fleet = twelve();
  fleet.boards[11].tasks = {task_on(losses, 60.0, 75.0)};
  fleet.until_s = 95.0;
  const WattsResult ours = run_watts(fleet, kBudgetMw, Strategy::kOurs, 1);
  TEST_ASSERT_TRUE(ours.successes == 1.0);
  TEST_ASSERT_TRUE(ours.over <= 0.0);
  // Within 20 ticks nobody holds it back any more.
  for (const WattsResult::Moment& m : ours.moments) {
    TEST_ASSERT_TRUE(!m.throttled || m.at_s <= 40.0);
  }
  // The rule of before left half of the budget undrawn and the task late.
  const WattsResult before = run_watts(fleet, kBudgetMw, Strategy::kBefore, 1);
  TEST_ASSERT_TRUE(before.successes == 0.0);
  TEST_ASSERT_TRUE(before.waste > 0.2);
}

TEST(no_watt_is_idle_while_a_task_is_throttled_and_the_budget_is_kept) {
  const std::vector<double> losses = power_law();
  WattsWorkload fleet = twelve();
  for (const std::size_t b : {1U, 4U, 7U, 9U, 10U, 11U}) {
    fleet.boards[b].tasks = {task_on(losses, 150.0, 400.0)};
  }
  fleet.until_s = 420.0;
  const std::int64_t tight_mw = 90'000;  // all six could use 143 W with the idle draw of the others
  const WattsResult ours = run_watts(fleet, tight_mw, Strategy::kOurs, 2);
  TEST_ASSERT_TRUE(ours.successes == 6.0);
  TEST_ASSERT_TRUE(ours.over < 0.02);
  TEST_ASSERT_TRUE(ours.waste < 0.035);
  int throttled = 0;
  int spare = 0;
  for (const WattsResult::Moment& m : ours.moments) {
    if (!m.throttled) continue;
    ++throttled;
    spare += m.drawn_w < 0.9 * 90.0 ? 1 : 0;
  }
  // Only when tasks have just come or ended, for a few ticks.
  TEST_ASSERT_TRUE(throttled > 20);
  TEST_ASSERT_TRUE(spare <= 5);
}

TEST(where_there_is_not_enough_for_all_the_heavier_task_makes_it) {
  const std::vector<double> losses = power_law();
  WattsWorkload fleet = twelve();
  fleet.boards[10].tasks = {task_on(losses, 100.0, 150.0)};
  fleet.boards[11].tasks = {task_on(losses, 100.0, 150.0)};
  fleet.until_s = 170.0;
  // The idle draw of all is 37 W; there is power for one of the two, not for both.
  for (const std::size_t heavy : {10U, 11U}) {
    for (WattsBoard& board : fleet.boards) {
      for (SimulatedTask& task : board.tasks) task.weight_milli = 1000;
    }
    fleet.boards[heavy].tasks[0].weight_milli = 20'000;
    const WattsResult ours = run_watts(fleet, 73'000, Strategy::kOurs, 3);
    TEST_ASSERT_TRUE(ours.successes >= 20.0);
  }
}

TEST(the_same_seed_gives_the_same_run_and_the_page_shows_it) {
  const std::vector<double> losses = power_law();
  WattsWorkload fleet = twelve();
  fleet.boards[3].tasks = {task_on(losses, 60.0, 75.0)};
  fleet.until_s = 95.0;
  const WattsResult one = run_watts(fleet, kBudgetMw, Strategy::kOurs, 5);
  const WattsResult again = run_watts(fleet, kBudgetMw, Strategy::kOurs, 5);
  TEST_ASSERT_TRUE(one.energy_j == again.energy_j && one.waste == again.waste);
  WattsTable table;
  table.boards = 12;
  table.budget = 0.5;
  table.runs = 1;
  table.scores = {{Strategy::kOurs, one.successes, 0.0, one.energy_j, one.waste, one.over, 0.0}};
  const std::string page = watts_page({table}, 100.0, {{Strategy::kOurs, one}});
  TEST_ASSERT_TRUE(page.find("12 boards, a budget of 50%") != std::string::npos);
  TEST_ASSERT_TRUE(page.find("<svg") != std::string::npos);
}

TEST(a_workload_keeps_about_half_of_the_boards_busy) {
  Curve curve;
  curve.name = "c";
  curve.loss = power_law();
  for (std::size_t i = 0; i < curve.loss.size(); ++i) {
    curve.samples.push_back(static_cast<double>(i + 1));
  }
  power::Board module;
  module.model.idle_mw = 2000;
  module.model.gpu_dynamic_mw = 3000;
  module.model.cpu_dynamic_mw = 1000;
  const std::vector<Curve> curves(12, curve);
  const WattsWorkload drawn = draw_watts({module}, curves, 10, 7);
  TEST_ASSERT_EQUAL_UINT64(10, drawn.boards.size());
  TEST_ASSERT_EQUAL_INT64(10 * 6000, drawn.most_mw());
  for (double at = 200.0; at < kArriveUntilS; at += 100.0) {
    std::size_t taken = 0;
    for (const WattsBoard& board : drawn.boards) {
      taken += std::any_of(board.tasks.begin(), board.tasks.end(), [at](const SimulatedTask& t) {
        return t.arrival_units <= at && at < t.arrival_units + t.deadline_units;
      });
    }
    TEST_ASSERT_TRUE(taken >= 5 && taken <= 10);
  }
}
