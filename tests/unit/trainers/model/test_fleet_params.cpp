#include "trainers/model/fleet_params.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

AverageParams read(std::string_view text, std::vector<config::Problem>& problems) {
  const Result<json::Value> value = json::parse(text, "params");
  TEST_ASSERT_TRUE(value.has_value());
  return read_average(*value, "params", problems);
}

}  // namespace

TEST(of_a_trainers_own_params_only_fleet_and_the_metric_are_looked_at) {
  std::vector<config::Problem> problems;
  const AverageParams params = read(
      R"({"anything": [1], "target_metric": "held-out-error",
          "fleet": {"rounds": 7, "wait": "2s", "momentum": 0.5}})",
      problems);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  TEST_ASSERT_EQUAL_UINT32(7, params.fleet.rounds);
  TEST_ASSERT_EQUAL_INT64(2 * kSecond, *params.fleet.wait);
  TEST_ASSERT_EQUAL_DOUBLE(0.5, params.momentum);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, params.rate);
  TEST_ASSERT_TRUE(params.target_metric == TargetMetric::kHeldOutError);
}

TEST(momentum_is_on_if_the_task_says_nothing) {
  std::vector<config::Problem> problems;
  TEST_ASSERT_EQUAL_DOUBLE(0.9, read("{\"fleet\": {}}", problems).momentum);
}

TEST(a_wrong_key_is_named_with_its_place) {
  std::vector<config::Problem> problems;
  static_cast<void>(read("{\"fleet\": {\"momentun\": 0.5}}", problems));
  TEST_ASSERT_EQUAL_UINT64(1, problems.size());
  TEST_ASSERT_EQUAL_STRING("/fleet/momentun", problems[0].path.c_str());
}
