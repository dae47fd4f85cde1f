// Who holds what nobody uses.
#include "control/screen/undrawn.hpp"

#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;
using mqtt::TopicKind;

namespace {

constexpr std::int64_t kBudgetMw = 60'000;

void add_board(FleetView& view, const char* node, std::int64_t share_mw, std::int64_t drawn_mw,
               mqtt::NodeState state = mqtt::NodeState::kReady) {
  view.take({TopicKind::kStatus, "lab", node, ""}, mqtt::to_text(mqtt::NodeStatus{state, 1, 1}));
  mqtt::NodeReport report;
  report.config_rev = 1;
  report.power_mw = {0, share_mw, 2'000, kBudgetMw, share_mw};
  report.power_mw_now = drawn_mw;
  view.take({TopicKind::kReport, "lab", node, ""}, mqtt::to_text(report));
}

void add_task(FleetView& view, const char* node, const char* name, const char* by) {
  const std::string state = *by == '\0' ? "running" : "throttled";
  std::string text =
      R"({"s":"laird.task/1.0","name":")" + std::string(name) + R"(","state":")" + state + "\"";
  if (*by != '\0') text += R"(,"throttled":{"by":")" + std::string(by) + R"(","limit_w":20})";
  view.take({TopicKind::kTask, "lab", node, name}, text + "}");
}

}  // namespace

TEST(power_that_nobody_draws_while_a_task_is_throttled_is_told_with_its_holders) {
  FleetView view;
  add_board(view, "n-1", 25'000, 7'000);
  add_board(view, "n-2", 20'000, 20'000);
  add_board(view, "n-3", 15'000, 12'000);
  add_task(view, "n-2", "slow", "fleet");
  const auto undrawn = undrawn_of(view);
  TEST_ASSERT_TRUE(undrawn.has_value());
  TEST_ASSERT_EQUAL_STRING("21.0 W of 60.0 W is drawn by nobody while 'slow' on n-2 is throttled",
                           what_text(*undrawn).c_str());
  TEST_ASSERT_EQUAL_STRING("held by n-1 (18.0 W), n-3 (3.0 W)", holders_text(*undrawn).c_str());
  TEST_ASSERT_TRUE(json_of(*undrawn).find("holders")->items().size() == 2);
}

TEST(nothing_is_told_while_nobody_is_throttled_by_a_share) {
  FleetView view;
  add_board(view, "n-1", 30'000, 7'000);
  add_board(view, "n-2", 30'000, 20'000);
  add_task(view, "n-2", "free", "");
  TEST_ASSERT_FALSE(undrawn_of(view).has_value());
  // More of the fleet's power would not help this one.
  add_task(view, "n-2", "capped", "operator");
  TEST_ASSERT_FALSE(undrawn_of(view).has_value());
}

TEST(a_tenth_of_the_budget_may_be_undrawn) {
  FleetView view;
  add_board(view, "n-1", 30'000, 26'000);
  add_board(view, "n-2", 30'000, 28'000);
  add_task(view, "n-2", "slow", "fleet");
  TEST_ASSERT_FALSE(undrawn_of(view).has_value());
  add_board(view, "n-1", 30'000, 25'900);
  TEST_ASSERT_TRUE(undrawn_of(view).has_value());
}

TEST(a_board_that_is_away_holds_its_floor) {
  FleetView view;
  add_board(view, "n-1", 30'000, 20'000, mqtt::NodeState::kLost);
  add_board(view, "n-2", 30'000, 30'000);
  add_task(view, "n-2", "slow", "fleet");
  const auto undrawn = undrawn_of(view);
  TEST_ASSERT_TRUE(undrawn.has_value());
  TEST_ASSERT_EQUAL_STRING("n-1", undrawn->holders.front().first.c_str());
  TEST_ASSERT_TRUE(undrawn->holders.front().second == 2.0);
  TEST_ASSERT_EQUAL_STRING("28.0 W is given to no board; held by n-1 (2.0 W)",
                           holders_text(*undrawn).c_str());
}

TEST(a_fleet_without_a_budget_or_a_meter_holds_nothing_unused) {
  FleetView view;
  TEST_ASSERT_FALSE(undrawn_of(view).has_value());
}
