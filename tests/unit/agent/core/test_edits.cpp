// Names that are taken over, tasks that are edited, tasks that are put away.
#include <string>

#include "agent/core/step/stepper.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;
using test::small_board;
using test::small_task;

namespace {

const Answer& told(FakeBoard& board, EventBody body) {
  board.tell(std::move(body));
  return board.answers.back();
}

void assert_says(const Answer& answer, bool ok, const char* words) {
  TEST_ASSERT_EQUAL_MESSAGE(ok, answer.ok, answer.text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(answer.text.find(words) != std::string::npos, answer.text.c_str());
}

// Of all that a spec had when journals were of format 5.
std::uint64_t digest_of_format_5(TaskSpec spec) {
  Archive ar = Archive::hasher();
  for (std::string* text : {&spec.name, &spec.trainer, &spec.params}) ar(*text);
  ar.bounded(spec.lane, LaneKind::kCpu);
  ar(spec.deadline_after, spec.deadline_wall, spec.target_loss, spec.memory_bytes);
  ar(spec.report_every, spec.planned_samples, spec.seed, spec.splittable, spec.weight_milli);
  ar(spec.promote);
  ar(spec.promotes);
  return ar.digest();
}

EditRequested later(const std::string& task, DurationNs by) {
  EditRequested out{1, task, 0, 0, 0, 0};
  out.deadline_add = by;
  return out;
}

}  // namespace

TEST(a_failed_task_is_tried_again_with_one_command) {
  FakeBoard board(small_board());
  FakeTrainer broken;
  broken.hang_on_start = true;
  board.config.timing.start_timeout = kSecond;
  board.config.timing.attempts_max = 1;
  board.restart();
  board.submit(small_task("a", kMinute, 0.5), broken);
  board.run_for(10 * kSecond);
  TEST_ASSERT_TRUE(board.task("a")->outcome == Outcome::kFailed);
  TEST_ASSERT_FALSE(board.task("a")->fresh);
  // The same name is taken; with `replace` it is given, to the same task and to a mended one.
  TaskSpec mended = small_task("a", kMinute, 0.6);
  assert_says(told(board, Submitted{2, mended}), false, "--replace");
  assert_says(told(board, Submitted{3, small_task("a", kMinute, 0.5), true}), true, "accepted");
  TEST_ASSERT_TRUE(board.task("a")->begins_afresh());
  assert_says(told(board, Submitted{4, mended, true}), true, "accepted");
  TEST_ASSERT_EQUAL_DOUBLE(0.6, board.task("a")->spec.target_loss);
}

TEST(a_task_that_is_replaced_ends_before_the_new_one_begins) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kMinute, 0.01));
  board.run_for(3 * kSecond);
  const TaskKey before = board.task("a")->key;
  TaskSpec next = small_task("a", kMinute, 0.4);
  assert_says(told(board, Submitted{2, next, true}), true, "accepted");
  TEST_ASSERT_TRUE(board.task("a")->key != before);
  bool old_was_there = true;
  board.after_step = [&](const Event&, const Effects&) {
    const Task* old = board.state.find_live(before);
    old_was_there = old != nullptr;
    const Task* now = board.task("a");
    const bool both = old_was_there && has_process(old->state) && has_process(now->state);
    TEST_ASSERT_FALSE(both);
  };
  board.run_for(10 * kSecond);
  TEST_ASSERT_FALSE(old_was_there);
  TEST_ASSERT_TRUE(board.state.find_any(before)->outcome == Outcome::kCancelled);
  TEST_ASSERT_TRUE(board.task("a")->attempt > 0);
}

TEST(the_same_submission_again_replaces_nothing_that_runs) {
  FakeBoard board(small_board());
  const TaskSpec spec = small_task("a", kMinute, 0.01);
  board.submit(spec);
  board.run_for(3 * kSecond);
  const TaskKey key = board.task("a")->key;
  assert_says(told(board, Submitted{2, spec, true}), true, "known already: running");
  TEST_ASSERT_EQUAL_UINT32(key, board.task("a")->key);
}

TEST(an_edit_moves_a_deadline_and_changes_a_weight) {
  FakeBoard board(small_board());
  const TaskSpec spec = small_task("a", kMinute, 0.01);
  board.submit(spec);
  board.run_for(kSecond);
  const TimeNs deadline = board.task("a")->deadline_at;
  assert_says(told(board, later("a", 2 * kHour)), true, "edited");
  TEST_ASSERT_EQUAL_INT64(deadline + 2 * kHour, board.task("a")->deadline_at);
  EditRequested from_now{1, "a", 0, 30 * kSecond, 0, 3000};
  assert_says(told(board, from_now), true, "edited");
  TEST_ASSERT_EQUAL_INT64(board.now() + 30 * kSecond, board.task("a")->deadline_at);
  TEST_ASSERT_EQUAL_UINT32(3000, board.task("a")->spec.weight_milli);
  // It is still the task that was submitted: a config that is read again says nothing new.
  assert_says(told(board, Submitted{5, spec}), true, "known already");
  const TimeNs edited = board.task("a")->deadline_at;
  board.restart();
  TEST_ASSERT_EQUAL_INT64(edited, board.task("a")->deadline_at);
  board.run_for(40 * kSecond);
  TEST_ASSERT_TRUE(board.task("a")->outcome == Outcome::kMissed);
  assert_says(told(board, later("a", kHour)), false, "ended already");
}

TEST(a_task_that_an_agent_of_journal_format_5_edited_is_known_by_its_file) {
  FakeBoard board(small_board());
  const TaskSpec spec = small_task("a", kHour, 0.01);
  board.submit(spec);
  board.run_for(3 * kSecond);
  const TaskKey key = board.task("a")->key;
  assert_says(told(board, later("a", kHour)), true, "edited");
  TEST_ASSERT_EQUAL_HEX64(digest_of_format_5(spec), board.task("a")->submitted_digest);
  board.restart();
  board.state.find_live(key)->submitted_digest = digest_of_format_5(spec);
  board.run_for(3 * kSecond);
  assert_says(told(board, Submitted{2, spec}), true, "known already: running");
  assert_says(told(board, Submitted{3, spec, true}), true, "known already: running");
  TEST_ASSERT_EQUAL_UINT32(key, board.task("a")->key);
  // What that agent did not know of is told apart.
  TaskSpec warm = spec;
  warm.every.warm_start = true;
  TEST_ASSERT_TRUE(Stepper::digest_of_spec(warm) != digest_of_format_5(spec));
  warm.every.window = *parse_weekly_window("22:00-06:00 daily");
  assert_says(told(board, Submitted{4, warm}), false, "--replace");
}

TEST(an_edit_that_cannot_be_is_refused_and_changes_nothing) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kMinute, 0.01));
  board.run_for(kSecond);
  const TimeNs deadline = board.task("a")->deadline_at;
  assert_says(told(board, later("a", -kHour)), false, "passed already");
  assert_says(told(board, later("a", 400 * kDay)), false, "more than a year");
  assert_says(told(board, later("nobody", kHour)), false, "nobody");
  assert_says(told(board, EditRequested{1, "a", 0, 0, 0, 5}), false, "weight");
  TEST_ASSERT_EQUAL_INT64(deadline, board.task("a")->deadline_at);
}

TEST(a_task_that_is_put_away_is_not_found_and_its_name_is_free) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kMinute, 0.5));
  assert_says(told(board, RemoveRequested{1, "a"}), false, "not over yet");
  board.run_for(20 * kSecond);
  assert_says(told(board, RemoveRequested{2, "a"}), true, "the name is free");
  TEST_ASSERT_NULL(board.task("a"));
  assert_says(told(board, RemoveRequested{3, "a"}), false, "no task 'a'");
  assert_says(told(board, Submitted{4, small_task("a", kMinute, 0.4)}), true, "accepted");
  // What the first one left in its folder is not its own.
  TEST_ASSERT_TRUE(board.task("a")->begins_afresh());
}
