#include "agent/placement/fleet/speeds.hpp"

#include "tests/harness/unit.hpp"
#include "tests/unit/agent/placement/fleet/sample_fleet.hpp"

using namespace laird;
using namespace laird::placement;
using test::gpu_task;
using test::three_modules;

namespace {

WorkFact measured(const std::string& work, double rate, double samples = 0.0) {
  return {"mlp", work, true, rate, samples, 0.0};
}

}  // namespace

TEST(with_nothing_measured_the_hardware_puts_modules_into_their_order) {
  const FleetFacts facts = three_modules();
  const Speeds speeds(facts);
  const TaskFact task = gpu_task("a");
  const double nano = speeds.of(task, 0).speed;
  const double xavier = speeds.of(task, 1).speed;
  const double orin = speeds.of(task, 2).speed;
  TEST_ASSERT_TRUE(nano < xavier && xavier < orin);
  TEST_ASSERT_DOUBLE_WITHIN(0.05, 1.70, xavier / nano);
  TEST_ASSERT_DOUBLE_WITHIN(0.05, 2.38, orin / nano);
  TEST_ASSERT_FALSE(speeds.of(task, 0).is_absolute());
}

TEST(what_a_board_has_measured_itself_is_believed_against_its_hardware) {
  FleetFacts facts = three_modules();
  facts.boards[0].works = {measured("work-a", 90.0)};
  facts.boards[2].works = {measured("work-a", 30.0)};
  const Speeds speeds(facts);
  const SpeedGuess nano = speeds.of(gpu_task("a"), 0);
  TEST_ASSERT_TRUE(nano.basis == SpeedBasis::kMeasured);
  TEST_ASSERT_EQUAL_DOUBLE(90.0, nano.speed);
  TEST_ASSERT_EQUAL_DOUBLE(30.0, speeds.of(gpu_task("a"), 2).speed);
}

TEST(a_board_of_the_same_module_speaks_before_one_of_another) {
  FleetFacts facts = three_modules();
  facts.boards.push_back(facts.boards[0]);
  facts.boards[3].name = "n-4";
  facts.boards[0].works = {measured("work-a", 10.0)};
  facts.boards[2].works = {measured("work-a", 1000.0)};
  const SpeedGuess twin = Speeds(facts).of(gpu_task("a"), 3);
  TEST_ASSERT_TRUE(twin.basis == SpeedBasis::kSameModule);
  TEST_ASSERT_EQUAL_DOUBLE(10.0, twin.speed);
}

TEST(common_works_tell_the_ratio_of_two_boards_before_their_hardware_does) {
  FleetFacts facts = three_modules();
  facts.boards[0].works = {measured("other", 10.0)};
  facts.boards[2].works = {measured("other", 70.0), measured("work-a", 21.0)};
  const Speeds speeds(facts);
  const SpeedGuess nano = speeds.of(gpu_task("a"), 0);
  TEST_ASSERT_TRUE(nano.basis == SpeedBasis::kOtherBoard);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 3.0, nano.speed);
  // The Xavier has no work in common with the Orin NX: hardware.
  const double xavier = speeds.of(gpu_task("a"), 1).speed;
  TEST_ASSERT_DOUBLE_WITHIN(0.5, 21.0 * 1.70 / 2.38, xavier);
}

TEST(other_works_of_the_trainer_give_a_speed_in_the_order_of_the_hardware) {
  FleetFacts facts = three_modules();
  // A light work on the Nano and a heavy one on the Orin NX must not turn the two around.
  facts.boards[0].works = {measured("light", 900.0)};
  facts.boards[2].works = {measured("heavy", 30.0)};
  const Speeds speeds(facts);
  TEST_ASSERT_TRUE(speeds.of(gpu_task("a"), 0).basis == SpeedBasis::kOtherWork);
  TEST_ASSERT_TRUE(speeds.of(gpu_task("a"), 0).speed < speeds.of(gpu_task("a"), 2).speed);
}

TEST(a_board_of_unknown_hardware_counts_as_the_slowest_that_is_known) {
  FleetFacts facts = three_modules();
  facts.boards[1].hardware = {};
  const Speeds speeds(facts);
  TEST_ASSERT_EQUAL_DOUBLE(speeds.of(gpu_task("a"), 0).speed, speeds.of(gpu_task("a"), 1).speed);
}

TEST(what_runs_now_counts_as_measured) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a");
  task.board = "n-2";
  task.rate = 44.0;
  facts.tasks.push_back(task);
  const SpeedGuess there = Speeds(facts).of(task, 1);
  TEST_ASSERT_TRUE(there.basis == SpeedBasis::kMeasured);
  TEST_ASSERT_EQUAL_DOUBLE(44.0, there.speed);
}

TEST(samples_count_only_if_they_led_to_the_same_target) {
  FleetFacts facts = three_modules();
  facts.boards[0].works = {measured("work-a", 10.0, 5000.0)};
  TEST_ASSERT_EQUAL_DOUBLE(5000.0, Speeds(facts).samples_of(gpu_task("a")));
  facts.boards[0].works[0].target_loss = 0.7;
  TEST_ASSERT_EQUAL_DOUBLE(0.0, Speeds(facts).samples_of(gpu_task("a")));
}
