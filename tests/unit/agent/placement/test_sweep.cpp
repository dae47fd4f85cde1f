#include "agent/placement/sweep.hpp"

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;
using laird::test::FakeBoard;
using laird::test::FakeTrainer;

namespace {

core::CoreConfig board_of_two() {
  core::CoreConfig config;
  config.node = "n-1";
  config.trainers = {"mlp"};
  config.lanes = {{"cpu0", core::LaneKind::kCpu, 1000}, {"cpu1", core::LaneKind::kCpu, 1000}};
  config.memory_bytes = 1'000'000'000;
  config.policy = "round-robin";
  return config;
}

core::TaskSpec member(const std::string& name, std::uint32_t stop_permille = 200) {
  core::TaskSpec spec;
  spec.name = name;
  spec.trainer = "mlp";
  spec.deadline_after = 10 * kMinute;
  spec.target_loss = 0.001;
  spec.memory_bytes = 1'000'000;
  spec.report_every = 500;
  spec.sweep = "rates";
  spec.sweep_stop_permille = stop_permille;
  return spec;
}

FakeTrainer learner(double slope, double start = 1.0) {
  FakeTrainer out;
  out.loss_slope = slope;
  out.loss_start = start;
  return out;
}

}  // namespace

TEST(a_member_that_is_left_behind_ends_early_and_says_why) {
  FakeBoard board(board_of_two());
  board.submit(member("rates-1"), learner(0.5));
  board.submit(member("rates-2"), learner(0.01));
  board.run_for(6 * kMinute);
  const core::Task* slow = board.task("rates-2");
  TEST_ASSERT_TRUE(slow->outcome == core::Outcome::kCancelled);
  TEST_ASSERT_TRUE(slow->reason.find("stopped early in the sweep 'rates': rates-1 has shown") == 0);
  TEST_ASSERT_TRUE(slow->reason.find("the sweep's limit is 20.0%") != std::string::npos);
  TEST_ASSERT_TRUE(board.task("rates-1")->outcome == core::Outcome::kNone);
}

TEST(members_that_may_still_win_go_on) {
  FakeBoard board(board_of_two());
  board.submit(member("rates-1"), learner(0.30));
  board.submit(member("rates-2"), learner(0.29));
  board.run_for(3 * kMinute);
  TEST_ASSERT_TRUE(board.task("rates-1")->outcome == core::Outcome::kNone);
  TEST_ASSERT_TRUE(board.task("rates-2")->outcome == core::Outcome::kNone);
}

TEST(a_member_that_reaches_its_target_is_not_ended_for_being_second) {
  FakeBoard board(board_of_two());
  core::TaskSpec easy = member("rates-2");
  easy.target_loss = 0.5;
  board.submit(member("rates-1"), learner(0.8));
  board.submit(easy, learner(0.2));
  board.run_for(8 * kMinute);
  TEST_ASSERT_TRUE(board.task("rates-2")->outcome == core::Outcome::kSucceeded);
}

TEST(nobody_ends_early_without_a_sweep_or_with_a_limit_of_nothing) {
  FakeBoard board(board_of_two());
  core::TaskSpec alone = member("alone");
  alone.sweep.clear();
  board.submit(member("rates-1", 0), learner(0.01));
  board.submit(member("rates-2", 0), learner(0.5));
  board.submit(alone, learner(0.01));
  board.run_for(6 * kMinute);
  TEST_ASSERT_TRUE(board.task("rates-1")->outcome == core::Outcome::kNone);
  TEST_ASSERT_TRUE(board.task("alone")->outcome == core::Outcome::kNone);
}

TEST(it_is_kept_over_a_restart) {
  FakeBoard board(board_of_two());
  board.submit(member("rates-1"), learner(0.5));
  board.run_for(10 * kSecond);
  board.restart();
  TEST_ASSERT_EQUAL_STRING("rates", board.task("rates-1")->spec.sweep.c_str());
  TEST_ASSERT_EQUAL_UINT32(200, board.task("rates-1")->spec.sweep_stop_permille);
}
