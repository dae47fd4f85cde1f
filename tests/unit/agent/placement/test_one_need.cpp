// The policy, the board's demand of the fleet, a bid, the status and the explanation all say the
// same of a task, at any moment of a board's life.
#include <algorithm>
#include <cmath>
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
using test::FakeBoard;

namespace {

constexpr auto kPowerAt = static_cast<std::size_t>(Resource::kPower);
constexpr std::int64_t kBudgetMw = 40'000;
constexpr std::int64_t kCpuMw = 5'000;
constexpr std::int64_t kGpuMw = 10'000;
constexpr core::Division kDivision{kBudgetMw, 0};
// Everything is asked for with a thirty-second more.
constexpr std::int64_t with_headroom(std::int64_t mw) { return mw + mw / 32; }

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
  const std::vector<consensus::TaskNeed> needs = core::needs_of(state, Resource::kPower, kDivision);
  std::size_t asked = 0;
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

    const bool cpu = task.spec.lane == core::LaneKind::kCpu;
    if (cpu) owed_cpu += placement::pace_of(need).lane_share();
    // What the board asks of the fleet for it: the same need, as a claim.
    const placement::Claim claim = placement::claim_of(need);
    const auto same = [&](const consensus::TaskNeed& n) {
      return n.busy == claim.busy && n.left == claim.left &&
             n.success_ppm == static_cast<std::uint32_t>(std::lround(claim.success * 1e6)) &&
             n.full == consensus::kWhole * with_headroom(cpu ? kCpuMw : kGpuMw) / kBudgetMw;
    };
    TEST_ASSERT_TRUE(std::any_of(needs.begin(), needs.end(), same));
    ++asked;
  }
  TEST_ASSERT_EQUAL_UINT64(asked, needs.size());
  const consensus::Demand expected =
      consensus::demand_from(needs, core::limits_of(state, Resource::kPower, kDivision));
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
