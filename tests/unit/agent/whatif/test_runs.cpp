// Runs of recurring tasks, and promotions, in a life that is run again: those that were never
// recorded, because the board only begins them in the other life, and what may be changed of them.
#include <string>

#include "agent/whatif/recorder.hpp"
#include "agent/whatif/rerun.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::whatif;
using test::FakeBoard;
using test::FakeTrainer;
using test::small_board;
using test::small_task;

namespace {

// FakeBoard begins at 1970-01-12 13:46:40 UTC, a Monday.
constexpr TimeNs kMonday = 11 * kDay;

// A board whose life from now on is recorded.
struct RecordedBoard {
  explicit RecordedBoard(const core::CoreConfig& config = small_board()) : board(config) {
    recorder.begin(board.state);
    board.after_step = [this](const core::Event& event, const core::Effects& effects) {
      recorder.see(event, board.state, effects);
    };
  }
  void run_until(TimeNs at) { board.run_for(at - board.now()); }
  // Without memory no run can begin.
  void set_memory(std::int64_t bytes) {
    board.config.memory_bytes = bytes;
    board.restart();
  }
  [[nodiscard]] Recording finish() { return recorder.finish(board.state); }

  FakeBoard board;
  Recorder recorder;
};

core::TaskSpec nightly(double target) {
  core::TaskSpec out = small_task("night", 0, target);
  out.every.window = *core::parse_weekly_window("22:00-06:00 daily");
  return out;
}

Changes with_memory() {
  Changes out;
  OtherBoard other;
  other.memory_bytes = 1'000'000'000;
  out.board = other;
  return out;
}

Rerun again(const Recording& recording, const Changes& changes) {
  auto out = run_again(recording, changes, Beyond::kMedian);
  TEST_ASSERT_TRUE_MESSAGE(out.has_value(), out ? "" : out.error().context.c_str());
  return std::move(*out);
}

void assert_refused(const Recording& recording, const Changes& changes, const char* words) {
  const auto out = run_again(recording, changes, Beyond::kMedian);
  TEST_ASSERT_FALSE(out.has_value());
  TEST_ASSERT_TRUE_MESSAGE(out.error().context.find(words) != std::string::npos,
                           out.error().context.c_str());
}

// Night one succeeds, night two is missed for want of memory, and a day passes.
Recording one_night_of_two() {
  RecordedBoard life;
  life.board.submit(nightly(0.5));
  life.run_until(kMonday + kDay + 12 * kHour);
  life.set_memory(1);
  life.run_until(kMonday + 2 * kDay + 12 * kHour);
  TEST_ASSERT_EQUAL_UINT64(1, life.board.state.recurring.at(0).missed);
  return life.finish();
}

}  // namespace

TEST(a_run_that_was_never_recorded_learns_as_another_run_of_its_task_did) {
  const Recording recording = one_night_of_two();
  const Rerun same = again(recording, {});
  TEST_ASSERT_EQUAL_UINT64(1, same.tally.tasks.size());
  const Rerun rerun = again(recording, with_memory());
  const TaskEnd* first = rerun.tally.find({"night-1", 0});
  const TaskEnd* second = rerun.tally.find({"night-2", 0});
  TEST_ASSERT_TRUE(first != nullptr && second != nullptr);
  TEST_ASSERT_TRUE(second->outcome == core::Outcome::kSucceeded);
  TEST_ASSERT_EQUAL_UINT64(first->samples, second->samples);
  TEST_ASSERT_TRUE(second->accepted_at >= kMonday + kDay + 22 * kHour);
}

TEST(a_run_of_which_nothing_is_known_never_gets_ready_and_ends) {
  RecordedBoard life;
  core::TaskSpec spec = nightly(0.5);
  spec.deadline_after = 30 * kSecond;  // it ends while its trainer starts
  life.board.submit(spec);
  life.set_memory(1);
  life.run_until(kMonday + kDay + 12 * kHour);
  const Recording recording = life.finish();
  TEST_ASSERT_TRUE(recording.tasks.empty());
  const Rerun rerun = again(recording, with_memory());
  const TaskEnd* run = rerun.tally.find({"night-1", 0});
  TEST_ASSERT_NOT_NULL(run);
  TEST_ASSERT_TRUE(run->outcome == core::Outcome::kMissed);
  TEST_ASSERT_TRUE(run->ended_at - run->accepted_at < kMinute);
}

TEST(a_promotion_that_was_never_recorded_never_gets_ready_and_ends) {
  core::CoreConfig config = small_board();
  config.trainers.push_back(std::string(core::kPromoter));
  RecordedBoard life(config);
  core::TaskSpec spec = small_task("a", kMinute, 0.001);
  spec.promote.wanted = true;
  spec.promote.deadline_after = 30 * kSecond;
  life.board.submit(spec);
  life.board.run_for(2 * kMinute);
  const Recording recording = life.finish();
  TEST_ASSERT_TRUE(recording.was.tasks.at(0).outcome == core::Outcome::kMissed);
  Changes changes;
  TaskEdit edit;
  edit.task = "a";
  edit.target_loss = 0.9;
  changes.edits = {edit};
  const Rerun rerun = again(recording, changes);
  TEST_ASSERT_TRUE(rerun.tally.find({"a", 0})->outcome == core::Outcome::kSucceeded);
  const TaskEnd* promotion = rerun.tally.find({"a-promote", 0});
  TEST_ASSERT_NOT_NULL(promotion);
  TEST_ASSERT_TRUE(promotion->outcome == core::Outcome::kMissed);
}

TEST(runs_that_begin_after_the_journal_are_not_told) {
  RecordedBoard life;
  core::TaskSpec spec = nightly(0.001);
  spec.every.window = *core::parse_weekly_window("00:00-24:00 daily");
  FakeTrainer slow;
  slow.rate = 2.0;
  life.board.submit(spec, slow);
  life.board.submit(small_task("long", 40 * kHour, 0.3));
  life.run_until(kMonday + kDay + 12 * kHour);
  const Recording recording = life.finish();
  TEST_ASSERT_EQUAL_UINT64(3, recording.was.tasks.size());
  Changes changes;
  TaskEdit edit;
  edit.task = "long";
  edit.target_loss = 0.0001;
  changes.edits = {edit};
  // It goes on for longer than the journal does, and so do the days.
  const Rerun rerun = again(recording, changes);
  TEST_ASSERT_EQUAL_UINT64(3, rerun.tally.tasks.size());
  TEST_ASSERT_TRUE(rerun.tally.find({"long", 0})->outcome == core::Outcome::kMissed);
  TEST_ASSERT_TRUE(rerun.ended_at < recording.to + 3 * kDay);
}

TEST(a_recurring_task_is_changed_and_left_out_by_its_own_name) {
  const Recording recording = one_night_of_two();
  Changes changes;
  changes.without = {"night"};
  TEST_ASSERT_TRUE(again(recording, changes).tally.tasks.empty());
  changes = {};
  TaskEdit edit;
  edit.task = "night";
  edit.target_loss = 0.01;
  edit.deadline_after = kMinute;
  changes.edits = {edit};
  const Rerun rerun = again(recording, changes);
  const TaskEnd* run = rerun.tally.find({"night-1", 0});
  TEST_ASSERT_TRUE(run->outcome == core::Outcome::kMissed);
  TEST_ASSERT_EQUAL_INT64(run->accepted_at + kMinute, run->deadline_at);
}

TEST(one_that_the_journal_begins_with_is_changed_and_left_out_too) {
  FakeBoard board(small_board());
  FakeTrainer slow;
  slow.rate = 2.0;
  board.submit(nightly(0.01), slow);
  board.submit(small_task("long", 40 * kHour, 0.01), slow);
  board.run_for(10 * kHour);  // in the middle of its first run
  TEST_ASSERT_EQUAL_UINT64(2, board.state.live.size());
  Recorder recorder;
  recorder.begin(board.state);
  board.after_step = [&](const core::Event& event, const core::Effects& effects) {
    recorder.see(event, board.state, effects);
  };
  board.restart();
  board.run_for(2 * kDay);
  const Recording recording = recorder.finish(board.state);
  Changes changes;
  changes.without = {"night"};
  const Rerun without = again(recording, changes);
  TEST_ASSERT_EQUAL_UINT64(1, without.tally.tasks.size());
  TEST_ASSERT_NOT_NULL(without.tally.find({"long", 0}));
  changes = {};
  TaskEdit edit;
  edit.task = "night";
  edit.deadline_after = kHour;
  changes.edits = {edit};
  const Rerun shorter = again(recording, changes);
  const TaskEnd* second = shorter.tally.find({"night-2", 0});
  TEST_ASSERT_NOT_NULL(second);
  TEST_ASSERT_EQUAL_INT64(second->accepted_at + kHour, second->deadline_at);
  const TaskEnd* first = shorter.tally.find({"night-1", 0});
  TEST_ASSERT_EQUAL_INT64(recording.was.find({"night-1", 0})->deadline_at, first->deadline_at);
}

TEST(a_journal_that_begins_by_day_comes_to_its_night) {
  FakeBoard board(small_board());
  board.submit(nightly(0.5));
  board.run_for(kHour);
  Recorder recorder;
  recorder.begin(board.state);
  board.after_step = [&](const core::Event& event, const core::Effects& effects) {
    recorder.see(event, board.state, effects);
  };
  board.run_for(12 * kHour);
  const Recording recording = recorder.finish(board.state);
  TEST_ASSERT_EQUAL_UINT64(1, recording.was.succeeded());
  TEST_ASSERT_EQUAL_UINT64(1, again(recording, {}).tally.succeeded());
}

TEST(a_run_is_not_changed_by_itself) {
  const Recording recording = one_night_of_two();
  Changes changes;
  changes.without = {"night-1"};
  assert_refused(recording, changes, "'night-1' belongs to 'night', which recurs; name 'night'");
  changes = {};
  TaskEdit edit;
  edit.task = "night-1";
  edit.target_loss = 0.9;
  changes.edits = {edit};
  assert_refused(recording, changes, "name 'night'");
  changes = {};
  changes.added = {{"twin", "night-1"}};
  assert_refused(recording, changes, "name 'night'");
  changes.added = {{"twin", "night"}};
  assert_refused(recording, changes, "'night' recurs");
  changes = {};
  edit = {};
  edit.task = "night";
  edit.deadline_add = kHour;
  changes.edits = {edit};
  assert_refused(recording, changes, "give a duration, like 2h");
  changes = {};
  changes.without = {"nobody"};
  assert_refused(recording, changes, "there are: night");
}
