#include "control/screen/rows.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using mqtt::TopicKind;

namespace {

void add_board(FleetView& view, const char* node, mqtt::NodeState state, std::int64_t mw,
               bool fenced = false, std::uint64_t rev = 1) {
  view.take({TopicKind::kStatus, "lab", node, ""}, mqtt::to_text(mqtt::NodeStatus{state, 1, 1}));
  mqtt::NodeReport report;
  report.unix_ms = 1'800'000'000'000;
  report.config_rev = rev;
  report.fenced = fenced;
  report.power_mw = {0, mw, 2'000, 40'000};
  view.take({TopicKind::kReport, "lab", node, ""}, mqtt::to_text(report));
}

TaskView task(const char* text) { return {"n-1", *json::parse(text, "task")}; }

}  // namespace

TEST(rows_have_a_cell_for_each_column) {
  FleetView view;
  add_board(view, "n-1", mqtt::NodeState::kReady, 20'000);
  for (const bool wide : {false, true}) {
    const auto row = board_row("n-1", view.boards().at("n-1"), wide, 1'800'000'003'000);
    TEST_ASSERT_EQUAL_UINT64(board_columns(wide).size(), row.size());
    TEST_ASSERT_EQUAL_STRING("3s", row[kAgeColumn].c_str());
    const TaskView one = task(R"({"name":"a","state":"running"})");
    for (const bool with_board : {false, true}) {
      TEST_ASSERT_EQUAL_UINT64(task_columns(with_board, wide).size(),
                               task_row(one, with_board, wide).size());
    }
  }
}

TEST(the_verdict_says_what_is_wrong) {
  FleetView view;
  TEST_ASSERT_TRUE(verdict_of(view).level == Verdict::Level::kWarning);
  add_board(view, "n-1", mqtt::NodeState::kReady, 20'000);
  add_board(view, "n-2", mqtt::NodeState::kReady, 20'000);
  TEST_ASSERT_EQUAL_STRING("ok: 2 of 2 boards live, 40.0 W given out of 40.0 W",
                           verdict_of(view).text.c_str());
  add_board(view, "n-2", mqtt::NodeState::kLost, 20'000);
  TEST_ASSERT_EQUAL_STRING("warning: 1 of 2 boards live, 22.0 W given out of 40.0 W; n-2 is lost",
                           verdict_of(view).text.c_str());
  add_board(view, "n-2", mqtt::NodeState::kReady, 2'000, true, 2);
  const Verdict fenced = verdict_of(view);
  TEST_ASSERT_TRUE(fenced.text.find("1 fenced") != std::string::npos);
  TEST_ASSERT_TRUE(fenced.text.find("budget revision 1") != std::string::npos);
  add_board(view, "n-2", mqtt::NodeState::kReady, 21'000);
  TEST_ASSERT_TRUE(verdict_of(view).level == Verdict::Level::kBroken);
}

TEST(a_task_is_at_risk_when_it_is_more_likely_missed_than_met) {
  TEST_ASSERT_TRUE(
      is_at_risk(task(R"({"state":"running","deadline_in_s":5,"forecast":{"probability":0.4}})")));
  TEST_ASSERT_FALSE(
      is_at_risk(task(R"({"state":"running","deadline_in_s":5,"forecast":{"probability":0.6}})")));
  TEST_ASSERT_FALSE(is_at_risk(task(R"({"state":"running","deadline_in_s":5})")));
  TEST_ASSERT_FALSE(is_at_risk(task(R"({"state":"missed","deadline_in_s":-5})")));
  TEST_ASSERT_TRUE(is_at_risk(task(R"({"state":"running","deadline_in_s":0.0})")));
}

TEST(a_schedule_is_at_no_risk_and_shows_no_deadline_but_its_next_run) {
  for (const char* state : {"scheduled", "paused"}) {
    for (const char* deadline : {"0.0", "-1.5", "null", "60"}) {
      const std::string text = std::string(R"({"name":"night","state":")") + state +
                               R"(","deadline_in_s":)" + deadline +
                               R"(,"recurs":{"next_in_s":null}})";
      TEST_ASSERT_FALSE(is_at_risk(task(text.c_str())));
      const std::vector<std::string> row = task_row(task(text.c_str()), false, false);
      TEST_ASSERT_EQUAL_STRING("-", row.at(row.size() - 2).c_str());
    }
  }
  const TaskView next = task(R"({"state":"scheduled","recurs":{"next_in_s":60}})");
  const std::vector<std::string> row = task_row(next, false, false);
  TEST_ASSERT_EQUAL_STRING("run in 1m00s", row.at(row.size() - 2).c_str());
}

TEST(a_description_says_what_the_task_still_needs) {
  const TaskView view = task(
      R"({"name":"t","state":"running","need":{"probability":0.4,"reach":0.8,)"
      R"("samples":{"low":1,"median":2,"high":3},"seconds":{"low":20,"median":45,"high":7300}}})");
  TEST_ASSERT_TRUE(describe_task(view).find("needs         45s of its lane, between 20s and") !=
                   std::string::npos);
  // One probability: that it is met by its deadline.
  TEST_ASSERT_TRUE(describe_task(view).find("80%") == std::string::npos);
}

TEST(a_throttled_task_says_by_whose_limit) {
  const TaskView by_share =
      task(R"({"name":"t","state":"throttled","throttled":{"by":"fleet","limit_w":8.25}})");
  TEST_ASSERT_TRUE(
      describe_task(by_share).find(
          "state         throttled by the board's share of the fleet's power, 8.2 W") !=
      std::string::npos);
  TEST_ASSERT_EQUAL_STRING("by the board's share of the fleet's power, 8.2 W",
                           task_row(by_share, false, true).back().c_str());
  const TaskView by_cap =
      task(R"({"name":"t","state":"throttled","throttled":{"by":"operator","limit_w":8}})");
  TEST_ASSERT_EQUAL_STRING("by the operator's cap of 8.0 W",
                           task_row(by_cap, false, true).back().c_str());
  const TaskView by_time = task(
      R"({"name":"t","state":"throttled","throttled":{"by":"fleet-time","limit_ratio":0.25}})");
  TEST_ASSERT_EQUAL_STRING("by the board's share of the fleet's lanes, 25% of its lane",
                           task_row(by_time, false, true).back().c_str());
}

TEST(a_co_training_task_shows_its_round_who_takes_part_and_what_the_model_is_worth) {
  TaskView view = task(
      R"({"name":"t","state":"throttled","reason":"made by n-1, n-2",)"
      R"("throttled":{"by":"operator","limit_w":8},"fleet":{"boards":null,"round":29,"rounds":300,)"
      R"("epsilon":5.617,"delta":1e-5,"accuracy":0.8,"waits_for":["n-2"],)"
      R"("members":[{"node":"n-1","rows":9,"accuracy":0.81},{"node":"n-2","rows":9,"accuracy":0.79}]}})");
  view.board = "n-2";
  const std::vector<Column> columns = task_columns(false, true);
  const std::vector<std::string> row = task_row(view, false, true);
  const auto cell = [&](std::string_view name) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      if (columns[k].head == name) return row.at(k);
    }
    return std::string("no such column");
  };
  TEST_ASSERT_EQUAL_STRING("2", cell("BOARDS").c_str());
  TEST_ASSERT_EQUAL_STRING("29/300", cell("ROUND").c_str());
  TEST_ASSERT_EQUAL_STRING("79%", cell("HELD_OUT").c_str());
  TEST_ASSERT_EQUAL_STRING("by the operator's cap of 8.0 W; made by n-1, n-2", cell("WHY").c_str());
  const std::string described = describe_task(view);
  for (const char* part :
       {"state         throttled by the operator's cap of 8.0 W: made by n-1, n-2\n",
        "group         round 29 of 300; waits for n-2; this board has told of its rows: epsilon "
        "5.62 at "
        "delta 1e-05; right on rows held out: 80% (n-1 81%, n-2 79%)\n"}) {
    TEST_ASSERT_TRUE_MESSAGE(described.find(part) != std::string::npos, described.c_str());
  }
  const std::vector<std::string> plain = task_row(task(R"({"name":"t"})"), false, true);
  TEST_ASSERT_EQUAL_STRING("-", plain.at(plain.size() - 5).c_str());
}

TEST(a_board_shows_what_it_asks_for_beside_what_it_has_and_draws) {
  FleetView view;
  view.take({TopicKind::kStatus, "lab", "n-1", ""},
            mqtt::to_text(mqtt::NodeStatus{mqtt::NodeState::kReady, 1, 1}));
  mqtt::NodeReport report;
  report.power_mw = {0, 20'000, 2'000, 40'000, 26'500};
  report.power_mw_now = 14'200;
  report.tasks_running = 2;
  report.tasks_throttled = 1;
  view.take({TopicKind::kReport, "lab", "n-1", ""}, mqtt::to_text(report));
  const auto row = board_row("n-1", view.boards().at("n-1"), false, 0);
  const auto columns = board_columns(false);
  const auto cell = [&](const std::string& head) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].head == head) return row[i];
    }
    return std::string("no such column");
  };
  TEST_ASSERT_EQUAL_STRING("26.5", cell("ASKS_W").c_str());
  TEST_ASSERT_EQUAL_STRING("20.0", cell("CAP_W").c_str());
  TEST_ASSERT_EQUAL_STRING("14.2", cell("POWER_W").c_str());
  TEST_ASSERT_EQUAL_STRING("2", cell("RUNNING").c_str());
  TEST_ASSERT_EQUAL_STRING("1", cell("THROTTLED").c_str());
  TEST_ASSERT_TRUE(sums_of(view).demand_w == 26.5);
}

TEST(descriptions_hold_with_nothing_known) {
  TEST_ASSERT_TRUE(describe_board("n-1", BoardView{}, 0).find("none yet") != std::string::npos);
  TEST_ASSERT_TRUE(describe_task(TaskView{}).find("task") == 0);
}
