// A task that reached its target leads to one task that promotes its model, whatever happens.
#include <string>

#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;
using test::small_board;
using test::small_task;

namespace {

TaskSpec promoted_task(const std::string& name) {
  TaskSpec spec = small_task(name, kMinute, 0.5);
  spec.promote.wanted = true;
  spec.promote.deadline_after = 10 * kMinute;
  spec.promote.memory_bytes = 100'000'000;
  spec.promote.limits = R"({"agreement_min":0.99})";
  return spec;
}

// The fake trainer of a promotion reports losses as any other; it never reaches -1.
void promote(FakeBoard& board, const std::string& name) {
  const Task* task = board.task(name);
  TEST_ASSERT_NOT_NULL(task);
  Promotion promotion;
  promotion.choice = "fp16";
  promotion.agreement = 0.9995;
  promotion.latency_us_p50 = 110;
  promotion.latency_us_p95 = 120;
  promotion.latency_us_p99 = 150;
  promotion.rows_per_s = 9000;
  promotion.bytes = 12345;
  board.tell(TrainerPromoted{task->process(), promotion});
}

int promotions(const FakeBoard& board) {
  int out = 0;
  for (const Task& task : board.state.live) out += task.spec.promotes.empty() ? 0 : 1;
  for (const Task& task : board.state.ended) out += task.spec.promotes.empty() ? 0 : 1;
  return out;
}

void assert_outcome(const Task* task, Outcome outcome) {
  TEST_ASSERT_NOT_NULL(task);
  TEST_ASSERT_EQUAL_STRING(std::string(name(outcome)).c_str(),
                           std::string(name(task->outcome)).c_str());
}

}  // namespace

TEST(a_success_makes_a_promotion_with_its_own_limits) {
  FakeBoard board(small_board());
  board.submit(promoted_task("night"));
  board.run_for(20 * kSecond);
  assert_outcome(board.task("night"), Outcome::kSucceeded);
  TEST_ASSERT_EQUAL_INT(1, board.count("export-model"));
  const Task* child = board.task("night-promote");
  TEST_ASSERT_NOT_NULL(child);
  TEST_ASSERT_EQUAL_STRING("laird-promote", child->spec.trainer.c_str());
  TEST_ASSERT_EQUAL_STRING("night", child->spec.promotes.c_str());
  TEST_ASSERT_EQUAL_STRING("night", child->spec.folder().c_str());
  TEST_ASSERT_TRUE(child->spec.lane == LaneKind::kGpu);
  TEST_ASSERT_EQUAL_INT64(10 * kMinute, child->deadline_at - child->accepted_at);
  TEST_ASSERT_EQUAL_INT64(100'000'000, child->spec.memory_bytes);
  const std::string samples = std::to_string(board.task("night")->samples);
  TEST_ASSERT_EQUAL_STRING(
      ("{\"samples\":" + samples + ",\"limits\":{\"agreement_min\":0.99}}").c_str(),
      child->spec.params.c_str());
  promote(board, "night-promote");
  board.run_for(20 * kSecond);
  child = board.task("night-promote");
  assert_outcome(child, Outcome::kSucceeded);
  TEST_ASSERT_EQUAL_STRING("fp16", child->promotion.choice.c_str());
  TEST_ASSERT_TRUE(child->reason.find("agreement 0.99950") != std::string::npos);
  TEST_ASSERT_EQUAL_INT(1, promotions(board));
}

TEST(a_board_without_a_gpu_promotes_on_its_cpu) {
  CoreConfig config = small_board();
  std::erase_if(config.lanes, [](const LaneConfig& lane) { return lane.kind == LaneKind::kGpu; });
  FakeBoard board(config);
  board.submit(promoted_task("night"));
  board.run_for(20 * kSecond);
  TEST_ASSERT_NOT_NULL(board.task("night-promote"));
  TEST_ASSERT_TRUE(board.task("night-promote")->spec.lane == LaneKind::kCpu);
}

TEST(nothing_is_promoted_of_a_task_that_failed_its_target) {
  FakeBoard board(small_board());
  TaskSpec hard = promoted_task("hard");
  hard.target_loss = 0.001;
  hard.deadline_after = 5 * kSecond;
  board.submit(hard);
  board.run_for(20 * kSecond);
  assert_outcome(board.task("hard"), Outcome::kMissed);
  TEST_ASSERT_EQUAL_INT(0, promotions(board));
  TEST_ASSERT_EQUAL_INT(0, board.count("export-model"));
}

// At every step of the way, the agent dies; there is one promotion, and it ends.
TEST(deaths_of_the_agent_make_neither_two_promotions_nor_none) {
  for (int steps = 1; steps < 400; steps += 7) {
    FakeBoard board(small_board());
    board.submit(promoted_task("night"));
    int left = steps;
    bool died = false;
    for (int i = 0; i < 200 && promotions(board) == 0; ++i) {
      board.run_for(100 * kMillisecond);
      if (!died && --left == 0) {
        died = true;
        board.restart();
      }
    }
    board.restart();
    board.run_for(kSecond);
    TEST_ASSERT_EQUAL_INT(1, promotions(board));
    promote(board, "night-promote");
    board.restart();
    board.run_for(30 * kSecond);
    TEST_ASSERT_EQUAL_INT(1, promotions(board));
    assert_outcome(board.task("night-promote"), Outcome::kSucceeded);
  }
}

TEST(cancelling_the_parent_cancels_its_promotion) {
  FakeBoard board(small_board());
  board.submit(promoted_task("night"));
  board.run_for(20 * kSecond);
  board.tell(CancelRequested{7, "night"});
  board.run_for(20 * kSecond);
  assert_outcome(board.task("night-promote"), Outcome::kCancelled);
  assert_outcome(board.task("night"), Outcome::kSucceeded);
  TEST_ASSERT_TRUE(board.answers.back().ok);
}

TEST(a_trainer_that_is_no_promotion_does_not_promote) {
  FakeBoard board(small_board());
  board.submit(small_task("plain", kMinute, 0.01));
  board.run_for(2 * kSecond);
  promote(board, "plain");
  TEST_ASSERT_EQUAL_UINT32(1, board.task("plain")->crashes);
  TEST_ASSERT_EQUAL_UINT64(1, board.state.counters.breaches);
}

TEST(names_of_promotions_are_kept_for_them) {
  FakeBoard board(small_board());
  const auto refused = [&](TaskSpec spec, const char* why) {
    board.submit(std::move(spec));
    TEST_ASSERT_FALSE(board.answers.back().ok);
    TEST_ASSERT_TRUE_MESSAGE(board.answers.back().text.find(why) != std::string::npos,
                             board.answers.back().text.c_str());
  };
  board.submit(promoted_task("night"));
  refused(small_task("night-promote", kMinute, 0.1), "will be the promotion of 'night'");
  refused(promoted_task("a-name-of-twenty-five-byt"), "at most 24");
  TaskSpec greedy = promoted_task("greedy");
  greedy.promote.memory_bytes = 5'000'000'000;
  refused(greedy, "lower \"memory\" under \"promote\"");
  TaskSpec direct = small_task("direct", kMinute, 0.1);
  direct.trainer = "laird-promote";
  board.config.trainers.push_back("laird-promote");
  board.restart();
  refused(direct, "give that task a \"promote\" section");
}
