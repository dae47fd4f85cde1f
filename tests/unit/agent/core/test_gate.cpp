// The step gate's arithmetic, on one lane without a board around it.
#include "agent/core/step/gate.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;

namespace {

LaneGate gate_at(std::uint32_t ceiling_ppm) {
  LaneGate gate;
  gate.ceiling_ppm = ceiling_ppm;
  return gate;
}

}  // namespace

TEST(a_rest_makes_the_busy_time_the_ceilings_part_of_the_whole_cycle) {
  LaneGate gate = gate_at(250'000);
  gate.busy_from = 10 * kSecond;
  gate.busy_until = 11 * kSecond;
  TEST_ASSERT_EQUAL_INT64(14 * kSecond, rest_ends_at(gate));  // 1 s of 4 s
  gate.ceiling_ppm = kShareWholePpm;
  TEST_ASSERT_EQUAL_INT64(0, rest_ends_at(gate));
  gate.ceiling_ppm = 0;
  TEST_ASSERT_EQUAL_INT64(kNever, rest_ends_at(gate));
}

TEST(a_rest_is_rounded_up_and_never_beyond_the_last_instant) {
  LaneGate gate = gate_at(300'000);
  gate.busy_until = 1;
  TEST_ASSERT_EQUAL_INT64(1 + 3, rest_ends_at(gate));  // 7/3 ns
  gate.ceiling_ppm = 1;
  gate.busy_until = kTimeMax / 2;
  TEST_ASSERT_EQUAL_INT64(kTimeMax, rest_ends_at(gate));
}

TEST(a_piece_is_the_ceilings_part_of_the_period_within_the_slice) {
  TEST_ASSERT_EQUAL_INT64(kSecond, piece_of(gate_at(kShareWholePpm), kSecond));
  TEST_ASSERT_EQUAL_INT64(kGatePeriod / 2, piece_of(gate_at(500'000), kSecond));
  TEST_ASSERT_EQUAL_INT64(50 * kMillisecond, piece_of(gate_at(500'000), 50 * kMillisecond));
  TEST_ASSERT_EQUAL_INT64(kSliceMin, piece_of(gate_at(1000), kSecond));
  TEST_ASSERT_EQUAL_INT64(kSliceMin, piece_of(gate_at(0), 0));
}

TEST(a_piece_is_stretched_to_a_whole_report_if_that_is_short) {
  const LaneGate half = gate_at(500'000);
  TEST_ASSERT_EQUAL_UINT64(100, gated_samples(half, 30, 100, 1000.0));  // a report in 100 ms
  TEST_ASSERT_EQUAL_UINT64(30, gated_samples(half, 30, 100, 100.0));    // in 1 s: too long
  TEST_ASSERT_EQUAL_UINT64(300, gated_samples(half, 300, 100, 1000.0));
  TEST_ASSERT_EQUAL_UINT64(30, gated_samples(gate_at(kShareWholePpm), 30, 100, 1000.0));
}

TEST(a_turn_is_left_only_under_a_ceiling_with_time_and_tasks) {
  LaneGate gate = gate_at(500'000);
  gate.turn_left = kSliceMin;
  TEST_ASSERT_FALSE(has_turn_left(gate));
  gate.turn.push_back({1, kShareWholePpm});
  TEST_ASSERT_TRUE(has_turn_left(gate));
  gate.turn_left = kSliceMin - 1;
  TEST_ASSERT_FALSE(has_turn_left(gate));
  gate.turn_left = kSliceMin;
  gate.ceiling_ppm = kShareWholePpm;
  TEST_ASSERT_FALSE(has_turn_left(gate));
}

TEST(a_spell_of_work_is_taken_off_the_turn) {
  LaneGate gate = gate_at(500'000);
  gate.turn_left = kSecond;
  begin_spell(gate, 5 * kSecond);
  end_spell(gate, 5 * kSecond + 100 * kMillisecond);
  TEST_ASSERT_EQUAL_INT64(900 * kMillisecond, gate.turn_left);
  TEST_ASSERT_EQUAL_INT64(5 * kSecond, gate.busy_from);
  TEST_ASSERT_EQUAL_INT64(5 * kSecond + 100 * kMillisecond, gate.busy_until);
  TEST_ASSERT_TRUE(gate.wanted_since);
}

TEST(what_is_kept_of_the_ceiling_follows_late_cycles_down_and_stays_above_a_half) {
  LaneGate gate = gate_at(500'000);
  TimeNs now = kSecond;
  begin_spell(gate, now);
  for (int i = 0; i < 200; ++i) {
    end_spell(gate, now += 100 * kMillisecond);
    begin_spell(gate, now += 150 * kMillisecond);  // 100 of 250 ms where 100 of 200 were due
  }
  TEST_ASSERT_UINT32_WITHIN(10, 800'000, gate.kept_ppm);
  for (int i = 0; i < 200; ++i) {
    end_spell(gate, now += 100 * kMillisecond);
    begin_spell(gate, now += 10 * kSecond);
  }
  TEST_ASSERT_UINT32_WITHIN(10, 500'000, gate.kept_ppm);
}

TEST(a_cycle_in_which_nobody_wanted_the_lane_says_nothing_of_what_is_kept) {
  LaneGate gate = gate_at(500'000);
  begin_spell(gate, kSecond);
  end_spell(gate, 2 * kSecond);
  gate.wanted_since = false;
  begin_spell(gate, kMinute);
  TEST_ASSERT_EQUAL_UINT32(kShareWholePpm, gate.kept_ppm);
}

TEST(what_a_reading_shows_lags_behind_and_its_integral_is_exact) {
  LaneGate gate;
  advance_seen(gate, true, kMeterLag);
  TEST_ASSERT_TRUE(std::fabs(gate.seen - (1.0 - std::exp(-1.0))) < 1e-12);
  const double lag = static_cast<double>(kMeterLag);
  TEST_ASSERT_TRUE(std::fabs(gate.seen_sum_ns - lag * std::exp(-1.0)) < 1.0);
  // In two steps as in one.
  LaneGate twice;
  advance_seen(twice, true, kMeterLag / 4);
  advance_seen(twice, true, kMeterLag);
  TEST_ASSERT_TRUE(std::fabs(twice.seen - gate.seen) < 1e-12);
  TEST_ASSERT_TRUE(std::fabs(twice.seen_sum_ns - gate.seen_sum_ns) < 1.0);
}

TEST(an_interval_between_two_readings_is_taken_once) {
  LaneGate gate;
  advance_seen(gate, true, kSecond);  // rises at once, against 0 and 1 at the two ends
  TEST_ASSERT_TRUE(std::fabs(take_mean_above_ends(gate, kSecond) - 0.45) < 1e-6);
  TEST_ASSERT_TRUE(take_mean_above_ends(gate, 0) == 0.0);
  advance_seen(gate, true, 2 * kSecond);
  TEST_ASSERT_TRUE(std::fabs(take_mean_above_ends(gate, kSecond)) < 1e-6);
}

TEST(the_mean_at_a_ceiling_counts_what_is_kept_of_it) {
  LaneGate gate = gate_at(500'000);
  gate.kept_ppm = 800'000;
  gate.seen = 0.1;
  TEST_ASSERT_TRUE(std::fabs(mean_above_seen(gate) - 0.3) < 1e-12);
}

TEST(a_quota_is_the_lanes_cores_by_share_and_level_and_never_nothing) {
  TEST_ASSERT_EQUAL_UINT32(4000, quota_milli(4000, kShareWholePpm, 1000));
  TEST_ASSERT_EQUAL_UINT32(1000, quota_milli(4000, 500'000, 500));
  TEST_ASSERT_EQUAL_UINT32(1, quota_milli(4000, 1, 1));
}
