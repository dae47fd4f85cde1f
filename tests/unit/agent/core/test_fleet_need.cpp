// What a board asks of its fleet.
#include "agent/core/step/fleet_need.hpp"

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using consensus::Demand;
using consensus::kWhole;
using test::FakeBoard;

namespace {

constexpr std::int64_t kBudgetMw = 30'000;
constexpr std::int64_t kFloorMw = 2000;
constexpr std::int64_t kDividedMw = kBudgetMw - 2 * kFloorMw;
constexpr std::int64_t kIdleMw = 4000;
constexpr std::int64_t kGpuMw = 10'000;

CoreConfig member() {
  CoreConfig config = test::small_board("foresight");
  config.node = "n-0";
  config.fleet.budget.founding_epoch = 1;
  config.fleet.budget.founders = {"n-0", "n-1"};
  config.fleet.budget.members = {{"n-0", {0, 0, kFloorMw}}, {"n-1", {0, 0, kFloorMw}}};
  config.fleet.budget.total = {4000, 1'000'000, kBudgetMw};
  power::Board board;
  board.model.idle_mw = kIdleMw;
  board.model.gpu_dynamic_mw = kGpuMw;
  board.model.cpu_dynamic_mw = 5000;
  board.temperature_limit_mc = 90'000;
  config.meter = power::MeterConfig::for_board(board);
  config.power = PowerConfig::for_board(board);
  return config;
}

TaskSpec gpu_task(DurationNs deadline, double target = 0.05) {
  TaskSpec spec = test::small_task("one", deadline, target);
  spec.lane = LaneKind::kGpu;
  spec.planned_samples = 500'000;
  return spec;
}

consensus::Parts parts(std::int64_t mw) { return mw * kWhole / kDividedMw; }
std::int64_t with_headroom(std::int64_t mw) { return mw + mw / 32; }

}  // namespace

TEST(an_idle_board_asks_for_its_idle_draw_above_its_floor_and_nothing_else) {
  const FakeBoard board(member());
  const Demand d = demand_of(board.state, Resource::kPower);
  TEST_ASSERT_INT64_WITHIN(10, parts(with_headroom(kIdleMw) - kFloorMw), d.floor);
  TEST_ASSERT_EQUAL_INT64(d.floor, d.want);
  TEST_ASSERT_EQUAL_INT64(d.floor, d.demand);
  TEST_ASSERT_EQUAL_INT64(0, demand_of(board.state, Resource::kCpu).want);
  TEST_ASSERT_EQUAL_INT64(0, demand_of(board.state, Resource::kGpu).want);
}

TEST(a_busy_board_wants_all_that_the_lanes_with_tasks_can_draw) {
  FakeBoard board(member());
  board.submit(gpu_task(kHour));
  board.run_for(20 * kSecond);
  const Demand d = demand_of(board.state, Resource::kPower);
  const std::int64_t all = with_headroom(kIdleMw) + with_headroom(kGpuMw) - kFloorMw;
  TEST_ASSERT_INT64_WITHIN(10, parts(all), d.want);
  TEST_ASSERT_TRUE(d.cap > d.want);  // the cpu lane has no task
  TEST_ASSERT_TRUE(d.demand < d.want);
  // Its gate closes no further than a twentieth.
  const std::int64_t least = with_headroom(kIdleMw) + with_headroom(kGpuMw) / 20 - kFloorMw;
  TEST_ASSERT_INT64_WITHIN(parts(1), parts(least), d.floor);
  // By the same rule for the other resources: one whole gpu of one, one core of four.
  TEST_ASSERT_EQUAL_INT64(kWhole, demand_of(board.state, Resource::kGpu).want);
  TEST_ASSERT_EQUAL_INT64(kWhole / 4, demand_of(board.state, Resource::kCpu).want);
}

TEST(being_throttled_lowers_neither_the_measured_speed_nor_what_is_asked_for) {
  // Alone, so that no fleet holds either of them back.
  CoreConfig config = member();
  config.fleet = {};
  const auto asked = [](const FakeBoard& board) {
    const Division division{kDividedMw, kFloorMw};
    return consensus::demand_from(needs_of(board.state, Resource::kPower, division),
                                  limits_of(board.state, Resource::kPower, division));
  };
  FakeBoard free(config);
  FakeBoard held(config);
  for (FakeBoard* board : {&free, &held}) board->submit(gpu_task(3 * kMinute, 0.06));
  CapRequested cap;
  cap.cap_mw = kIdleMw + kGpuMw / 4;
  held.tell(cap);
  const Demand before = asked(held);
  for (int i = 0; i < 8; ++i) {
    for (FakeBoard* board : {&free, &held}) {
      for (int s = 0; s < 5; ++s) {
        board->run_for(kSecond);
        power::PowerReading reading;  // for the governor, which is blind otherwise
        reading.total_mw = board == &held ? *cap.cap_mw : kIdleMw + kGpuMw;
        board->tell(PowerSampled{reading});
      }
    }
    if (i == 0) continue;
    const Task& slow = *held.task("one");
    TEST_ASSERT_TRUE(held.state.lanes[0].gate.ceiling_ppm < kShareWholePpm / 2);
    TEST_ASSERT_TRUE(slow.samples < free.task("one")->samples / 2);
    TEST_ASSERT_DOUBLE_WITHIN(20.0, free.task("one")->rate, slow.rate);
    const Demand d = asked(held);
    TEST_ASSERT_TRUE(d.demand >= asked(free).demand);
    TEST_ASSERT_EQUAL_INT64(before.want, d.want);
  }
}

TEST(what_readings_teach_of_a_boards_power_replaces_its_file) {
  FakeBoard board(member());
  for (int i = 0; i < 300; ++i) {
    board.run_for(kSecond);
    power::PowerReading reading;
    reading.total_mw = 3000;  // it draws less than its file says
    board.tell(PowerSampled{reading});
  }
  const Demand d = demand_of(board.state, Resource::kPower);
  TEST_ASSERT_INT64_WITHIN(parts(50), parts(with_headroom(3000) - kFloorMw), d.want);
}

TEST(a_task_that_is_held_by_its_operator_asks_for_nothing) {
  FakeBoard board(member());
  board.submit(gpu_task(kHour));
  board.run_for(10 * kSecond);
  PauseRequested pause;
  pause.task = "one";
  board.tell(pause);
  board.run_for(5 * kSecond);
  const Demand d = demand_of(board.state, Resource::kPower);
  TEST_ASSERT_EQUAL_INT64(d.floor, d.want);
}
