// The policy, the board's demand of the fleet, a bid, the status and the explanation all say the
// same of a task, at any moment of a board's life.
#include <algorithm>
#include <string>
#include <vector>

#include "agent/core/step/fleet_need.hpp"
#include "agent/core/step/step.hpp"
#include "agent/placement/bid.hpp"
#include "agent/placement/need.hpp"
#include "agent/policies/foresight.hpp"
#include "agent/view/status.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using core::Resource;
using placement::Need;
using placement::NeedBasis;
using placement::Pace;
using test::FakeBoard;

namespace {

__extension__ using Wide = __int128;

constexpr auto kPowerAt = static_cast<std::size_t>(Resource::kPower);
constexpr std::int64_t kBudgetMw = 40'000;
constexpr std::int64_t kCpuMw = 5'000;
constexpr std::int64_t kGpuMw = 10'000;

core::CoreConfig member() {
  core::CoreConfig config = test::small_board("foresight");
  config.node = "n-0";
  config.fleet.budget.founding_epoch = 1;
  config.fleet.budget.founders = {"n-0"};
  config.fleet.budget.members = {{"n-0", {0, 0, 0}}};
  config.fleet.budget.total[kPowerAt] = kBudgetMw;
  config.meter.gpu_weight = kGpuMw;
  config.meter.cpu_weight = kCpuMw;
  return config;
}

void submit_mixed(FakeBoard& board, test::Random& random) {
  for (int i = 0; i < 5; ++i) {
    core::TaskSpec spec = test::small_task(
        "t" + std::to_string(i), static_cast<DurationNs>(60 + random.below(240)) * kSecond,
        i == 4 ? 1e-9 : 0.02 + 0.02 * static_cast<double>(random.below(20)));
    spec.lane = i % 2 == 0 ? core::LaneKind::kCpu : core::LaneKind::kGpu;
    spec.planned_samples = random.below(2) == 0 ? 0 : 300'000;
    test::FakeTrainer trainer;
    trainer.loss_slope = 0.05 + 0.05 * static_cast<double>(random.below(10));
    board.submit(std::move(spec), trainer);
  }
}

double number(const json::Value& from, const char* group, const char* key) {
  const json::Value* inner = from.find(group);
  TEST_ASSERT_NOT_NULL(inner);
  TEST_ASSERT_NOT_NULL(inner->find(key));
  return inner->find(key)->as_double();
}

// As status, metrics, screens and lairctl get it.
void check_row(const agent::TaskRow& row, const Need& need) {
  TEST_ASSERT_TRUE(row.need.basis == need.basis);
  TEST_ASSERT_TRUE(row.need.probability == need.probability);
  TEST_ASSERT_TRUE(row.need.seconds.median == need.seconds.median);
  const json::Value shown = agent::task_json(row);
  const json::Value* said = shown.find("need");
  TEST_ASSERT_EQUAL(need.basis == NeedBasis::kForecast, said != nullptr);
  if (said == nullptr) return;
  TEST_ASSERT_TRUE(said->find("probability")->as_double() == need.probability);
  TEST_ASSERT_TRUE(said->find("reach")->as_double() == need.reach);
  TEST_ASSERT_TRUE(number(shown, "forecast", "probability") == need.probability);
  TEST_ASSERT_DOUBLE_WITHIN(0.001, need.seconds.low, number(*said, "seconds", "low"));
  TEST_ASSERT_DOUBLE_WITHIN(0.001, need.seconds.median, number(*said, "seconds", "median"));
  TEST_ASSERT_DOUBLE_WITHIN(0.001, need.seconds.high, number(*said, "seconds", "high"));
  TEST_ASSERT_DOUBLE_WITHIN(0.6, need.samples.median, number(*said, "samples", "median"));
}

void check_all(const FakeBoard& board) {
  const core::State& state = board.state;
  const auto& policy = dynamic_cast<const policies::Foresight&>(*state.policy);
  const std::vector<agent::TaskRow> rows = agent::task_rows(state, state.now);
  std::vector<consensus::TaskNeed> needs;
  double owed_cpu = 0.0;
  for (const core::Task& task : state.live) {
    if (task.outcome != core::Outcome::kNone) continue;
    const Need need = placement::need_of(task, task.rate, state.now);
    const Need planned = policy.need(task, state.now);
    TEST_ASSERT_TRUE(planned.probability == need.probability);
    TEST_ASSERT_TRUE(planned.seconds.high == need.seconds.high);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const agent::TaskRow& r) {
      return r.name == task.spec.name;
    });
    TEST_ASSERT_TRUE(row != rows.end());
    check_row(*row, need);
    const std::string why = *core::explain(state, task.spec.name);
    TEST_ASSERT_TRUE(why.find(placement::describe(need)) != std::string::npos);

    const Pace pace = placement::pace_of(need);
    const bool cpu = task.spec.lane == core::LaneKind::kCpu;
    const std::int64_t parts = consensus::kWhole * (cpu ? kCpuMw : kGpuMw) / kBudgetMw;
    const Wide work = static_cast<Wide>(parts) * pace.at_full_speed / kSecond;
    needs.push_back({static_cast<std::int64_t>(work), pace.left, pace.at_full_speed});
    if (cpu) owed_cpu += pace.lane_share();
  }
  const auto all = static_cast<consensus::Parts>(consensus::kWhole * (kCpuMw + kGpuMw) / kBudgetMw);
  const consensus::Demand expected = consensus::demand_from(needs, {0, all});
  TEST_ASSERT_TRUE(core::demand_of(state, Resource::kPower) == expected);

  const core::TaskSpec one_more = test::small_task("one-more", kMinute, 0.1);
  const placement::Bid bid = placement::bid_for(state, one_more, {}, state.now);
  const double lane_free = std::clamp(1.0 - owed_cpu, 0.02, 1.0);
  TEST_ASSERT_TRUE(one_more.lane == core::LaneKind::kCpu);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, lane_free, bid.free_share);
}

}  // namespace

TEST(everybody_says_the_same_of_a_task_at_any_moment) {
  int forecasts = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    test::Random random{seed};
    FakeBoard board(member());
    submit_mixed(board, random);
    for (int moment = 0; moment < 30; ++moment) {
      board.run_for(static_cast<DurationNs>(1000 + random.below(9000)) * kMillisecond);
      check_all(board);
      for (const core::Task& task : board.state.live) {
        forecasts += placement::has_forecast(task, task.rate) ? 1 : 0;
      }
    }
  }
  TEST_ASSERT_TRUE(forecasts > 300);
}
