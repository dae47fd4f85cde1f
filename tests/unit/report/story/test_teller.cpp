// Stories of boards in virtual time.
#include "report/story/teller.hpp"

#include <algorithm>
#include <cmath>

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::story;
using test::FakeBoard;

namespace {

double loss_after(double lane_seconds) { return std::pow(1.0 + lane_seconds, -0.5); }

// A board and the teller that sees all of it.
struct Told {
  explicit Told(const core::CoreConfig& config) : board(config) {
    board.after_step = [this](const core::Event& event, const core::Effects& commands) {
      teller.see(event, board.state, commands);
    };
  }
  BoardStory finish() { return teller.finish(board.state); }

  FakeBoard board;
  Teller teller;
};

core::CoreConfig metered_board() {
  power::Board board;
  board.model.idle_mw = 4000;
  board.model.cpu_dynamic_mw = 10'000;
  core::CoreConfig config = test::small_board();
  config.power = core::PowerConfig::for_board(board);
  config.power.governor.limit_mc = 90'000;
  return config;
}

void run_metered(FakeBoard& board, DurationNs duration, std::int64_t working_mw = 14'000) {
  const TimeNs end = board.now() + duration;
  while (board.now() < end) {
    board.run_for(100 * kMillisecond);
    power::PowerReading reading;
    reading.total_mw = board.state.lanes[1].running.empty() ? 4000 : working_mw;
    reading.zones = {{"cpu", 51'500}};
    reading.gpu_clock_mhz = 612;
    reading.rails = {{"VDD_IN", *reading.total_mw}};
    board.tell(core::PowerSampled{reading});
  }
}

const TaskStory& task_of(const BoardStory& story, const std::string& name) {
  const auto found = std::find_if(story.tasks.begin(), story.tasks.end(),
                                  [&](const TaskStory& t) { return t.name == name; });
  TEST_ASSERT_TRUE_MESSAGE(found != story.tasks.end(), name.c_str());
  return *found;
}

DurationNs spent(const TaskStory& task, Doing doing) {
  DurationNs sum = 0;
  for (const Cell& cell : task.track.cells()) sum += cell.ns[static_cast<std::size_t>(doing)];
  return sum;
}

bool tells(const BoardStory& story, Kind kind, const std::string& part) {
  return std::any_of(story.happenings.begin(), story.happenings.end(), [&](const Happening& h) {
    return h.kind == kind && (h.text + " " + h.task + " " + h.by).find(part) != std::string::npos;
  });
}

}  // namespace

TEST(a_story_has_the_task_its_curve_its_runs_and_its_end) {
  Told told(test::small_board());
  told.board.submit(test::small_task("good", kMinute, loss_after(10)));
  told.board.run_for(kMinute);
  const BoardStory story = told.finish();
  TEST_ASSERT_EQUAL_UINT64(1, story.tasks.size());
  const TaskStory& task = story.tasks[0];
  TEST_ASSERT_TRUE(task.outcome == core::Outcome::kSucceeded);
  TEST_ASSERT_TRUE(task.over());
  TEST_ASSERT_TRUE(task.margin() > 40 * kSecond);
  TEST_ASSERT_TRUE(task.headline.find("succeeded") != std::string::npos);
  TEST_ASSERT_TRUE(*task.loss <= task.target);
  TEST_ASSERT_TRUE(task.reports > 5);
  const std::vector<Point> curve = task.losses.points();
  TEST_ASSERT_EQUAL_UINT64(task.reports, curve.size());
  TEST_ASSERT_TRUE(curve.front().value > curve.back().value);
  TEST_ASSERT_EQUAL_DOUBLE(static_cast<double>(task.samples), curve.back().beside);
  // It ran for about ten seconds, and its track has no gap from its acceptance to its end.
  TEST_ASSERT_TRUE(std::abs(spent(task, Doing::kRunning) - 10 * kSecond) < kSecond);
  TEST_ASSERT_EQUAL_INT64(task.accepted_at, task.track.cells().front().from);
  TEST_ASSERT_EQUAL_INT64(task.ended_at, task.track.cells().back().to);
  TEST_ASSERT_TRUE(story.decisions_all > 0);
  TEST_ASSERT_FALSE(story.decisions.front().why.empty());
  TEST_ASSERT_TRUE(tells(story, Kind::kCommand, "submit good at the board"));
}

TEST(forecasts_are_kept_as_they_were_then_and_reach_to_the_deadline) {
  Told told(test::small_board());
  told.board.submit(test::small_task("long", kHour, 1e-9));
  told.board.run_for(30 * kMinute);
  const BoardStory story = told.finish();
  const TaskStory& task = story.tasks[0];
  TEST_ASSERT_TRUE(task.forecasts.size() > kForecastsKept / 3);
  TEST_ASSERT_TRUE(task.forecasts.size() <= kForecastsKept);
  for (const ForecastThen& then : task.forecasts) {
    TEST_ASSERT_EQUAL_UINT64(kForecastSteps + 1, then.steps.size());
    TEST_ASSERT_EQUAL_INT64(then.at, then.steps.front().at);
    TEST_ASSERT_TRUE(std::abs(then.steps.back().at - task.deadline_at) < kMillisecond);
    for (const ForecastStep& step : then.steps) {
      TEST_ASSERT_TRUE(step.low <= step.middle && step.middle <= step.high);
    }
  }
  // Later ones know more than the first.
  const auto width = [](const ForecastThen& f) { return f.steps.back().high - f.steps.back().low; };
  TEST_ASSERT_TRUE(width(task.forecasts.back()) < width(task.forecasts.front()));
}

TEST(waiting_for_a_rival_and_being_throttled_are_told_apart) {
  Told told(metered_board());
  told.board.submit(test::small_task("one", kHour, 1e-9));
  told.board.submit(test::small_task("two", kHour, 1e-9));
  run_metered(told.board, 20 * kSecond);
  told.board.tell(core::CapRequested{7, 6000, 0});
  run_metered(told.board, kMinute);
  const BoardStory story = told.finish();
  const TaskStory& one = task_of(story, "one");
  TEST_ASSERT_TRUE(spent(one, Doing::kWaiting) > 5 * kSecond);
  TEST_ASSERT_TRUE(spent(one, Doing::kThrottled) > 10 * kSecond);
  TEST_ASSERT_TRUE(tells(story, Kind::kCommand, "a cap of 6.0 W"));
}

TEST(power_temperature_clocks_and_rails_are_told_as_read) {
  Told told(metered_board());
  told.board.submit(test::small_task("one", kHour, 1e-9));
  run_metered(told.board, 20 * kSecond);
  const BoardStory story = told.finish();
  const PowerStory& power = story.power;
  TEST_ASSERT_EQUAL_DOUBLE(14.0, power.peak_w);
  TEST_ASSERT_EQUAL_DOUBLE(51.5, power.hottest_c.points().back().value);
  TEST_ASSERT_EQUAL_DOUBLE(612.0, power.gpu_mhz.points().back().value);
  TEST_ASSERT_EQUAL_UINT64(1, power.rails.size());
  TEST_ASSERT_TRUE(power.energy_j > 250.0);
  TEST_ASSERT_EQUAL_DOUBLE(told.board.state.meter.totals().board.joules(), power.energy_j);
  TEST_ASSERT_EQUAL_INT64(0, power.capped_ns);
  TEST_ASSERT_EQUAL_DOUBLE(-1.0, power.cap_w.points().back().value);
  TEST_ASSERT_TRUE(power.cpu_mhz.empty());
}

TEST(a_cap_that_is_not_held_is_a_breach) {
  Told told(metered_board());
  told.board.submit(test::small_task("one", kHour, 1e-9));
  told.board.tell(core::CapRequested{7, 3000, 0});  // below what it draws at rest
  run_metered(told.board, 20 * kSecond);
  told.board.tell(core::CapRequested{8, std::nullopt, 0});
  run_metered(told.board, 5 * kSecond);
  const BoardStory story = told.finish();
  TEST_ASSERT_EQUAL_UINT64(1, story.power.breaches);
  TEST_ASSERT_TRUE(story.power.over_ns >= 10 * kSecond);
  TEST_ASSERT_TRUE(story.power.breach_list[0].over_w >= 1.0);
  TEST_ASSERT_EQUAL_DOUBLE(3.0, story.power.breach_list[0].cap_w);
  TEST_ASSERT_TRUE(tells(story, Kind::kPower, "the cap was not held for"));
}

TEST(a_cap_that_is_held_after_a_moment_is_no_breach) {
  Told told(metered_board());
  told.board.submit(test::small_task("one", kHour, 1e-9));
  run_metered(told.board, 20 * kSecond);
  told.board.tell(core::CapRequested{7, 8000, 0});
  run_metered(told.board, kMinute);
  const BoardStory story = told.finish();
  TEST_ASSERT_EQUAL_UINT64(0, story.power.breaches);
  TEST_ASSERT_TRUE(story.power.capped_ns > 50 * kSecond);
}

TEST(crashes_restarts_and_the_time_the_agent_was_away_are_told) {
  Told told(test::small_board());
  told.board.submit(test::small_task("fragile", kHour, 1e-9));
  told.board.run_for(5 * kSecond);
  told.board.tell(core::TrainerExited{told.board.task("fragile")->process(), 7});
  told.board.run_for(20 * kSecond);
  told.board.skip(kMinute);
  told.board.restart();
  told.board.run_for(10 * kSecond);
  const BoardStory story = told.finish();
  TEST_ASSERT_EQUAL_UINT64(1, story.crashes);
  TEST_ASSERT_EQUAL_UINT32(1, story.tasks[0].crashes);
  TEST_ASSERT_TRUE(tells(story, Kind::kCrash, "fragile"));
  TEST_ASSERT_TRUE(tells(story, Kind::kFault, "the agent started after 1 min"));
  TEST_ASSERT_EQUAL_INT64(kMinute, spent(story.tasks[0], Doing::kAgentDown));
  TEST_ASSERT_TRUE(spent(story.tasks[0], Doing::kCrashed) > 0);
  TEST_ASSERT_FALSE(story.tasks[0].over());
}

TEST(who_commanded_what_and_what_was_refused_is_told) {
  Told told(test::small_board());
  told.board.run_for(kSecond);
  told.board.tell(core::OperatorCommand{3, "op-alice", "c-1", told.board.now() + kHour,
                                        core::CapRequested{3, 9000, kHour}});
  told.board.tell(core::CommandRefused{"op-eve", "c-2", "drain", "not permitted"});
  told.board.tell(core::CancelRequested{4, "nobody"});
  const BoardStory story = told.finish();
  TEST_ASSERT_TRUE(tells(story, Kind::kCommand, "a cap of 9.0 W for 1 h  op-alice"));
  TEST_ASSERT_TRUE(tells(story, Kind::kCommand, "drain refused: not permitted  op-eve"));
  TEST_ASSERT_TRUE(tells(story, Kind::kCommand, "cancel: refused"));
}

TEST(ten_thousand_tasks_stay_within_bounds) {
  Told told(test::small_board());
  for (int i = 0; i < 10'000; ++i) {
    told.board.submit(test::small_task("t" + std::to_string(i), kMinute, 0.99));
    if (i % 200 == 199) told.board.run_for(kMinute);
  }
  told.board.run_for(2 * kMinute);
  const BoardStory story = told.finish();
  TEST_ASSERT_EQUAL_UINT64(10'000, story.tasks.size());
  std::size_t cells = 0;
  for (const TaskStory& task : story.tasks) {
    TEST_ASSERT_TRUE(task.over());
    cells += task.track.cells().size() + task.losses.points().size() / 4;
  }
  TEST_ASSERT_TRUE(cells <= 10'000 * 2 * kTaskPlacesMin);
  TEST_ASSERT_TRUE(story.happenings.size() <= kHappeningsKept);
  TEST_ASSERT_TRUE(story.happenings_left_out > 0);
  TEST_ASSERT_TRUE(story.decisions.size() <= kDecisionsKept);
}
