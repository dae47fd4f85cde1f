#include "report/trace.hpp"

#include <map>
#include <string>

#include "json/value.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/report/told_board.hpp"

using namespace laird;
using test::ToldBoard;

namespace {

json::Value trace_of(ToldBoard& told) {
  (void)told.finish();
  const std::string text =
      std::string(report::trace_begin()) + told.traced + std::string(report::trace_end());
  json::ParseLimits limits;
  limits.bytes_max = 64 << 20;
  limits.values_max = 10'000'000;
  Result<json::Value> value = json::parse(text, "trace", limits);
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), value ? "" : value.error().context.c_str());
  return std::move(*value);
}

}  // namespace

TEST(a_trace_has_a_track_for_each_lane_and_task_and_a_counter_for_each_rail) {
  ToldBoard told;
  const json::Value trace = trace_of(told);
  std::map<std::string, int> threads;
  std::map<std::string, int> counters;
  double ran_us = 0.0;
  int decided = 0;
  for (const json::Value& event : trace.find("traceEvents")->items()) {
    const std::string phase = event.find("ph")->as_string();
    const std::string name = event.find("name")->as_string();
    if (name == "thread_name") ++threads[event.find("args")->find("name")->as_string()];
    if (phase == "C") ++counters[name];
    if (phase == "i") ++decided;
    if (phase == "X" && name == "running") ran_us += event.find("dur")->as_double();
  }
  TEST_ASSERT_EQUAL_INT(1, threads["task task-a"]);
  TEST_ASSERT_EQUAL_INT(1, threads["task hopeless"]);
  TEST_ASSERT_EQUAL_UINT64(2 + told.board.state.lanes.size(), threads.size());
  TEST_ASSERT_EQUAL_INT(300, counters["power, W"]);
  TEST_ASSERT_EQUAL_INT(300, counters["rail VDD_IN, W"]);
  TEST_ASSERT_TRUE(counters["loss of hopeless"] > 3);
  TEST_ASSERT_TRUE(decided > 10);
  TEST_ASSERT_TRUE(ran_us > 15e6);
}

TEST(a_hostile_name_stays_a_text_of_the_trace) {
  ToldBoard told("evil");
  told.board.submit(test::small_task("a\"},{\"ph\":\"", kMinute, 0.9));
  told.board.run_for(10 * kSecond);
  const json::Value trace = trace_of(told);
  for (const json::Value& event : trace.find("traceEvents")->items()) {
    TEST_ASSERT_NOT_NULL(event.find("pid"));
    TEST_ASSERT_NOT_NULL(event.find("ts"));
  }
}
