// A new task begins from what an earlier run of the same task left.
#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

TaskSpec task_of(const std::string& name, const std::string& params) {
  TaskSpec spec = test::small_task(name, 10 * kMinute, 0.2);
  spec.params = params;
  return spec;
}

// A board on which "first" ran to its target.
FakeBoard board_with_a_past() {
  FakeBoard board(test::small_board("foresight"));
  board.submit(task_of("first", R"({"a": 1})"));
  board.run_for(5 * kMinute);
  TEST_ASSERT_TRUE(board.task("first")->outcome == Outcome::kSucceeded);
  return board;
}

}  // namespace

TEST(a_task_with_the_parameters_of_one_that_ended_recalls_it_and_says_so) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("second", R"({"a": 1})"));
  const Task* second = board.task("second");
  TEST_ASSERT_EQUAL_UINT32(board.task("first")->key, second->recalled);
  TEST_ASSERT_TRUE(second->forecast.reports() == 0);
  TEST_ASSERT_TRUE(second->forecast.loss_at(20'000.0).has_value());
  const auto said = explain(board.state, "second");
  TEST_ASSERT_TRUE(said.has_value());
  TEST_ASSERT_TRUE_MESSAGE(said->find("the earlier run 'first'") != std::string::npos,
                           said->c_str());
}

TEST(a_task_with_other_parameters_recalls_only_its_own_name) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("other", R"({"a": 2})"));
  TEST_ASSERT_EQUAL_UINT32(0, board.task("other")->recalled);
  const TaskKey first = board.task("first")->key;
  board.tell(Submitted{9, task_of("first", R"({"a": 3})"), true});
  const Task* again = board.task("first");
  TEST_ASSERT_TRUE(again->key != first);
  TEST_ASSERT_EQUAL_UINT32(first, again->recalled);
}

TEST(what_is_recalled_survives_a_restart) {
  FakeBoard board = board_with_a_past();
  board.submit(task_of("second", R"({"a": 1})"));
  board.run_for(2 * kSecond);
  const double before = board.task("second")->forecast.recalled_part(20'000.0);
  State back = test::read_back(board.state);
  TEST_ASSERT_EQUAL_UINT64(board.state.digest(), back.digest());
  const Task* second = back.find_named("second");
  TEST_ASSERT_EQUAL_DOUBLE(before, second->forecast.recalled_part(20'000.0));
  TEST_ASSERT_TRUE(second->recalled != 0);
}

TEST(a_submitter_is_told_what_earlier_tasks_say_against_the_new_one) {
  FakeBoard board = board_with_a_past();
  const auto answer_to = [&](const char* name, DurationNs deadline, double target,
                             const char* params) {
    TaskSpec spec = task_of(name, params);
    spec.deadline_after = deadline;
    spec.target_loss = target;
    board.tell(Submitted{50, spec});
    TEST_ASSERT_TRUE(board.answers.back().ok);
    return board.answers.back().text;
  };
  TEST_ASSERT_EQUAL_STRING("accepted", answer_to("good", kHour, 0.2, R"({"a": 1})").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "accepted; but its deadline is in 50 ms, and trainer 'fake' took at least 100 ms to start "
      "here",
      answer_to("short", 50 * kMillisecond, 0.2, R"({"a": 1})").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "accepted; but by the earlier run 'first' it reaches its target in time with less than 5%",
      answer_to("steep", 2 * kSecond, 0.001, R"({"a": 1})").c_str());
  // Nothing is known of this one.
  TEST_ASSERT_EQUAL_STRING("accepted", answer_to("new", 2 * kSecond, 0.001, R"({"b": 1})").c_str());
}
