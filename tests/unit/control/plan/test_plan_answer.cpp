#include "control/plan/plan_answer.hpp"

#include <algorithm>

#include "agent/placement/planner/plan_json.hpp"
#include "agent/placement/search/solve.hpp"
#include "control/plan/fleet_facts.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/plan/told_fleet.hpp"

using namespace laird;
using namespace laird::control;
using test::tell_board;
using test::tell_task;

namespace {

FleetPlan plan_of(const FleetView& view) {
  FleetPlan plan;
  plan.facts = fleet_facts(view, "lab");
  auto of = placement::fleet_instance(plan.facts);
  TEST_ASSERT_TRUE(of.has_value());
  plan.of = std::move(*of);
  auto solved = placement::solve(plan.of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_TRUE(solved.has_value());
  plan.plan = std::move(*solved);
  return plan;
}

// Two boards, the second twice as fast; one task runs on the first, one waits there.
FleetPlan sample() {
  FleetView view;
  tell_board(view, "n-1", "ready", 1000);
  tell_board(view, "n-2", "ready", 2000);
  tell_board(view, "n-3", "drained", 2000);
  tell_task(view, "n-1", "runs",
            R"("state":"running","samples":50,"rate":10,"deadline_in_s":900,)"
            R"("need":{"seconds":{"low":500,"median":600,"high":700}})");
  tell_task(view, "n-1", "waits",
            R"("state":"queued","samples":0,"planned_samples":4000,"deadline_in_s":1000)");
  tell_task(view, "n-1", "paused", R"("state":"held","samples":0,"deadline_in_s":1000)");
  return plan_of(view);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(the_headline_says_when_all_is_done_and_what_no_plan_can_beat) {
  const std::string text = headline(sample());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "lab: 2 tasks on 2 boards"), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "all done in 10m00s, and no plan ends sooner"), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "deadlines met: 2 of 2"), text.c_str());
}

TEST(the_chart_has_a_line_for_each_lane_as_wide_as_the_terminal) {
  const std::string chart = gantt(sample(), 45);
  TEST_ASSERT_EQUAL_STRING(
      "     now                               10m00s\n"
      "n-1  AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
      "n-2  BBBBBBBBBBBBB...........................\n"
      "n-3  takes no one                            \n",
      chart.c_str());
}

TEST(the_table_says_where_and_why_and_what_else_it_could_be) {
  const std::string text = plan_text(sample(), 80);
  TEST_ASSERT_TRUE_MESSAGE(has(text, "stays: it has begun"), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "now on n-1; n-1: "), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "its planned samples; speed scaled from other boards"),
                           text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(text, "not planned: paused: an operator paused it"), text.c_str());
}

TEST(why_a_task_is_there_is_told_with_the_second_best_place) {
  const FleetPlan plan = sample();
  const auto told = why_there(plan, "waits");
  TEST_ASSERT_TRUE(told.has_value());
  TEST_ASSERT_TRUE_MESSAGE(has(*told, "Second best is n-1"), told->c_str());
  TEST_ASSERT_TRUE(why_there(plan, "paused").has_value());
  TEST_ASSERT_FALSE(why_there(plan, "nobody").has_value());
}

TEST(why_a_task_is_there_is_told_with_every_place_that_it_could_have) {
  FleetView view;
  for (const char* board : {"n-1", "n-2", "n-3", "n-4"}) tell_board(view, board, "ready", 1000);
  tell_board(view, "n-9", "ready", 2000);
  tell_task(view, "n-1", "waits", R"("state":"queued","samples":0,"deadline_in_s":1000)");
  const auto told = why_there(plan_of(view), "waits");
  TEST_ASSERT_TRUE(told.has_value());
  TEST_ASSERT_TRUE_MESSAGE(has(*told, "waits is on n-9"), told->c_str());
  TEST_ASSERT_TRUE_MESSAGE(has(*told, "Second best is n-1"), told->c_str());
  for (const char* line : {"\nOr n-2: ", "\nOr n-3: ", "\nOr n-4: "}) {
    TEST_ASSERT_TRUE_MESSAGE(has(*told, line), told->c_str());
  }
  for (int b = 10; b < 50; ++b) tell_board(view, "n-" + std::to_string(b), "ready", 1000);
  const auto many = why_there(plan_of(view), "waits");
  TEST_ASSERT_TRUE(std::count(many->begin(), many->end(), '\n') < 30);
  TEST_ASSERT_TRUE_MESSAGE(has(*many, "And 23 places that are no better."), many->c_str());
}

TEST(what_a_board_says_makes_no_line_of_its_own) {
  FleetView view;
  tell_board(view, "n-1", "ready", 1000);
  test::tell(view, "n-2", mqtt::TopicKind::kStatus,
             R"({"s":"laird.status/1.0","state":"ready","epoch":1})");
  test::tell(view, "n-2", mqtt::TopicKind::kInfo,
             R"({"s":"laird.info/1.0","module":"m\nn-1: forged","lanes":["a\nforged","b"],)"
             R"("lane_kinds":["cpu","cpu"],"trainers":["softmax"],"memory_bytes":1000000000})");
  tell_task(view, "n-1", "waits", R"("state":"queued","samples":0,"deadline_in_s":1000)");
  test::tell(view, "n-1", mqtt::TopicKind::kTask,
             R"({"s":"laird.task/1.0","epoch":1,"seq":1,"name":"alien","lane":"cpu",)"
             R"("trainer":"t\nforged","memory_bytes":9e12,"state":"queued","deadline_in_s":1000})",
             "alien");
  const FleetPlan plan = plan_of(view);
  for (const std::string& text :
       {plan_text(plan, 80), *why_there(plan, "waits"), *why_there(plan, "alien")}) {
    TEST_ASSERT_FALSE_MESSAGE(has(text, "\nforged"), text.c_str());
    TEST_ASSERT_FALSE_MESSAGE(has(text, "\nn-1: forged"), text.c_str());
  }
  TEST_ASSERT_TRUE(has(plan_text(plan, 80), "n-2/a forged"));
  FleetPlan left = plan;
  left.of.left_out.push_back({"made-up", "no\nforged"});
  TEST_ASSERT_EQUAL_STRING("made-up is not planned: no forged\n",
                           why_there(left, "made-up")->c_str());
}

TEST(the_second_best_places_of_a_large_plan_are_told_only_when_asked_for) {
  FleetView view;
  tell_board(view, "n-1", "ready", 1000);
  tell_board(view, "n-2", "ready", 1000);
  for (int t = 0; t < 400; ++t) {
    tell_task(view, "n-1", "t" + std::to_string(t),
              R"("state":"queued","samples":0,"deadline_in_s":1000)");
  }
  const FleetPlan plan = plan_of(view);
  TEST_ASSERT_TRUE(has(plan_text(plan, 80), "ask with --why"));
  TEST_ASSERT_TRUE(has(*why_there(plan, "t7"), "Second best is "));
  TEST_ASSERT_FALSE(has(plan_text(sample(), 80), "ask with --why"));
}

TEST(programs_get_the_instance_and_a_plan_of_it_that_reads_back) {
  const json::Value out = plan_answer_json(sample());
  const auto instance = placement::read_instance(*out.find("instance"));
  TEST_ASSERT_TRUE(instance.has_value());
  TEST_ASSERT_TRUE(placement::read_plan(*out.find("plan"), *instance).has_value());
  TEST_ASSERT_EQUAL(2, out.find("tasks")->items().size());
  const json::Value& waits = out.find("tasks")->items()[1];
  TEST_ASSERT_EQUAL_STRING("waits", waits.find("task")->as_string().c_str());
  TEST_ASSERT_EQUAL_STRING("n-2", waits.find("node")->as_string().c_str());
  TEST_ASSERT_TRUE(waits.find("moves")->as_bool());
  TEST_ASSERT_EQUAL(1, out.find("left_out")->items().size());
}

TEST(the_page_has_every_task_and_escapes_what_boards_say) {
  FleetPlan plan = sample();
  plan.of.left_out.push_back({"<b>", "it says <script>"});
  const std::string page = plan_page(plan);
  TEST_ASSERT_TRUE(has(page, "waits"));
  TEST_ASSERT_TRUE(has(page, "<svg"));
  TEST_ASSERT_FALSE(has(page, "<script>"));
  TEST_ASSERT_TRUE(has(page, "it says &lt;script&gt;"));
}
