#include "agent/settings/fleet_budget_json.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using agent::parse_fleet_budget;
using core::kUnlimited;

namespace {

constexpr const char* kWhole = R"({"rev": 7, "epoch": 2, "founders": ["n-2", "n-1"],
    "members": {"n-2": {"power_w": 2.5, "cpu_cores": 0.5}, "n-1": {"gpus": 0.25}, "n-3": {}},
    "budget": {"power_w": 40, "gpus": 2},
    "power_for_now": {"power_w": 12.5, "until_ms": 1800000000000}})";

Result<core::FleetBudget> budget(const std::string& text) {
  const auto value = json::parse(text, "plan");
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), value ? "" : value.error().context.c_str());
  return parse_fleet_budget(*value);
}

void assert_refused(const std::string& text, const char* word) {
  const auto got = budget(text);
  TEST_ASSERT_FALSE_MESSAGE(got.has_value(), text.c_str());
  TEST_ASSERT_TRUE_MESSAGE(got.error().context.find(word) != std::string::npos,
                           got.error().context.c_str());
}

// kWhole with one part replaced.
std::string with(const std::string& part, const std::string& by) {
  std::string out = kWhole;
  const std::size_t at = out.find(part);
  TEST_ASSERT_TRUE_MESSAGE(at != std::string::npos, part.c_str());
  return out.replace(at, part.size(), by);
}

}  // namespace

TEST(a_plan_is_read_in_the_cores_units_and_in_order) {
  const auto got = budget(kWhole);
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_UINT64(7, got->rev);
  TEST_ASSERT_EQUAL_UINT32(2, got->founding_epoch);
  TEST_ASSERT_EQUAL_STRING("n-1", got->founders[0].c_str());
  TEST_ASSERT_EQUAL_UINT64(3, got->members.size());
  const core::FleetMember* one = got->member("n-1");
  const core::FleetMember* two = got->member("n-2");
  TEST_ASSERT_EQUAL_INT64(250'000, one->floor[1]);
  TEST_ASSERT_EQUAL_INT64(500, two->floor[0]);
  TEST_ASSERT_EQUAL_INT64(2'500, two->floor[2]);
  TEST_ASSERT_EQUAL_INT64(kUnlimited, got->total[0]);
  TEST_ASSERT_EQUAL_INT64(2'000'000, got->total[1]);
  TEST_ASSERT_EQUAL_INT64(40'000, got->total[2]);
  TEST_ASSERT_EQUAL_INT64(12'500, got->power_mw_for_now);
}

TEST(a_plan_written_is_the_plan_read) {
  const auto got = budget(kWhole);
  const auto again = budget(json::to_text(agent::fleet_budget_json(*got)));
  TEST_ASSERT_TRUE(again.has_value());
  TEST_ASSERT_TRUE(*got == *again);
  // Also without the parts that may be missing.
  const auto bare = budget(R"({"rev":1,"epoch":1,"founders":["a"],"members":{"a":{}}})");
  TEST_ASSERT_TRUE(bare.has_value());
  TEST_ASSERT_TRUE(*bare == *budget(json::to_text(agent::fleet_budget_json(*bare))));
}

TEST(refuses_what_is_missing_or_of_another_kind_and_names_it) {
  assert_refused("{}", "/rev");
  assert_refused(with("\"rev\": 7", "\"rev\": 0"), "/rev");
  assert_refused(with("\"rev\": 7", "\"rev\": \"7\""), "/rev");
  assert_refused(with("\"rev\": 7", "\"rev\": 1.5"), "/rev");
  assert_refused(with("\"epoch\": 2", "\"epoch\": 10000000000"), "/epoch");
  assert_refused(with("[\"n-2\", \"n-1\"]", "{}"), "founders");
  assert_refused(with("[\"n-2\", \"n-1\"]", "[\"N 2\"]"), "/founders");
  assert_refused(with("[\"n-2\", \"n-1\"]", "[]"), "founders");
  assert_refused(with("{\"gpus\": 0.25}", "3"), "/members/n-1");
  assert_refused(with("\"until_ms\": 1800000000000", "\"until_ms\": -1"), "/until_ms");
}

TEST(refuses_amounts_that_are_none) {
  for (const char* amount : {"-1", "\"2\"", "1e300", "true", "[]"}) {
    const std::string text = with("\"power_w\": 2.5", std::string("\"power_w\": ") + amount);
    assert_refused(text, "/members/n-2/power_w");
  }
  assert_refused(with("\"power_w\": 40", "\"power_w\": -40"), "/budget/power_w");
}

TEST(refuses_a_budget_below_the_floors_it_promises) {
  assert_refused(with("\"power_w\": 40", "\"power_w\": 2"), "below the floors");
  assert_refused(with("\"power_w\": 12.5", "\"power_w\": 1"), "below the floors");
}

TEST(refuses_more_members_than_a_fleet_has) {
  std::string members;
  for (std::size_t i = 0; i <= core::kMembersMax; ++i) {
    members += (i == 0 ? "\"n-" : ",\"n-") + std::to_string(i) + "\":{}";
  }
  assert_refused(R"({"rev":1,"epoch":1,"founders":["n-1"],"members":{)" + members + "}}",
                 "at most 1024");
}
