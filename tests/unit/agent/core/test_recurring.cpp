// Recurring tasks: a run a window, inside it, over crashes and clocks; and their schedule in an
// operator's hands.
#include <string>
#include <vector>

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

// FakeBoard begins at 1970-01-12 13:46:40 UTC, a Monday.
constexpr TimeNs kMonday = 11 * kDay;

TaskSpec nightly(const char* every = "22:00-06:00 daily", double target = 0.01) {
  TaskSpec out = small_task("night", 0, target);
  out.every.window = *parse_weekly_window(every);
  return out;
}

// Slow enough that no window of a test sees its end.
FakeTrainer slow() {
  FakeTrainer out;
  out.rate = 2.0;
  return out;
}

void run_until(FakeBoard& board, TimeNs at) { board.run_for(at - board.now()); }

const Recurring& schedule(FakeBoard& board) {
  const Recurring* r = board.state.find_recurring("night");
  TEST_ASSERT_NOT_NULL(r);
  return *r;
}

const Answer& told(FakeBoard& board, EventBody body) {
  board.tell(std::move(body));
  return board.answers.back();
}

void assert_says(const Answer& answer, bool ok, const char* words) {
  TEST_ASSERT_EQUAL_MESSAGE(ok, answer.ok, answer.text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(answer.text.find(words) != std::string::npos, answer.text.c_str());
}

bool has_run(FakeBoard& board) {
  for (const Task& task : board.state.live) {
    if (task.spec.run_of == "night") return true;
  }
  return false;
}

// Notices of the schedule so far.
std::vector<std::string> notices(const FakeBoard& board) {
  std::vector<std::string> out;
  for (const Notice& notice : board.notices) {
    if (notice.kind == NoticeKind::kSchedule) out.push_back(notice.text);
  }
  return out;
}

}  // namespace

TEST(a_nightly_task_runs_in_each_night_and_never_by_day) {
  FakeBoard board(small_board());
  int outside = 0;
  board.after_step = [&](const Event& event, const Effects&) {
    const DurationNs of_day = event.at % kDay;
    // At the end of a window its trainer has a little time to leave.
    const bool by_day = of_day >= 6 * kHour + kMinute && of_day < 22 * kHour;
    if (by_day && has_run(board)) ++outside;
  };
  board.submit(nightly(), slow());
  assert_says(board.answers.back(), true, "its first run begins Mon 1970-01-12 22:00");
  for (int day = 0; day < 7; ++day) {
    run_until(board, kMonday + day * kDay + 21 * kHour);
    TEST_ASSERT_EQUAL_UINT64(static_cast<std::uint64_t>(day), schedule(board).runs);
    TEST_ASSERT_FALSE(has_run(board));
    run_until(board, kMonday + day * kDay + 23 * kHour);
    TEST_ASSERT_TRUE(has_run(board));
    // Killed in the middle of the night, and back an hour later.
    if (day % 2 == 1) {
      board.skip(kHour);
      board.restart();
      TEST_ASSERT_EQUAL_UINT64(static_cast<std::uint64_t>(day + 1), schedule(board).runs);
    }
  }
  TEST_ASSERT_EQUAL_INT(0, outside);
  TEST_ASSERT_EQUAL_UINT64(7, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
  const Task* third = board.task("night-3");
  TEST_ASSERT_NOT_NULL(third);
  TEST_ASSERT_TRUE(third->outcome == Outcome::kMissed);
  TEST_ASSERT_EQUAL_INT64(kMonday + 3 * kDay + 6 * kHour, third->deadline_at);
  TEST_ASSERT_EQUAL_STRING("night", third->spec.folder().c_str());
  // What stands in the folder is the run's before it.
  TEST_ASSERT_TRUE(third->fresh);
}

TEST(a_run_that_is_done_early_is_not_done_again_in_the_same_window) {
  FakeBoard board(small_board());
  board.submit(nightly("22:00-06:00 daily", 0.5));
  run_until(board, kMonday + 23 * kHour);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kSucceeded);
  run_until(board, kMonday + kDay + 12 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_TRUE(board.task("night-2")->outcome == Outcome::kSucceeded);
  // The curve of the night before speaks in the next one's forecast.
  TEST_ASSERT_EQUAL_UINT32(board.task("night-1")->key, board.task("night-2")->recalled);
}

TEST(windows_that_pass_while_the_agent_is_down_are_told) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 20 * kHour);
  board.skip(3 * kDay);  // to Thursday 20:00: three nights are gone
  board.restart();
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(3, schedule(board).missed);
  TEST_ASSERT_EQUAL_UINT64(1, notices(board).size());
  TEST_ASSERT_EQUAL_STRING(
      "night: missed 3 windows, the last that of Wed 1970-01-14 22:00: the agent was not running, "
      "or the clock was set",
      notices(board)[0].c_str());
  // Back in the middle of a window, what is left of it is used.
  board.skip(5 * kHour);
  board.restart();
  TEST_ASSERT_TRUE(has_run(board));
  TEST_ASSERT_EQUAL_UINT64(3, schedule(board).missed);
  const Result<std::string> words = explain(board.state, "night");
  TEST_ASSERT_EQUAL_STRING(
      "scheduled: every 22:00-06:00 daily; next run Fri 1970-01-16 22:00; runs: 1, the last "
      "'night-1': starting; missed windows: 3, the last Wed 1970-01-14 22:00: the agent was not "
      "running, or the clock was set",
      words->c_str());
}

TEST(a_window_whose_run_cannot_begin_is_missed_with_the_reason) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  board.tell(DrainRequested{9, true});
  run_until(board, kMonday + kDay);
  TEST_ASSERT_FALSE(has_run(board));
  TEST_ASSERT_TRUE(schedule(board).reason.find("draining") != std::string::npos);
  run_until(board, kMonday + kDay + 7 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).missed);
  TEST_ASSERT_TRUE(notices(board).at(0).find("draining") != std::string::npos);
  // The obstacle goes in the middle of the next one.
  run_until(board, kMonday + 2 * kDay);
  board.tell(DrainRequested{10, false});
  TEST_ASSERT_TRUE(has_run(board));
  TEST_ASSERT_EQUAL_STRING("", schedule(board).reason.c_str());
}

TEST(a_window_that_passed_while_the_agent_was_down_waited_for_nothing) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  board.tell(DrainRequested{9, true});
  run_until(board, kMonday + 21 * kHour);
  board.skip(26 * kHour);  // to Tuesday 23:00
  board.restart();
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).missed);
  TEST_ASSERT_TRUE(notices(board).at(0).find("the agent was not running") != std::string::npos);
  // It is the night it came back in that waits for the board.
  TEST_ASSERT_TRUE(schedule(board).reason.find("draining") != std::string::npos);
  EditRequested edit{10, "night", 0, 0, 0, 0, *parse_weekly_window("01:00-05:00 daily")};
  assert_says(told(board, edit), true, "edited");
  TEST_ASSERT_EQUAL_STRING("", schedule(board).reason.c_str());
}

TEST(one_run_at_a_time) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 23 * kHour);
  EditRequested longer{1, "night-1", 0, 0, 0, 0, {}};
  longer.deadline_add = 20 * kHour;  // into the next night, at 02:00
  assert_says(told(board, longer), true, "edited");
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  TEST_ASSERT_EQUAL_STRING("'night-1' is not over yet", schedule(board).reason.c_str());
  run_until(board, kMonday + 2 * kDay + 3 * kHour);
  TEST_ASSERT_EQUAL_UINT64(2, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
}

TEST(a_deadline_ends_a_run_before_its_window_does) {
  FakeBoard board(small_board());
  TaskSpec spec = nightly();
  spec.deadline_after = 2 * kHour;
  board.submit(spec, slow());
  run_until(board, kMonday + kDay + kHour);
  TEST_ASSERT_EQUAL_INT64(kMonday + kDay, board.task("night-1")->deadline_at);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kMissed);
}

TEST(the_last_model_is_what_a_warm_run_begins_with) {
  FakeBoard board(small_board());
  TaskSpec spec = nightly("22:00-06:00 daily", 0.9);
  spec.every.warm_start = true;
  board.submit(spec);
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT32(0, board.task("night-1")->warm_from);
  TEST_ASSERT_TRUE(board.task("night-1")->checkpoint_samples > 0);
  TEST_ASSERT_EQUAL_UINT32(board.task("night-1")->key, board.task("night-2")->warm_from);
  // A night without a run leaves the model before it.
  assert_says(told(board, CancelRequested{5, "night-2"}), false, "ended");
  run_until(board, kMonday + 2 * kDay + 21 * kHour);
  board.config.memory_bytes = 1;
  board.restart();
  run_until(board, kMonday + 3 * kDay + 12 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).missed);
  // And so does a run that left no checkpoint: its trainer never got ready.
  board.config.memory_bytes = 1'000'000'000;
  board.config.timing.start_timeout = kMillisecond;
  board.restart();
  run_until(board, kMonday + 4 * kDay + 12 * kHour);
  TEST_ASSERT_TRUE(board.task("night-3")->outcome == Outcome::kFailed);
  TEST_ASSERT_EQUAL_UINT64(0, board.task("night-3")->checkpoint_samples);
  board.config.timing.start_timeout = kMinute;
  board.restart();
  run_until(board, kMonday + 4 * kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT32(board.task("night-2")->key, board.task("night-4")->warm_from);
}

TEST(a_clock_that_is_set_back_a_little_repeats_no_window) {
  FakeBoard board(small_board());
  board.submit(nightly("22:00-06:00 daily", 0.9));
  run_until(board, kMonday + 22 * kHour + 5 * kMinute);
  board.set_clock(-30 * kMinute);  // it is 21:35 again
  board.run_for(2 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(2, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
}

TEST(a_clock_that_was_wrong_for_a_moment_changes_nothing) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 23 * kHour);
  // A board without a battery: it begins on an old day and hears the time a minute later.
  board.clock_off = -5 * kDay;
  board.restart();
  board.run_for(kMinute);
  TEST_ASSERT_TRUE(has_run(board));
  board.set_clock(0);
  board.run_for(kMinute);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kNone);
}

TEST(a_clock_that_was_in_the_future_is_believed_again_after_a_while) {
  FakeBoard board(small_board());
  board.submit(nightly("22:00-06:00 daily", 0.9));
  run_until(board, kMonday + 20 * kHour);
  board.set_clock(4000 * kDay);  // in 1980
  board.run_for(kMinute);
  TEST_ASSERT_TRUE(schedule(board).missed <= static_cast<std::uint64_t>(kMissedDaysMax));
  const std::uint64_t missed = schedule(board).missed;
  board.set_clock(0);
  board.run_for(kMinute);
  TEST_ASSERT_TRUE(schedule(board).back_since > 0);
  run_until(board, kMonday + 23 * kHour);
  TEST_ASSERT_EQUAL_INT64(0, schedule(board).back_since);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(missed, schedule(board).missed);
}

TEST(a_run_that_began_by_a_clock_in_the_future_lasts_no_longer_than_its_window) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 20 * kHour);
  board.set_clock(300 * kDay + 3 * kHour);  // 23:00 of a night to come
  TEST_ASSERT_TRUE(has_run(board));
  const std::uint64_t missed = schedule(board).missed;
  board.run_for(kMinute);
  board.set_clock(0);
  TEST_ASSERT_EQUAL_INT64(kMonday + kDay + 3 * kHour, board.task("night-1")->deadline_at);
  board.run_for(kHour);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kNone);
  // The clock is right while it runs: what is left of this night goes to the next one.
  run_until(board, kMonday + kDay + 4 * kHour);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kMissed);
  TEST_ASSERT_EQUAL_INT64(kMonday + kDay + 6 * kHour, board.task("night-2")->deadline_at);
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(3, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(missed, schedule(board).missed);
  // An operator may give it longer all the same, also over a restart.
  EditRequested longer{1, "night-3", 20 * kHour, 0, 0, 0, {}};
  assert_says(told(board, longer), true, "edited");
  board.restart();
  TEST_ASSERT_EQUAL_INT64(kMonday + 3 * kDay + 2 * kHour, board.task("night-3")->deadline_at);
}

TEST(windows_follow_local_time_over_a_change_of_it) {
  FakeBoard board(small_board());
  // Two hours east of UTC until Wednesday 03:00, then one.
  board.zone = {2 * kHour, kMonday + 2 * kDay + kHour, kHour};
  board.set_clock(0);
  board.submit(nightly(), slow());
  run_until(board, kMonday + 20 * kHour - kSecond);
  TEST_ASSERT_FALSE(has_run(board));
  board.run_for(2 * kSecond);
  TEST_ASSERT_EQUAL_INT64(kMonday + kDay + 4 * kHour, board.task("night-1")->deadline_at);
  run_until(board, kMonday + kDay + 21 * kHour);
  // The night with the change is an hour longer, known from its beginning.
  TEST_ASSERT_EQUAL_INT64(kMonday + 2 * kDay + 5 * kHour, board.task("night-2")->deadline_at);
  run_until(board, kMonday + 2 * kDay + 20 * kHour + kMinute);
  TEST_ASSERT_EQUAL_UINT64(2, schedule(board).runs);
  run_until(board, kMonday + 2 * kDay + 21 * kHour + kMinute);
  TEST_ASSERT_EQUAL_UINT64(3, schedule(board).runs);
}

TEST(a_paused_schedule_lets_windows_pass_and_misses_none) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  assert_says(told(board, PauseRequested{3, "night"}), true, "no run begins");
  run_until(board, kMonday + 2 * kDay + 12 * kHour);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
  assert_says(told(board, ResumeRequested{4, "night"}), true, "resumed");
  run_until(board, kMonday + 2 * kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
}

TEST(cancelling_a_recurring_task_ends_its_run_and_the_schedule) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 23 * kHour);
  assert_says(told(board, CancelRequested{3, "night"}), true, "so is night-1");
  board.run_for(kMinute);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kCancelled);
  assert_says(told(board, CancelRequested{4, "night"}), true, "already");
  run_until(board, kMonday + 3 * kDay);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  // A config that names it at every start does not bring it back; removing it frees the name.
  assert_says(told(board, Submitted{5, nightly()}), true, "known already: cancelled");
  assert_says(told(board, RemoveRequested{6, "night"}), true, "the name is free");
  assert_says(told(board, Submitted{7, nightly()}), true, "accepted");
  run_until(board, kMonday + 3 * kDay + 23 * kHour);
  // Not "night-1" again: that one is remembered.
  TEST_ASSERT_TRUE(board.task("night-2")->spec.run_of == "night");
}

TEST(a_recurring_task_is_edited_from_its_next_run_on) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 23 * kHour);
  EditRequested edit{3, "night", 0, 0, 0, 3000, *parse_weekly_window("20:00-21:00 wed")};
  assert_says(told(board, edit), true, "next run");
  TEST_ASSERT_EQUAL_UINT32(1000, board.task("night-1")->spec.weight_milli);
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  run_until(board, kMonday + 2 * kDay + 20 * kHour + kMinute);
  TEST_ASSERT_EQUAL_UINT32(3000, board.task("night-2")->spec.weight_milli);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
  // The same submission as before is known all the same.
  assert_says(told(board, Submitted{4, nightly()}), true, "known already: scheduled");
  EditRequested wrong{5, "night", 0, 0, kMonday, 0, {}};
  assert_says(told(board, wrong), false, "time of day");
}

TEST(an_edit_of_its_windows_skips_no_night) {
  FakeBoard board(small_board());
  board.submit(nightly("01:00-05:00 daily", 0.5));
  const EditRequested edit{3, "night", 0, 0, 0, 0, *parse_weekly_window("22:00-06:00 daily")};
  // Tuesday's run is done; at 10:00 the new window of Tuesday is still to come.
  run_until(board, kMonday + kDay + 10 * kHour);
  assert_says(told(board, edit), true, "edited");
  TEST_ASSERT_EQUAL_INT64(0, schedule(board).back_since);
  const Result<std::string> words = explain(board.state, "night");
  TEST_ASSERT_TRUE_MESSAGE(words->find("next run Tue 1970-01-13 22:00") != std::string::npos,
                           words->c_str());
  // And at 21:30, of a schedule that was edited back and forth.
  EditRequested back = edit;
  back.window = *parse_weekly_window("01:00-05:00 daily");
  assert_says(told(board, back), true, "edited");
  run_until(board, kMonday + kDay + 21 * kHour + 30 * kMinute);
  assert_says(told(board, edit), true, "edited");
  run_until(board, kMonday + kDay + 22 * kHour + kMinute);
  TEST_ASSERT_EQUAL_UINT64(2, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
}

TEST(an_edit_in_the_night_that_has_had_its_run_begins_no_second_one) {
  FakeBoard board(small_board());
  board.submit(nightly("22:00-06:00 daily", 0.5));
  run_until(board, kMonday + 23 * kHour);
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kSucceeded);
  EditRequested edit{3, "night", 0, 0, 0, 0, *parse_weekly_window("21:00-05:00 daily")};
  assert_says(told(board, edit), true, "edited");
  run_until(board, kMonday + kDay + 20 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  run_until(board, kMonday + kDay + 21 * kHour + kMinute);
  TEST_ASSERT_EQUAL_UINT64(2, schedule(board).runs);
  TEST_ASSERT_EQUAL_UINT64(0, schedule(board).missed);
}

TEST(a_deadline_that_runs_do_not_have_is_not_moved) {
  FakeBoard board(small_board());
  board.submit(nightly(), slow());
  EditRequested edit{3, "night", 2 * kHour, 0, 0, 0, {}};
  assert_says(told(board, edit), false, "end with their window; give a duration, like 2h");
  TEST_ASSERT_EQUAL_INT64(0, schedule(board).spec.deadline_after);
  assert_says(told(board, EditRequested{4, "night", 0, 2 * kHour, 0, 0, {}}), true, "edited");
  assert_says(told(board, EditRequested{5, "night", kHour, 0, 0, 0, {}}), true, "edited");
  TEST_ASSERT_EQUAL_INT64(3 * kHour, schedule(board).spec.deadline_after);
}

TEST(a_name_belongs_to_one) {
  FakeBoard board(small_board());
  board.submit(small_task("night", kMinute, 0.9));
  board.run_for(2 * kMinute);
  assert_says(told(board, Submitted{3, nightly()}), false, "--replace");
  assert_says(told(board, Submitted{4, nightly(), true}), true, "accepted");
  TEST_ASSERT_NULL(board.task("night"));
  assert_says(told(board, Submitted{5, small_task("night", kMinute, 0.9)}), false, "--replace");
  assert_says(told(board, Submitted{6, nightly("21:00-22:00 daily")}), false, "--replace");
  run_until(board, kMonday + 23 * kHour);
  assert_says(told(board, Submitted{7, small_task("night", kMinute, 0.9), true}), true, "accepted");
  board.run_for(kMinute);
  TEST_ASSERT_NULL(board.state.find_recurring("night"));
  TEST_ASSERT_TRUE(board.task("night-1")->outcome == Outcome::kCancelled);
  TEST_ASSERT_TRUE(board.task("night")->fresh);
}

TEST(a_task_whose_name_a_recurring_one_took_is_put_away_when_it_has_ended) {
  FakeBoard board(small_board());
  board.submit(small_task("night", kHour, 0.01), slow());
  board.run_for(3 * kSecond);
  const TaskKey before = board.task("night")->key;
  assert_says(told(board, Submitted{4, nightly(), true}), true, "accepted");
  TEST_ASSERT_NOT_NULL(board.state.find_live(before));  // its trainer is leaving
  board.run_for(kMinute);
  TEST_ASSERT_TRUE(board.state.find_any(before)->outcome == Outcome::kCancelled);
  TEST_ASSERT_NULL(board.task("night"));
}

TEST(a_run_takes_no_name_of_another_recurring_task) {
  FakeBoard board(small_board());
  TaskSpec other = nightly("01:00-02:00 sun");
  other.name = "night-1";
  board.submit(other, slow());
  board.submit(nightly(), slow());
  run_until(board, kMonday + 23 * kHour);
  TEST_ASSERT_NULL(board.task("night-1"));
  TEST_ASSERT_TRUE(board.task("night-2")->spec.run_of == "night");
}

TEST(what_cannot_recur_is_refused) {
  FakeBoard board(small_board());
  TaskSpec spec = nightly();
  spec.deadline_wall = kMonday + kDay;
  assert_says(told(board, Submitted{3, spec}), false, "time of day");
  spec = nightly();
  spec.name = "a-name-of-more-than-24-bytes";
  assert_says(told(board, Submitted{4, spec}), false, "at most 24 bytes");
  spec = nightly();
  spec.memory_bytes = 2'000'000'000;
  assert_says(told(board, Submitted{5, spec}), false, "memory");
  spec = nightly();
  spec.every.window.from_s = 100'000;
  assert_says(told(board, Submitted{6, spec}), false, "window");
  for (std::size_t i = 0; i < kRecurringMax; ++i) {
    spec = nightly();
    spec.name = "n" + std::to_string(i);
    assert_says(told(board, Submitted{7 + i, spec}), true, "accepted");
  }
  spec.name = "one-more";
  assert_says(told(board, Submitted{100, spec}), false, "the limit");
}

TEST(the_promotion_of_a_run_keeps_the_next_one_waiting) {
  FakeBoard board(small_board());
  board.config.trainers.push_back(std::string(kPromoter));
  board.restart();
  TaskSpec spec = nightly("22:00-06:00 daily", 0.9);
  spec.promote.wanted = true;
  spec.promote.deadline_after = 30 * kHour;
  board.submit(spec);
  run_until(board, kMonday + 23 * kHour);
  const Task* promotion = board.task("night-1-promote");
  TEST_ASSERT_NOT_NULL(promotion);
  TEST_ASSERT_EQUAL_STRING("night-1", promotion->spec.promotes.c_str());
  TEST_ASSERT_EQUAL_STRING("night", promotion->spec.folder().c_str());
  TEST_ASSERT_EQUAL_STRING("night-promote", promotion->spec.log_name().c_str());
  run_until(board, kMonday + kDay + 23 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, schedule(board).runs);
  TEST_ASSERT_EQUAL_STRING("'night-1-promote' is not over yet", schedule(board).reason.c_str());
}
