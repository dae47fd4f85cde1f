#include "control/provision/founding/plan.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

FoundingPlan two_boards() {
  FoundingPlan plan;
  plan.fleet = "lab";
  plan.hosts = {"broker.local", "192.0.2.7"};
  plan.op = "op-alice";
  plan.budget_mw = 45'000;
  plan.boards = {{"n-1", "orin-nano-8gb", 6'000}, {"n-2", "", 5'000}};
  return plan;
}

}  // namespace

TEST(a_plan_is_read_as_it_was_written) {
  const auto back = parse_plan(plan_text(two_boards()), "fleet.json");
  TEST_ASSERT_TRUE_MESSAGE(back.has_value(), back ? "" : back.error().context.c_str());
  TEST_ASSERT_TRUE(*back == two_boards());
  FoundingPlan unlimited = two_boards();
  unlimited.budget_mw = core::kUnlimited;
  TEST_ASSERT_TRUE(*parse_plan(plan_text(unlimited), "fleet.json") == unlimited);
}

TEST(a_damaged_plan_is_refused_and_names_its_file) {
  for (const char* text :
       {"", "{}", "[1]", R"({"fleet":"lab","hosts":[1],"port":1,"operator":"op-a","boards":{}})",
        R"({"fleet":"lab","hosts":["a"],"port":0,"operator":"op-a","boards":{}})",
        R"({"fleet":"lab","hosts":["a"],"port":1,"operator":"op-a","boards":{"n-1":{}}})"}) {
    const auto plan = parse_plan(text, "there/fleet.json");
    TEST_ASSERT_FALSE_MESSAGE(plan.has_value(), text);
    TEST_ASSERT_TRUE_MESSAGE(plan.error().context.find("there/fleet.json") != std::string::npos,
                             text);
  }
}

TEST(a_floor_is_never_below_what_the_module_draws_idle) {
  TEST_ASSERT_EQUAL_INT64(6'000, plan_board("n-1=orin-nano-8gb", std::nullopt)->floor_mw);
  // The lowest cap of this one's file is below its idle draw.
  TEST_ASSERT_EQUAL_INT64(6'000, plan_board("n-1=generic", std::nullopt)->floor_mw);
  TEST_ASSERT_EQUAL_INT64(4'300, plan_board("n-1=orin-nano-8gb", 4'300)->floor_mw);
  const auto low = plan_board("n-1=orin-nano-8gb", 4'299);
  TEST_ASSERT_TRUE(low.error().code == Code::kRefused);
  TEST_ASSERT_TRUE(low.error().context.find("4300mW idle") != std::string::npos);
  TEST_ASSERT_FALSE(plan_board("n-1", std::nullopt).has_value());
  TEST_ASSERT_EQUAL_INT64(2'000, plan_board("n-1", 2'000)->floor_mw);
}

TEST(the_boards_of_a_plan_are_the_founders) {
  const core::FleetBudget budget = two_boards().budget();
  TEST_ASSERT_EQUAL_UINT64(2, budget.founders.size());
  TEST_ASSERT_EQUAL_INT64(5'000, budget.member("n-2")->floor[core::Resource::kPower]);
  TEST_ASSERT_EQUAL_INT64(45'000, budget.total[core::Resource::kPower]);
}

TEST(a_plan_that_cannot_hold_is_refused) {
  FoundingPlan plan = two_boards();
  TEST_ASSERT_TRUE(check_plan(plan).has_value());
  plan.budget_mw = 10'999;
  TEST_ASSERT_TRUE(check_plan(plan).error().code == Code::kRefused);
  plan = two_boards();
  plan.hosts.clear();
  TEST_ASSERT_FALSE(check_plan(plan).has_value());
  plan = two_boards();
  plan.boards[1].id = "n-1";
  TEST_ASSERT_FALSE(check_plan(plan).has_value());
}

TEST(an_address_of_version_six_stands_in_brackets) {
  FoundingPlan plan = two_boards();
  TEST_ASSERT_EQUAL_STRING("mqtts://broker.local:8883", plan.broker_url().c_str());
  plan.hosts = {"fd00::1"};
  TEST_ASSERT_EQUAL_STRING("mqtts://[fd00::1]:8883", plan.broker_url().c_str());
}
