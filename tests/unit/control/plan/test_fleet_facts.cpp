#include "control/plan/fleet_facts.hpp"

#include "agent/placement/fleet/new_task.hpp"
#include "agent/placement/search/solve.hpp"
#include "control/plan/plan_answer.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/plan/told_fleet.hpp"

using namespace laird;
using namespace laird::control;
using test::tell;
using test::tell_board;
using test::tell_task;

namespace {

constexpr const char* kGood = R"("state":"queued","samples":0,"deadline_in_s":1000)";

// Plans the fleet, and a new task for it; whatever boards say, the good board's task is planned.
void check_planned(const FleetView& view, const std::string& what) {
  FleetPlan plan;
  plan.facts = fleet_facts(view, "lab");
  auto of = placement::fleet_instance(plan.facts);
  TEST_ASSERT_TRUE_MESSAGE(of.has_value(), what.c_str());
  plan.of = std::move(*of);
  auto solved = placement::solve(plan.of.instance, {1, 2'000, nullptr});
  TEST_ASSERT_TRUE_MESSAGE(solved.has_value(), what.c_str());
  plan.plan = std::move(*solved);
  TEST_ASSERT_TRUE_MESSAGE(plan_text(plan, 80).find("good") != std::string::npos, what.c_str());
  TEST_ASSERT_TRUE_MESSAGE(why_there(plan, "good").has_value(), what.c_str());
  static_cast<void>(json::to_text(plan_answer_json(plan)));
  placement::TaskFact task;
  task.name = "new";
  task.trainer = "softmax";
  task.deadline_in_s = 1000.0;
  const auto places = placement::places_for(plan.facts, task, 2'000);
  TEST_ASSERT_TRUE_MESSAGE(places.has_value(), what.c_str());
  bool good = false;
  for (const placement::NewPlace& place : places->places) good = good || place.board == "n-1";
  TEST_ASSERT_TRUE_MESSAGE(good, what.c_str());
}

FleetView with_a_good_board() {
  FleetView view;
  tell_board(view, "n-1", "ready", 1000);
  tell_task(view, "n-1", "good", kGood);
  tell(view, "n-2", mqtt::TopicKind::kStatus,
       R"({"s":"laird.status/1.0","state":"ready","epoch":1})");
  return view;
}

// Everything that a board can say in numbers, as that text.
void tell_odd(FleetView& view, const std::string& n) {
  const auto field = [&](const char* key) { return "\"" + std::string(key) + "\":" + n; };
  tell(view, "n-2", mqtt::TopicKind::kInfo,
       R"({"s":"laird.info/1.0","module":"m","lanes":["cpu0"],"lane_kinds":["cpu"],)"
       R"("trainers":["softmax"],)" +
           field("memory_bytes") + R"(,"hardware":{)" + field("cpu_cores") + "," +
           field("cpu_mhz") + "," + field("cuda_cores") + "," + field("gpu_mhz") + "," +
           field("memory_gb_s") + "," + field("gpu_w") + "," + field("cpu_w") +
           R"(},"works":[{"trainer":"softmax","work":"w","lane":"cpu",)" + field("samples_per_s") +
           "," + field("samples") + "," + field("target_loss") + "}]}");
  for (const char* state : {"running", "queued", "ready"}) {
    const std::string name = std::string("odd-") + state;
    tell(view, "n-2", mqtt::TopicKind::kTask,
         R"({"s":"laird.task/1.0","epoch":1,"seq":1,"lane":"cpu","trainer":"softmax",)"
         R"("work":"w","name":")" +
             name + R"(","state":")" + state + "\"," + field("memory_bytes") + "," + field("rate") +
             "," + field("samples") + "," + field("planned_samples") + "," + field("target_loss") +
             "," + field("weight") + "," + field("deadline_in_s") + R"(,"need":{)" +
             field("probability") + R"(,"seconds":{)" + field("low") + "," + field("median") + "," +
             field("high") + "}}}",
         name);
  }
}

}  // namespace

TEST(odd_numbers_of_one_board_spoil_no_plan) {
  for (const char* n : {"0",
                        "-1",
                        "1e-320",
                        "-1e-320",
                        "2.2e-308",
                        "1e-30",
                        "1e-9",
                        "1e9",
                        "1e15",
                        "1e16",
                        "1e300",
                        "1.7e308",
                        "-1e300",
                        "9223372036854775807",
                        "-9223372036854775808",
                        "\"NaN\"",
                        "\"inf\"",
                        "null",
                        "true",
                        "[]",
                        "{}"}) {
    FleetView view = with_a_good_board();
    tell_odd(view, n);
    check_planned(view, n);
  }
}

TEST(more_than_a_board_can_have_spoils_no_plan) {
  FleetView view = with_a_good_board();
  std::string lanes;
  for (int i = 0; i < 300; ++i) lanes += "\"cpu" + std::to_string(i % 7) + "\",";
  tell(view, "n-2", mqtt::TopicKind::kInfo,
       R"({"s":"laird.info/1.0","trainers":["softmax"],"memory_bytes":1e12,"lanes":[)" + lanes +
           R"("cpu1"],"lane_kinds":[]})");
  for (int i = 0; i < 1'500; ++i) {
    tell_task(view, "n-2", "t" + std::to_string(i),
              R"("state":"ready","deadline_in_s":1e9,"weight":100,)"
              R"("need":{"seconds":{"low":1e9,"median":1e9,"high":1e15}})");
  }
  const placement::FleetFacts facts = fleet_facts(view, "lab");
  TEST_ASSERT_EQUAL(1 + placement::kTasksOfBoardMax, facts.tasks.size());
  TEST_ASSERT_TRUE(facts.boards[1].lanes.size() <= placement::kLanesOfBoardMax);
  check_planned(view, "too many");
}

TEST(a_payload_speaks_of_the_task_of_its_topic_and_of_no_other) {
  FleetView view = with_a_good_board();
  tell_board(view, "n-2", "ready", 1000);
  for (const char* topic : {"one", "two", "good"}) {
    tell(view, "n-2", mqtt::TopicKind::kTask,
         R"({"s":"laird.task/1.0","epoch":1,"seq":1,"name":"one","lane":"cpu",)"
         R"("trainer":"softmax","state":"queued","deadline_in_s":1000})",
         topic);
  }
  const placement::FleetFacts facts = fleet_facts(view, "lab");
  TEST_ASSERT_EQUAL(2, facts.tasks.size());
  TEST_ASSERT_EQUAL_STRING("good", facts.tasks[0].name.c_str());
  TEST_ASSERT_EQUAL_STRING("n-1", facts.tasks[0].board.c_str());
  TEST_ASSERT_EQUAL_STRING("one", facts.tasks[1].name.c_str());
  check_planned(view, "names");
}
