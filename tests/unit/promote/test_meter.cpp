#include "promote/meter.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;
using trainer_protocol::Metered;

namespace {

Metered counted(double joules, double seconds, std::uint64_t readings) {
  Metered out;
  out.above_idle_j = joules;
  out.metered_s = seconds;
  out.readings = readings;
  return out;
}

}  // namespace

TEST(power_is_energy_over_the_metered_time) {
  const Result<double> watts = power_between(counted(10.0, 100.0, 50), counted(16.0, 102.0, 60));
  TEST_ASSERT_TRUE(watts.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(3.0, *watts);
}

TEST(too_few_readings_tell_nothing) {
  TEST_ASSERT_FALSE(power_between(counted(1, 1, 10), counted(2, 2, 13)).has_value());
  TEST_ASSERT_FALSE(power_between(counted(1, 1, 10), counted(2, 1, 20)).has_value());
}
