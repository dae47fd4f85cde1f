#include "agent/placement/bid.hpp"

#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using placement::Bid;
using placement::bid_for;
using test::FakeBoard;

namespace {

core::TaskSpec wanted(DurationNs deadline = 10 * kMinute) {
  core::TaskSpec spec = test::small_task("wanted", deadline, 0.05);
  spec.planned_samples = 100'000;
  return spec;
}

// A task of the same trainer and lane that ended well on this board.
core::Task done_before(double rate, std::uint64_t samples, const std::string& params = "{}") {
  core::Task task;
  task.spec = wanted();
  task.spec.name = "before";
  task.spec.params = params;
  task.state = core::TaskState::kEnded;
  task.outcome = core::Outcome::kSucceeded;
  task.busy_ns = kMinute;
  task.rate = rate;
  task.samples = samples;
  return task;
}

Bid bid_on(FakeBoard& board, const core::TaskSpec& spec) {
  return bid_for(board.state, spec, core::admits(board.state, spec), board.state.now);
}

}  // namespace

TEST(a_board_that_would_refuse_the_task_says_why) {
  FakeBoard board(test::small_board());
  core::TaskSpec spec = wanted();
  spec.trainer = "stranger";
  const Bid bid = bid_on(board, spec);
  TEST_ASSERT_FALSE(bid.admits.has_value());
  const json::Value out = placement::bid_json(bid);
  TEST_ASSERT_FALSE(out.find("admits")->as_bool());
  TEST_ASSERT_TRUE(out.find("why")->as_string().find("stranger") != std::string::npos);
  TEST_ASSERT_TRUE(out.find("probability") == nullptr);
}

TEST(without_history_a_board_promises_nothing) {
  FakeBoard board(test::small_board());
  const Bid bid = bid_on(board, wanted());
  TEST_ASSERT_TRUE(bid.admits.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(0.5, bid.probability);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, bid.free_share);
  const json::Value out = placement::bid_json(bid);
  TEST_ASSERT_TRUE(out.find("finish_in_s")->is(json::Kind::kNull));
  TEST_ASSERT_TRUE(out.find("energy_j")->is(json::Kind::kNull));
}

TEST(history_of_the_trainer_gives_time_energy_and_odds) {
  FakeBoard board(test::small_board());
  board.state.config.meter.gpu_weight = 10'000;
  board.state.config.meter.cpu_weight = 10'000;
  board.state.ended.push_back(done_before(1'000.0, 60'000));
  const Bid bid = bid_on(board, wanted(2 * kMinute));
  // 60,000 samples at 1,000 a second, alone on its lane: a minute of the two there are.
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 60.0, bid.finish_in_s);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 600.0, bid.energy_j);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.8, bid.probability);
  const Bid hurried = bid_on(board, wanted(30 * kSecond));
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.2, hurried.probability);
}

TEST(other_work_of_the_trainer_gives_its_speed_and_not_its_length) {
  FakeBoard board(test::small_board());
  board.state.ended.push_back(done_before(1'000.0, 60'000, R"({"epochs":9})"));
  const Bid bid = bid_on(board, wanted());
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1'000.0, bid.rate);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100'000.0, bid.samples);
}

TEST(a_run_that_began_with_an_earlier_ones_model_says_nothing_of_a_new_tasks_length) {
  FakeBoard board(test::small_board());
  core::Task warm = done_before(1'000.0, 500);
  warm.warm_from = 7;
  board.state.ended.push_back(warm);
  const Bid bid = bid_on(board, wanted());
  TEST_ASSERT_EQUAL_DOUBLE(1'000.0, bid.rate);
  TEST_ASSERT_EQUAL_DOUBLE(100'000.0, bid.samples);
}

TEST(the_median_of_the_history_counts_and_not_one_bad_day) {
  FakeBoard board(test::small_board());
  for (const double rate : {1'000.0, 1'010.0, 3.0}) {
    board.state.ended.push_back(done_before(rate, 60'000));
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1'000.0, bid_on(board, wanted()).rate);
}

TEST(a_busy_board_bids_less) {
  FakeBoard idle(test::small_board());
  FakeBoard busy(test::small_board());
  for (FakeBoard* board : {&idle, &busy})
    board->state.ended.push_back(done_before(1'000.0, 60'000));
  busy.submit(test::small_task("other", 5 * kMinute, 0.05));
  const Bid free = bid_on(idle, wanted(3 * kMinute));
  const Bid less = bid_on(busy, wanted(3 * kMinute));
  TEST_ASSERT_TRUE(less.free_share < free.free_share);
  TEST_ASSERT_TRUE(less.finish_in_s > free.finish_in_s);
  TEST_ASSERT_TRUE(less.probability < free.probability);
  TEST_ASSERT_TRUE(less.probability > 0.0);
}

TEST(a_task_that_weighs_more_is_owed_more_of_a_busy_lane) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("other", 5 * kMinute, 0.05));
  core::TaskSpec spec = wanted();
  const double alike = bid_on(board, spec).free_share;
  spec.weight_milli = 4000;
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0 - (1.0 - alike) / 4.0, bid_on(board, spec).free_share);
  spec.weight_milli = 100;  // the other one weighs more, and is owed no more than it needs
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, alike, bid_on(board, spec).free_share);
}
