#include "agent/fleet/report.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

power::PowerReading a_reading() {
  power::PowerReading out;
  out.zones = {{"CPU-therm", 51'500}, {"PMIC-Die", 100'000}};
  out.gpu_load_permille = 730;
  out.memory_used_bytes = 1'200'000'000;
  out.memory_total_bytes = 4'000'000'000;
  return out;
}

json::Value told(const std::optional<power::PowerReading>& reading, TimeNs read_at, TimeNs now) {
  core::State state;
  state.power.read_at = read_at;
  return agent::power_telemetry(state, now, 1, 0, std::nullopt, reading);
}

}  // namespace

TEST(telemetry_has_what_the_sensors_gave_and_leaves_out_the_rest) {
  const json::Value out = told(a_reading(), kHour, kHour + kSecond);
  TEST_ASSERT_EQUAL_DOUBLE(51.5, out.find("temperature_c")->as_double());
  TEST_ASSERT_EQUAL_DOUBLE(0.73, out.find("gpu_load")->as_double());
  TEST_ASSERT_EQUAL_INT64(1'200'000'000, out.find("memory_used_bytes")->as_integer());
  TEST_ASSERT_NULL(out.find("cpu_load"));
}

TEST(telemetry_does_not_pass_an_old_reading_off_as_now) {
  TEST_ASSERT_NULL(told(a_reading(), kHour, kHour + kMinute).find("temperature_c"));
  TEST_ASSERT_NULL(told(std::nullopt, kHour, kHour).find("gpu_load"));
}
