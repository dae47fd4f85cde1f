#include "trainers/model/fleet_params.hpp"

#include "tests/harness/unit.hpp"
#include "trainers/model/params.hpp"

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

namespace {

std::vector<std::string> problems_of(std::string_view fleet, std::string_view more = "") {
  const std::string text = R"({"data": {"format": "synthetic"}, "fleet": )" + std::string(fleet) +
                           std::string(more) + "}";
  const Result<json::Value> value = json::parse(text, "params");
  TEST_ASSERT_TRUE(value.has_value());
  std::vector<config::Problem> problems;
  static_cast<void>(read_params(Kind::kSoftmax, *value, "params", problems));
  std::vector<std::string> out;
  for (const config::Problem& problem : problems) out.push_back(problem.path + ": " + problem.what);
  return out;
}

void refuses(std::string_view what, std::string_view fleet, std::string_view more = "") {
  const auto problems = problems_of(fleet, more);
  TEST_ASSERT_EQUAL_UINT64(1, problems.size());
  TEST_ASSERT_TRUE_MESSAGE(problems[0].find(what) != std::string::npos, problems[0].c_str());
}

}  // namespace

TEST(noise_is_refused_where_it_would_protect_nothing) {
  TEST_ASSERT_EQUAL_UINT64(0, problems_of(R"({"noise": 5, "row_clip": 2})").size());
  refuses("/fleet/row_clip: missing; noise protects a row only if", R"({"noise": 5})");
  refuses("/fleet/row_clip: protects nothing without \"noise\"", R"({"row_clip": 2})");
  refuses("/fleet/delta: protects nothing", R"({"delta": 1e-6})");
  refuses("/fleet/rounds: 0 is no end", R"({"noise": 5, "row_clip": 2, "rounds": 0})");
  refuses("do not go together", R"({"noise": 5, "row_clip": 2})", R"(, "held_out": 0.1)");
}

TEST(a_trainer_of_ones_own_is_told_to_noise_its_steps_itself) {
  std::vector<config::Problem> problems;
  static_cast<void>(read(R"({"fleet": {"noise": 5}})", problems));
  TEST_ASSERT_EQUAL_UINT64(1, problems.size());
  TEST_ASSERT_EQUAL_STRING("/fleet/noise", problems[0].path.c_str());
  TEST_ASSERT_TRUE(problems[0].what.find("built-in") != std::string::npos);
}
