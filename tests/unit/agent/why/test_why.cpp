// Planted causes on a board in virtual time: each is named, and what would have saved the task too.
#include "agent/why/why.hpp"

#include <cmath>

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;
using why::Cause;
using why::Finding;
using why::Remedy;

namespace {

// 1000 samples a second; what the trainer has come to after so many seconds of its lane.
double loss_after(double lane_seconds) { return std::pow(1.0 + lane_seconds, -0.5); }

Finding finding(const FakeBoard& board, const std::string& name) {
  const Result<Finding> found = why::find_out(board.state, name, board.state.now);
  TEST_ASSERT_TRUE(found.has_value());
  DurationNs sum = found->unrecorded;
  for (const why::Use& use : found->uses) sum += use.line.ns;
  TEST_ASSERT_EQUAL_INT64(found->whole, sum);
  TEST_ASSERT_EQUAL_INT64(0, found->unrecorded);
  return *found;
}

const why::Saver* saver(const Finding& f, Remedy remedy) {
  for (const why::Saver& s : f.savers) {
    if (s.remedy == remedy) return &s;
  }
  return nullptr;
}

void assert_cause(Cause wanted, const Finding& f) {
  TEST_ASSERT_EQUAL_STRING_MESSAGE(std::string(why::name(wanted)).c_str(),
                                   std::string(why::name(f.cause)).c_str(),
                                   why::text_of(f).c_str());
}

void assert_says(const std::string& part, const std::string& text) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, text.c_str());
}

CoreConfig metered_board() {
  power::Board board;
  board.model.idle_mw = 4000;
  board.model.cpu_dynamic_mw = 10'000;
  CoreConfig config = test::small_board();
  config.power = PowerConfig::for_board(board);
  return config;
}

// Readings of a board that draws 4 W idle and 14 W at work.
void run_metered(FakeBoard& board, DurationNs duration) {
  const TimeNs end = board.now() + duration;
  while (board.now() < end) {
    board.run_for(100 * kMillisecond);
    power::PowerReading reading;
    reading.total_mw = board.state.lanes[1].running.empty() ? 4000 : 14'000;
    board.tell(PowerSampled{reading});
  }
}

void crash_until_given_up(FakeBoard& board, const std::string& name, std::int32_t exit_code) {
  for (int i = 0; i < 20 && board.task(name)->state != TaskState::kEnded; ++i) {
    while (board.task(name)->state != TaskState::kRunning) board.run_for(100 * kMillisecond);
    board.tell(TrainerExited{board.task(name)->process(), exit_code});
  }
}

}  // namespace

TEST(a_task_that_succeeded_says_by_how_much) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("good", kMinute, loss_after(10)));
  board.run_for(kMinute);
  const Finding f = finding(board, "good");
  assert_cause(Cause::kNone, f);
  assert_says("succeeded", f.headline);
  assert_says("before its deadline", f.headline);
  TEST_ASSERT_TRUE(f.savers.empty());
}

TEST(of_a_co_training_task_it_says_who_made_its_model) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("shared", kMinute, loss_after(10)));
  board.run_for(kMinute);
  core::Task task = *board.task("shared");
  assert_says("shared: succeeded", why::text_of(why::finding_of(board.state, task, board.now())));
  task.reason =
      "reached its target; made by n-1, n-2; told of its rows: epsilon 5.62 at delta 1e-05";
  TEST_ASSERT_TRUE(why::finding_of(board.state, task, board.now()).group.empty());
  task.spec.cotrain = true;
  const Finding f = why::finding_of(board.state, task, board.now());
  assert_says("\nits model: made by n-1, n-2; told of its rows: epsilon 5.62 at delta 1e-05\n",
              why::text_of(f));
  TEST_ASSERT_EQUAL_STRING(f.group.c_str(), why::json_of(f).find("group")->as_string().c_str());
}

TEST(a_cap_is_named_with_its_owner_and_the_cap_that_would_have_done) {
  FakeBoard board(metered_board());
  board.tell(CapRequested{1, 6000, 0});
  board.submit(test::small_task("capped", kMinute, loss_after(30)));
  run_metered(board, kMinute + kSecond);
  const Finding f = finding(board, "capped");
  assert_cause(Cause::kPower, f);
  assert_says("the operator's cap of 6.0 W", f.headline);
  const why::Saver* cap = saver(f, Remedy::kCap);
  TEST_ASSERT_NOT_NULL(cap);
  // Half of the lane is 9 W; the forecast is not exact.
  TEST_ASSERT_TRUE_MESSAGE(cap->amount > 7.0 && cap->amount < 12.0, why::text_of(f).c_str());
  TEST_ASSERT_EQUAL_INT64(14'000, f.full_mw);
}

TEST(a_rival_is_named_and_would_have_been_better_away) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("hog", kHour, 1e-9));
  board.submit(test::small_task("squeezed", kMinute, loss_after(45)));
  board.run_for(kMinute + kSecond);
  const Finding f = finding(board, "squeezed");
  assert_cause(Cause::kRival, f);
  assert_says("'hog' had its lane", f.headline);
  const why::Saver* without = saver(f, Remedy::kWithoutRival);
  TEST_ASSERT_NOT_NULL(without);
  TEST_ASSERT_EQUAL_STRING("hog", without->task.c_str());
  TEST_ASSERT_NOT_NULL(saver(f, Remedy::kEarlier));
}

TEST(a_crash_loop_tells_how_often_and_the_last_words) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("fragile", kHour, 1e-9));
  crash_until_given_up(board, "fragile", 7);
  const Finding f = finding(board, "fragile");
  assert_cause(Cause::kCrashes, f);
  assert_says("crashed 5 times in a row", f.headline);
  assert_says("code 7", f.headline);
  TEST_ASSERT_NOT_NULL(saver(f, Remedy::kNoCrash));
}

TEST(a_task_that_crashes_until_its_deadline_missed_it_by_its_crashes) {
  CoreConfig config = test::small_board();
  config.timing.attempts_max = 1000;
  config.timing.backoff_max = 5 * kSecond;
  FakeBoard board(config);
  board.submit(test::small_task("fragile", kMinute, loss_after(20)));
  while (board.task("fragile")->outcome == Outcome::kNone) {
    board.run_for(kSecond);
    if (board.task("fragile")->state != TaskState::kRunning) continue;
    board.tell(TrainerFailed{board.task("fragile")->process(), "no such column"});
  }
  board.run_for(kSecond);
  const Finding f = finding(board, "fragile");
  assert_cause(Cause::kCrashes, f);
  assert_says("no such column", f.headline);
}

TEST(out_of_memory_is_told_from_other_crashes) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("large", kHour, 1e-9));
  crash_until_given_up(board, "large", -9);
  const Finding f = finding(board, "large");
  assert_cause(Cause::kOutOfMemory, f);
  assert_says("it asked for 100 MB", f.headline);
  TEST_ASSERT_NOT_NULL(saver(f, Remedy::kMemory));
}

TEST(a_target_that_nothing_reaches_is_out_of_reach) {
  FakeBoard board(test::small_board());
  FakeTrainer slow;
  slow.loss_slope = 0.01;
  board.submit(test::small_task("stuck", kMinute, 0.01), slow);
  board.run_for(kMinute + kSecond);
  const Finding f = finding(board, "stuck");
  assert_cause(Cause::kOutOfReach, f);
  const why::Saver* target = saver(f, Remedy::kTarget);
  TEST_ASSERT_NOT_NULL(target);
  TEST_ASSERT_TRUE(target->amount > 0.9);
  TEST_ASSERT_NULL(saver(f, Remedy::kEarlier));
}

TEST(planned_work_that_was_too_little_is_out_of_reach) {
  FakeBoard board(test::small_board());
  FakeTrainer short_run;
  short_run.done_at = 5000;
  board.submit(test::small_task("brief", kHour, loss_after(60)), short_run);
  board.run_for(kMinute);
  const Finding f = finding(board, "brief");
  TEST_ASSERT_EQUAL_STRING("exhausted", f.state.c_str());
  assert_cause(Cause::kOutOfReach, f);
  assert_says("5000 samples", f.headline);
}

TEST(a_task_with_too_little_time_was_submitted_late) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("hurried", 20 * kSecond, loss_after(35)));
  board.run_for(21 * kSecond);
  const Finding f = finding(board, "hurried");
  assert_cause(Cause::kLate, f);
  const why::Saver* earlier = saver(f, Remedy::kEarlier);
  TEST_ASSERT_NOT_NULL(earlier);
  TEST_ASSERT_TRUE_MESSAGE(earlier->amount > 5.0 && earlier->amount < 40.0, earlier->text.c_str());
}

TEST(a_trainer_that_takes_long_to_get_ready_made_the_start_late) {
  FakeBoard board(test::small_board());
  FakeTrainer sleepy;
  sleepy.start_ns = 25 * kSecond;
  board.submit(test::small_task("sleepy", 40 * kSecond, loss_after(25)), sleepy);
  board.run_for(41 * kSecond);
  const Finding f = finding(board, "sleepy");
  assert_cause(Cause::kSlowStart, f);
  assert_says("25 s", f.headline);
}

TEST(a_pause_that_cost_the_deadline_names_the_pause) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("paused", kMinute, loss_after(20)));
  board.run_for(5 * kSecond);
  board.tell(PauseRequested{1, "paused"});
  board.run_for(50 * kSecond);
  board.tell(ResumeRequested{2, "paused"});
  board.run_for(10 * kSecond);
  const Finding f = finding(board, "paused");
  assert_cause(Cause::kPaused, f);
  assert_says("an operator had paused it for 50 s", f.headline);
  TEST_ASSERT_NOT_NULL(saver(f, Remedy::kNoPause));
}

TEST(a_task_without_reports_is_blamed_on_what_took_most_of_its_time) {
  FakeBoard board(test::small_board());
  FakeTrainer stuck;
  stuck.start_ns = kMinute;
  board.submit(test::small_task("absent", 30 * kSecond, 0.5), stuck);
  board.run_for(31 * kSecond);
  const Finding f = finding(board, "absent");
  assert_cause(Cause::kSlowStart, f);
}

TEST(a_live_task_says_what_holds_it_back_now) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("one", kHour, 1e-9));
  board.submit(test::small_task("two", kHour, 1e-9));
  board.run_for(10 * kSecond + 500 * kMillisecond);
  const bool first = board.task("one")->state == TaskState::kRunning;
  const Finding waits = finding(board, first ? "two" : "one");
  assert_cause(Cause::kRival, waits);
  assert_says(first ? "waiting for 'one'" : "waiting for 'two'", waits.headline);
  assert_cause(Cause::kNone, finding(board, first ? "one" : "two"));
}

TEST(what_is_shown_in_milliseconds_adds_up_too) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("one", kHour, 1e-9));
  board.submit(test::small_task("two", kMinute, 1e-9));
  board.run_for(kMinute + kSecond);
  const std::string text = why::text_of(finding(board, "two"));
  long long sum_ms = 0;
  long long whole_ms = -1;
  std::size_t at = 0;
  while ((at = text.find(" s  ", at)) != std::string::npos) {
    const std::size_t from = text.rfind(' ', at - 1) + 1;
    const std::string number = text.substr(from, at - from);
    at += 1;
    const std::size_t point = number.find('.');
    if (point == std::string::npos || number.size() - point != 4) continue;
    const long long ms =
        std::stoll(number.substr(0, point)) * 1000 + std::stoll(number.substr(point + 1));
    sum_ms += ms;
    whole_ms = ms;  // the last is the sum
  }
  TEST_ASSERT_TRUE(whole_ms > 0);
  TEST_ASSERT_EQUAL_INT64(2 * whole_ms, sum_ms);
}

TEST(time_before_accounts_were_kept_is_said_to_be_unrecorded) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("old", kHour, 1e-9));
  board.run_for(10 * kSecond);
  Task task = *board.task("old");
  task.time_sheet = {};
  const Finding f = why::finding_of(board.state, task, board.state.now);
  TEST_ASSERT_EQUAL_INT64(f.whole, f.unrecorded);
  assert_says("not recorded", why::text_of(f));
}

TEST(a_task_that_nobody_knows_is_not_found) {
  FakeBoard board(test::small_board());
  const Result<Finding> found = why::find_out(board.state, "nobody", board.state.now);
  TEST_ASSERT_FALSE(found.has_value());
  TEST_ASSERT_TRUE(found.error().code == Code::kNotFound);
}

TEST(a_plan_without_an_end_does_not_put_a_target_out_of_reach) {
  // A task without epochs plans for far more samples than it will ever take.
  FakeBoard board(metered_board());
  board.tell(CapRequested{1, 6000, 0});
  TaskSpec spec = test::small_task("endless", kMinute, loss_after(30));
  spec.planned_samples = 24'000'000;
  board.submit(spec);
  run_metered(board, kMinute + kSecond);
  const Finding f = finding(board, "endless");
  assert_cause(Cause::kPower, f);
  TEST_ASSERT_TRUE(f.need.seconds.median < 120.0);
}

TEST(the_earlier_run_that_speaks_in_a_forecast_is_named_with_its_part) {
  FakeBoard board(test::small_board("foresight"));
  TaskSpec first = test::small_task("night-1", 10 * kMinute, 0.2);
  first.params = R"({"a": 1})";
  board.submit(first);
  board.run_for(5 * kMinute);
  TEST_ASSERT_FALSE(finding(board, "night-1").earlier.has_value());
  TaskSpec second = first;
  second.name = "night-2";
  board.submit(second);
  board.run_for(2 * kSecond);
  const Finding f = finding(board, "night-2");
  TEST_ASSERT_TRUE(f.earlier.has_value());
  TEST_ASSERT_EQUAL_STRING("night-1", f.earlier->task.c_str());
  TEST_ASSERT_EQUAL_UINT32(board.task("night-1")->key, f.earlier->key);
  TEST_ASSERT_TRUE(f.earlier->part > 0.1 && f.earlier->part <= 1.0);
  assert_says("its forecast began from an earlier run: the earlier run 'night-1' (task ",
              why::text_of(f));
  const json::Value all = why::json_of(f);
  TEST_ASSERT_EQUAL_STRING("night-1", all.find("earlier_run")->find("task")->as_string().c_str());
}
