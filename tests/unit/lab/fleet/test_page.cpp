#include "lab/fleet/page.hpp"

#include "lab/fleet/plots.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using lab::FleetRecording;
using lab::RecordedTask;

namespace {

constexpr std::int64_t kS = 1'000'000;  // in microseconds

FleetRecording recording() {
  FleetRecording out;
  out.first_unix_us = 100 * kS;
  out.last_unix_us = 160 * kS;
  out.messages = 321;
  out.budgets = {{100 * kS, 30'000}, {120 * kS, 20'000}};
  lab::FleetNode& node = out.nodes["n-1"];
  node.power_source = "modelled";
  node.heard_unix_us = out.last_unix_us;
  node.shares = {{101 * kS, 10, 12'000}, {119 * kS, 5, 8'000}};
  node.power_w = {{1.0, 5.0}, {30.0, 7.0}};
  node.lives = {{7.0, 0.0, 30.0}, {8.0, 40.0, 60.0}};
  node.states = {{0.0, "ready"}, {36.0, "lost"}};
  RecordedTask good;
  good.node = "n-1";
  good.name = "a<b";
  good.target = 0.25;
  good.deadline_at_s = 55.0;
  good.loss = {{5.0, 0.5}, {25.0, 0.3}, {45.0, 0.24}};
  good.samples = {{5.0, 100.0}, {25.0, 900.0}, {45.0, 800.0}};
  good.busy_s = {{5.0, 0.0}, {25.0, 15.0}, {45.0, 15.0}};
  good.forecasts = {{5.0, 0.3, 0.1, 9.0, 0.4}, {25.0, 0.24, 0.2, 0.28, 0.75}};
  good.states = {{2.0, "queued"}, {4.0, "running"}, {45.0, "succeeded"}};
  RecordedTask bad = good;
  bad.name = "miracle";
  bad.out_of_reach = true;
  bad.states.back().state = "missed";
  out.tasks = {good, bad};
  return out;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(the_verdict_says_what_was_by_design_and_where_a_task_went_on) {
  const FleetRecording r = recording();
  const std::string text = fleet_text(r, judge(r));
  TEST_ASSERT_TRUE_MESSAGE(has(text, "ok      shares never added up to more than the budget"),
                           text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "ok      2 of 2 tasks ended, none of them twice"),
                           text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(
      has(text,
          "ok      n-1 was away for 10 s; a<b went on from sample 800 (its last word "
          "before: 900)"),
      text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text,
                               "tasks   1 of 1 task reached the target loss in time; 1 more "
                               "was out of reach by design, and missed it"),
                           text.c_str());
}

TEST(a_task_that_had_to_begin_anew_breaks_the_promise) {
  FleetRecording r = recording();
  r.tasks[0].samples.back().value = 0.0;
  TEST_ASSERT_TRUE(has(fleet_text(r, judge(r)), "BROKEN  n-1 was away for 10 s; a<b began anew"));
}

TEST(tasks_are_listed_with_their_ends_and_the_forecast_half_way) {
  const std::string text = tasks_table_text(recording());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "miracle  n-1    missed, by design  45 s"), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "40%"), text.c_str());
}

TEST(moments_come_from_whoever_knows_them_or_else_from_the_messages) {
  FleetRecording r = recording();
  const auto seen = marks_of(r, judge(r));
  TEST_ASSERT_EQUAL_UINT64(3, seen.size());
  TEST_ASSERT_EQUAL_STRING("budget 20 W", seen[0].text.c_str());
  TEST_ASSERT_EQUAL_STRING("n-1 silent", seen[1].text.c_str());
  TEST_ASSERT_EQUAL_STRING("n-1 back", seen[2].text.c_str());
  r.marks = {{31.0, "kill -9 n-1"}};
  TEST_ASSERT_EQUAL_UINT64(1, marks_of(r, judge(r)).size());
  const std::string page = fleet_page(r, judge(r));
  TEST_ASSERT_TRUE(has(page, ">kill -9 n-1</text>"));
  TEST_ASSERT_TRUE(has(page, "30 W → 20 W"));
  TEST_ASSERT_TRUE(has(page, "modelled from the boards' files, not measured"));
  TEST_ASSERT_TRUE(has(page, "ran 75% of the time"));
  TEST_ASSERT_TRUE(has(page, "a&lt;b"));
  TEST_ASSERT_FALSE(has(page, "a<b"));
  TEST_ASSERT_FALSE(has(page, "nan"));
}

TEST(the_page_tells_the_peak_as_well_as_the_mean) {
  FleetRecording r = recording();
  r.nodes["n-1"].power_w.clear();
  for (int s = 1; s <= 60; ++s) {
    r.nodes["n-1"].power_w.push_back({static_cast<double>(s), s == 20 ? 19.0 : 7.0});
  }
  const auto verdict = judge(r);
  TEST_ASSERT_EQUAL_DOUBLE(19.0, verdict.drawn.peak);
  TEST_ASSERT_EQUAL_DOUBLE(20.0, verdict.drawn.peak_at_s);
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 7.2, verdict.drawn.mean);
  const std::string text = fleet_text(r, verdict);
  TEST_ASSERT_TRUE_MESSAGE(has(text, "drew 7.2 W on average and 19.0 W at most (at 20 s)"),
                           text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(
      has(text, "stayed within the budget: 9.2 W on average and 12.0 W at most"), text.c_str());
  const std::string page = fleet_page(r, verdict);
  TEST_ASSERT_TRUE(has(page, "<td data-head=\"drawn, mean\">7.2 W</td>"));
  TEST_ASSERT_TRUE(has(page, "<td data-head=\"drawn, peak\">19.0 W</td>"));
}

TEST(throttled_times_are_marked_and_added_up_by_board) {
  FleetRecording r = recording();
  r.tasks[0].states = {{2.0, "queued"},
                       {4.0, "running"},
                       {10.0, "throttled"},
                       {25.0, "running"},
                       {45.0, "succeeded"}};
  r.tasks[1].states = {{2.0, "throttled"}};
  const auto stretches = throttled_stretches(r.tasks[0], 60.0);
  TEST_ASSERT_EQUAL_UINT64(1, stretches.size());
  TEST_ASSERT_EQUAL_DOUBLE(10.0, stretches[0].from_s);
  TEST_ASSERT_EQUAL_DOUBLE(25.0, stretches[0].to_s);
  // The second one to the end of the recording.
  TEST_ASSERT_EQUAL_DOUBLE(15.0 + 58.0, throttled_s(r, "n-1"));
  const std::string page = fleet_page(r, judge(r));
  TEST_ASSERT_TRUE(has(page, "<title>throttled</title>"));
  TEST_ASSERT_TRUE(has(page, "1 min 13 s"));
}

TEST(no_two_of_two_dozen_boards_have_one_colour_and_none_has_the_budgets) {
  FleetRecording r = recording();
  for (int i = 2; i <= 24; ++i) r.nodes["n-" + std::to_string(i)] = r.nodes["n-1"];
  const std::string plot = shares_plot(r, judge(r));
  for (int i = 0; i < 24; ++i) {
    const std::string colour = "background:var(--m" + std::to_string(i) + ")";
    const std::size_t first = plot.find(colour);
    TEST_ASSERT_TRUE_MESSAGE(first != std::string::npos, colour.c_str());
    TEST_ASSERT_TRUE(plot.find(colour, first + 1) == std::string::npos);
  }
  TEST_ASSERT_TRUE(has(plot, "background:var(--fg)\"></i>budget"));
}

TEST(what_boards_asked_for_is_drawn_and_told) {
  FleetRecording r = recording();
  r.nodes["n-1"].asked_w = {{0.0, 10.0}, {30.0, 20.0}};
  const std::string page = fleet_page(r, judge(r));
  TEST_ASSERT_TRUE(has(page, "asked for, all boards"));
  TEST_ASSERT_TRUE(has(page, "<td data-head=\"asked, mean\">15.0 W</td>"));
}

TEST(an_empty_recording_makes_a_page_too) {
  FleetRecording r;
  r.nodes["n-1"];
  const std::string page = fleet_page(r, judge(r));
  TEST_ASSERT_TRUE(has(page, "A fleet of 1 board<"));
  TEST_ASSERT_TRUE(has(page, "No values."));
}
