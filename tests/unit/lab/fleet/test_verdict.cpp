#include "lab/fleet/verdict.hpp"

#include "consensus/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using consensus::kWhole;
using lab::FleetRecording;
using lab::FleetVerdict;
using lab::SharePoint;

namespace {

constexpr std::int64_t kS = 1'000'000;  // in microseconds

// Two boards heard to the end, a budget of 30 W.
FleetRecording two(std::vector<SharePoint> one, std::vector<SharePoint> other) {
  FleetRecording out;
  out.first_unix_us = 100 * kS;
  out.last_unix_us = 200 * kS;
  out.budgets.push_back({100 * kS, 30'000});
  for (const char* id : {"n-1", "n-2"}) {
    lab::FleetNode& node = out.nodes[id];
    node.heard_unix_us = out.last_unix_us;
    node.floor_mw = 2'000;
  }
  out.nodes["n-1"].shares = std::move(one);
  out.nodes["n-2"].shares = std::move(other);
  return out;
}

lab::RecordedTask task(const char* node, const char* name, std::vector<const char*> states) {
  lab::RecordedTask out;
  out.node = node;
  out.name = name;
  for (const char* state : states) out.states.push_back({1.0, state});
  return out;
}

}  // namespace

TEST(a_share_that_moves_is_never_counted_twice) {
  const FleetVerdict got = judge(two({{110 * kS, kWhole / 2, 15'000}, {120 * kS, 0, 2'000}},
                                     {{110 * kS, kWhole / 2, 15'000}, {120 * kS, kWhole, 28'000}}));
  TEST_ASSERT_TRUE(got.shares_kept());
  TEST_ASSERT_TRUE(got.budget_kept());
  TEST_ASSERT_EQUAL_INT64(kWhole, got.most_parts);
}

TEST(one_part_and_one_milliwatt_too_many_are_found) {
  const FleetVerdict parts =
      judge(two({{110 * kS, kWhole / 2, 15'000}}, {{111 * kS, kWhole / 2 + 1, 15'000}}));
  TEST_ASSERT_EQUAL_INT64(kWhole + 1, parts.most_parts);
  TEST_ASSERT_FALSE(parts.shares_kept());
  const FleetVerdict power =
      judge(two({{110 * kS, kWhole / 2, 15'000}}, {{111 * kS, kWhole / 2, 15'001}}));
  TEST_ASSERT_EQUAL_INT64(1, power.most_over_mw);
  TEST_ASSERT_FALSE(power.budget_kept());
}

TEST(an_excess_of_a_microsecond_is_found) {
  const FleetVerdict got = judge(
      two({{110 * kS, kWhole, 15'000}, {120 * kS, 0, 2'000}}, {{120 * kS - 1, kWhole, 15'000}}));
  TEST_ASSERT_EQUAL_INT64(2 * kWhole, got.most_parts);
}

TEST(a_board_silent_to_the_end_counts_as_nothing_after_its_last_word) {
  FleetRecording recording = two({{110 * kS, kWhole, 28'000}}, {{130 * kS, kWhole, 28'000}});
  recording.nodes["n-1"].heard_unix_us = 120 * kS;
  TEST_ASSERT_TRUE(judge(recording).shares_kept());
  // Its last word was the change itself.
  recording.nodes["n-1"].heard_unix_us = 110 * kS;
  TEST_ASSERT_TRUE(judge(recording).shares_kept());
  // But before its last word it counts.
  recording.nodes["n-1"].heard_unix_us = 140 * kS;
  TEST_ASSERT_FALSE(judge(recording).shares_kept());
}

TEST(a_cut_of_the_budget_has_three_seconds_to_arrive) {
  const auto cut = [](std::int64_t settled_us) {
    FleetRecording recording =
        two({{110 * kS, kWhole / 2, 15'000}, {settled_us, kWhole / 2, 10'000}},
            {{110 * kS, kWhole / 2, 15'000}, {settled_us, kWhole / 2, 10'000}});
    recording.budgets.push_back({150 * kS, 20'000});
    return judge(recording);
  };
  TEST_ASSERT_TRUE(cut(152 * kS).budget_kept());
  // Between the cut's end of grace and the boards' change nothing was told: the sum still stood.
  const FleetVerdict late = cut(155 * kS);
  TEST_ASSERT_FALSE(late.budget_kept());
  TEST_ASSERT_EQUAL_INT64(10'000, late.most_over_mw);
}

TEST(what_is_drawn_while_a_task_is_throttled_is_told_apart) {
  FleetRecording recording = two({}, {});
  for (int s = 1; s <= 100; ++s) {
    recording.nodes["n-1"].power_w.push_back({static_cast<double>(s), s <= 40 ? 15.0 : 5.0});
    recording.nodes["n-1"].throttled.push_back({static_cast<double>(s), s <= 40 ? 1.0 : 0.0});
    recording.nodes["n-2"].power_w.push_back({static_cast<double>(s), 12.0});
  }
  FleetVerdict got = judge(recording);
  // The means of the first four reach back to before the first word.
  TEST_ASSERT_EQUAL_UINT64(36, got.throttled_seconds);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 27.0 / 30.0, got.drawn_throttled_part);
  TEST_ASSERT_TRUE(got.drawn_where_wanted());
  for (lab::Sample& s : recording.nodes["n-2"].power_w) s.value = 4.0;
  got = judge(recording);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 19.0 / 30.0, got.drawn_throttled_part);
  TEST_ASSERT_FALSE(got.drawn_where_wanted());
}

TEST(a_few_seconds_of_throttling_are_no_verdict) {
  FleetRecording recording = two({}, {});
  for (int s = 1; s <= 100; ++s) {
    recording.nodes["n-1"].power_w.push_back({static_cast<double>(s), 5.0});
    recording.nodes["n-1"].throttled.push_back({static_cast<double>(s), s <= 20 ? 1.0 : 0.0});
    recording.nodes["n-2"].power_w.push_back({static_cast<double>(s), 5.0});
  }
  FleetVerdict got = judge(recording);
  TEST_ASSERT_EQUAL_UINT64(16, got.throttled_seconds);
  TEST_ASSERT_TRUE(got.drawn_where_wanted());
  for (int s = 20; s < 24; ++s)
    recording.nodes["n-1"].throttled[static_cast<std::size_t>(s)].value = 1.0;
  got = judge(recording);
  TEST_ASSERT_EQUAL_UINT64(20, got.throttled_seconds);
  TEST_ASSERT_FALSE(got.drawn_where_wanted());
}

TEST(what_is_drawn_is_held_against_the_budget_once_a_cut_had_its_time) {
  FleetRecording recording = two({}, {});
  recording.budgets.push_back({150 * kS, 20'000});
  const auto draw = [&](const char* node, double at_s, double watts) {
    recording.nodes[node].power_w.push_back({at_s, watts});
  };
  for (int s = 1; s <= 100; ++s) {
    draw("n-1", s, s < 55 ? 14.0 : 9.0);
    if (s < 80) draw("n-2", s, s < 57 ? 15.0 : 10.5);
  }
  // 29 W of 30 before the cut; what was drawn until 8 s after it is still counted against the 30 W.
  FleetVerdict got = judge(recording);
  TEST_ASSERT_EQUAL_DOUBLE(19.5, got.drawn_most_w);
  TEST_ASSERT_EQUAL_DOUBLE(20.0, got.drawn_budget_w);
  TEST_ASSERT_TRUE(got.drawn_kept());
  // A board that was not heard for three seconds draws nothing that is known.
  TEST_ASSERT_EQUAL_DOUBLE(9.0, got.drawn_w.back().value);
  for (lab::Sample& s : recording.nodes["n-1"].power_w) s.value += s.at_s == 70.0 ? 1.2 : 0.0;
  got = judge(recording);
  TEST_ASSERT_EQUAL_DOUBLE(20.7, got.drawn_most_w);
  TEST_ASSERT_FALSE(got.drawn_kept());
}

TEST(a_task_ends_once_on_one_board) {
  FleetRecording recording = two({}, {});
  recording.tasks = {task("n-1", "a", {"queued", "running", "succeeded"}),
                     task("n-1", "b", {"running"}),
                     task("n-2", "c", {"running", "missed", "succeeded"}),
                     task("n-1", "d", {"cancelled"}),
                     task("n-2", "d", {"succeeded"}),
                     task("n-1", "e", {"running", "moved"}),
                     task("n-2", "e", {"succeeded"})};
  const FleetVerdict got = judge(recording);
  TEST_ASSERT_EQUAL_UINT64(5, got.tasks);
  TEST_ASSERT_EQUAL_UINT64(4, got.tasks_ended);
  TEST_ASSERT_EQUAL_UINT64(2, got.tasks_succeeded);
  TEST_ASSERT_EQUAL_UINT64(2, got.tasks_ended_twice);
}

TEST(a_board_that_was_away_is_told_with_where_its_tasks_went_on) {
  FleetRecording recording = two({}, {});
  recording.nodes["n-1"].lives = {{7.0, 0.0, 20.0}, {8.0, 28.5, 90.0}};
  lab::RecordedTask went_on = task("n-1", "goes-on", {"running"});
  went_on.samples = {{10.0, 4000.0}, {19.0, 9000.0}, {30.0, 8000.0}, {35.0, 12000.0}};
  lab::RecordedTask anew = task("n-1", "anew", {"running"});
  anew.samples = {{19.0, 500.0}, {30.0, 0.0}, {35.0, 700.0}};
  lab::RecordedTask over = task("n-1", "over", {"running", "succeeded"});
  over.samples = {{10.0, 100.0}, {40.0, 100.0}};
  lab::RecordedTask elsewhere = task("n-2", "elsewhere", {"running"});
  elsewhere.samples = {{10.0, 100.0}, {40.0, 200.0}};
  recording.tasks = {went_on, anew, over, elsewhere};
  const FleetVerdict got = judge(recording);
  TEST_ASSERT_EQUAL_UINT64(1, got.comebacks.size());
  TEST_ASSERT_EQUAL_STRING("n-1", got.comebacks[0].node.c_str());
  TEST_ASSERT_EQUAL_DOUBLE(20.0, got.comebacks[0].silent_at_s);
  TEST_ASSERT_EQUAL_DOUBLE(28.5, got.comebacks[0].back_at_s);
  TEST_ASSERT_EQUAL_UINT64(2, got.comebacks[0].tasks.size());
  TEST_ASSERT_EQUAL_DOUBLE(9000.0, got.comebacks[0].tasks[0].samples_before);
  TEST_ASSERT_EQUAL_DOUBLE(8000.0, got.comebacks[0].tasks[0].samples_after);
  TEST_ASSERT_EQUAL_DOUBLE(0.0, got.comebacks[0].tasks[1].samples_after);
}

TEST(tasks_out_of_reach_by_design_are_counted_apart) {
  FleetRecording recording = two({}, {});
  recording.tasks = {task("n-1", "a", {"succeeded"}), task("n-1", "b", {"missed"}),
                     task("n-2", "c", {"missed"}), task("n-2", "d", {"succeeded"})};
  recording.tasks[2].out_of_reach = recording.tasks[3].out_of_reach = true;
  const FleetVerdict got = judge(recording);
  TEST_ASSERT_EQUAL_UINT64(4, got.tasks);
  TEST_ASSERT_EQUAL_UINT64(2, got.tasks_succeeded);
  TEST_ASSERT_EQUAL_UINT64(2, got.tasks_out_of_reach);
  TEST_ASSERT_EQUAL_UINT64(1, got.out_of_reach_succeeded);
}
