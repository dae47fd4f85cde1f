#include "control/fleet/fleet_view.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using mqtt::TopicKind;

namespace {

void tell(FleetView& view, const char* node, TopicKind kind, const std::string& payload,
          const char* name = "") {
  view.take({kind, "lab", node, name}, payload);
}

std::string status(mqtt::NodeState state, std::uint64_t epoch) {
  return mqtt::to_text(mqtt::NodeStatus{state, epoch, 1});
}

std::string report(std::int64_t enforced_mw, std::int64_t budget_mw, std::uint64_t rev = 1,
                   bool fenced = false) {
  mqtt::NodeReport out;
  out.config_rev = rev;
  out.fenced = fenced;
  out.power_mw = {0, enforced_mw, 2'000, budget_mw};
  out.power_mw_now = 5'000;
  return mqtt::to_text(out);
}

}  // namespace

TEST(a_board_is_what_its_topics_say) {
  FleetView view;
  tell(view, "n-1", TopicKind::kStatus, status(mqtt::NodeState::kReady, 3));
  tell(view, "n-1", TopicKind::kReport, report(17'000, 60'000));
  const BoardView& board = view.boards().at("n-1");
  TEST_ASSERT_TRUE(board.is_live());
  TEST_ASSERT_TRUE(board.number("shares/power/enforced_w") == 17.0);
  TEST_ASSERT_FALSE(board.number("shares/power/nothing").has_value());
  TEST_ASSERT_FALSE(board.flag("fenced"));
}

TEST(a_death_counts_only_for_its_own_birth) {
  FleetView view;
  tell(view, "n-1", TopicKind::kStatus, status(mqtt::NodeState::kReady, 5));
  tell(view, "n-1", TopicKind::kStatus, status(mqtt::NodeState::kLost, 4));
  TEST_ASSERT_EQUAL_STRING("ready", view.boards().at("n-1").state.c_str());
  tell(view, "n-1", TopicKind::kStatus, status(mqtt::NodeState::kLost, 5));
  TEST_ASSERT_EQUAL_STRING("lost", view.boards().at("n-1").state.c_str());
}

TEST(below_zero_means_not_limited) {
  FleetView view;
  tell(view, "n-1", TopicKind::kReport, report(-1, -1));
  TEST_ASSERT_FALSE(view.boards().at("n-1").number("shares/power/enforced_w").has_value());
}

TEST(a_cleared_task_and_a_purged_board_are_gone) {
  FleetView view;
  tell(view, "n-1", TopicKind::kTask, R"({"s":"laird.task/1.0","name":"a","state":"running"})",
       "a");
  TEST_ASSERT_EQUAL_UINT64(1, view.tasks().size());
  TEST_ASSERT_FALSE(view.tasks().begin()->second.is_ended());
  tell(view, "n-1", TopicKind::kTask, "", "a");
  TEST_ASSERT_TRUE(view.tasks().empty());
  tell(view, "n-1", TopicKind::kInfo, R"({"s":"laird.info/1.0"})");
  tell(view, "n-1", TopicKind::kInfo, "");
  TEST_ASSERT_TRUE(view.boards().empty());
}

TEST(nonsense_changes_nothing) {
  FleetView view;
  for (const char* bad : {"", "{", "[]", "{\"s\":\"laird.status/2.0\"}", "\xff"}) {
    tell(view, "n-1", TopicKind::kStatus, bad);
    tell(view, "n-1", TopicKind::kEvent, bad, "task");
    tell(view, "all", TopicKind::kFleetConfig, bad);
  }
  TEST_ASSERT_TRUE(view.events().empty());
  TEST_ASSERT_FALSE(view.budget().has_value());
  TEST_ASSERT_TRUE(view.boards().empty() || !view.boards().begin()->second.is_live());
}

TEST(events_are_kept_up_to_a_limit) {
  FleetView view;
  for (std::size_t i = 0; i < FleetView::kEventsKept + 10; ++i) {
    mqtt::NodeEvent event;
    event.seq = i;
    event.kind = "task";
    tell(view, "n-1", TopicKind::kEvent, mqtt::to_text(event), "task");
  }
  TEST_ASSERT_EQUAL_UINT64(FleetView::kEventsKept, view.events().size());
  TEST_ASSERT_TRUE(number_at(view.events().front().event, "seq") == 10.0);
}

TEST(the_plan_comes_out_of_its_envelope) {
  FleetView view;
  mqtt::Command command;
  command.id = "x";
  command.fleet = "lab";
  command.to = "all";
  command.verb = "config";
  command.body = json::Value::object().set("rev", 7);
  mqtt::Envelope envelope{mqtt::to_signed_text(command), "op-alice", std::string(64, 'x')};
  tell(view, "all", TopicKind::kFleetConfig, mqtt::to_text(envelope));
  TEST_ASSERT_TRUE(view.budget().has_value());
  TEST_ASSERT_TRUE(view.budget()->rev == 7);
  TEST_ASSERT_EQUAL_STRING("op-alice", view.budget()->op.c_str());
}

TEST(sums_count_boards_that_are_away_with_their_floor) {
  FleetView view;
  for (const char* node : {"n-1", "n-2", "n-3"}) {
    tell(view, node, TopicKind::kStatus, status(mqtt::NodeState::kReady, 1));
    tell(view, node, TopicKind::kReport, report(20'000, 60'000));
  }
  FleetSums sums = sums_of(view);
  TEST_ASSERT_TRUE(sums.enforced_w == 60.0 && !sums.over_budget());
  tell(view, "n-3", TopicKind::kStatus, status(mqtt::NodeState::kLost, 1));
  sums = sums_of(view);
  TEST_ASSERT_TRUE(sums.enforced_w == 42.0);
  TEST_ASSERT_TRUE(sums.power_w && *sums.power_w == 10.0);
  TEST_ASSERT_EQUAL_UINT64(2, sums.live);
  tell(view, "n-1", TopicKind::kReport, report(39'000, 60'000));
  TEST_ASSERT_TRUE(sums_of(view).over_budget());
}

TEST(a_board_without_a_cap_under_a_budget_is_over_it) {
  FleetView view;
  tell(view, "n-1", TopicKind::kStatus, status(mqtt::NodeState::kReady, 1));
  tell(view, "n-1", TopicKind::kReport, report(-1, 60'000));
  TEST_ASSERT_TRUE(sums_of(view).over_budget());
}

TEST(the_newest_revision_says_what_the_budget_is) {
  FleetView view;
  for (const char* node : {"n-1", "n-2"}) {
    tell(view, node, TopicKind::kStatus, status(mqtt::NodeState::kReady, 1));
  }
  tell(view, "n-1", TopicKind::kReport, report(10'000, 40'000, 5));
  tell(view, "n-2", TopicKind::kReport, report(10'000, 60'000, 4));
  const FleetSums sums = sums_of(view);
  TEST_ASSERT_TRUE(sums.budget_w == 40.0);
  TEST_ASSERT_TRUE(sums.rev_lowest == 4 && sums.rev_highest == 5);
}
