#include "consensus/limits.hpp"
#include "lab/fleet/verdict.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using consensus::Demand;
using consensus::kWhole;
using lab::FleetRecording;

namespace {

constexpr std::int64_t kS = 1'000'000;  // in microseconds

// Two boards of one urgency that want 3/4 and 1/4 of the whole, and have what is given.
FleetRecording wanting(std::vector<lab::SharePoint> one, std::vector<lab::SharePoint> other) {
  FleetRecording out;
  out.first_unix_us = 100 * kS;
  out.last_unix_us = 200 * kS;
  Demand more;
  more.demand = kWhole / 4 * 3;
  Demand less;
  less.demand = kWhole / 4;
  out.nodes["n-1"].demands = {{100 * kS, more}};
  out.nodes["n-2"].demands = {{100 * kS, less}};
  out.nodes["n-1"].shares = std::move(one);
  out.nodes["n-2"].shares = std::move(other);
  return out;
}

}  // namespace

TEST(shares_at_the_optimum_from_the_start_are_settled_at_once) {
  const auto got = settled_after_s(
      wanting({{100 * kS, kWhole / 4 * 3, 0}}, {{100 * kS, kWhole / 4, 0}}), 150 * kS);
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.0, *got);
}

TEST(the_time_until_the_last_share_is_where_it_belongs_counts) {
  const auto got =
      settled_after_s(wanting({{100 * kS, kWhole / 2, 0}, {160 * kS, kWhole / 4 * 3, 0}},
                              {{100 * kS, kWhole / 2, 0}, {159 * kS, kWhole / 4, 0}}),
                      150 * kS);
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 10.0, *got);
}

TEST(shares_that_only_pass_the_optimum_are_not_settled) {
  const auto got = settled_after_s(
      wanting({{100 * kS, kWhole / 4 * 3, 0}, {151 * kS, 0, 0}, {170 * kS, kWhole / 4 * 3, 0}},
              {{100 * kS, kWhole / 4, 0}}),
      150 * kS);
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 20.0, *got);
}

TEST(a_percent_on_nobody_is_the_most_that_counts_as_settled) {
  const auto with = [](lab::SharePoint one) {
    return settled_after_s(wanting({one}, {{100 * kS, kWhole / 4, 0}}), 150 * kS);
  };
  TEST_ASSERT_TRUE(with({100 * kS, kWhole / 4 * 3 - kWhole / 200, 0}).has_value());
  TEST_ASSERT_FALSE(with({100 * kS, kWhole / 4 * 3 - kWhole / 50, 0}).has_value());
}

TEST(boards_that_can_use_less_than_the_whole_are_settled_with_all_they_can_use) {
  FleetRecording recording = wanting({{100 * kS, kWhole / 4, 0}}, {{100 * kS, kWhole / 4, 0}});
  for (auto& [id, node] : recording.nodes) node.demands[0].demand.cap = kWhole / 4;
  TEST_ASSERT_TRUE(settled_after_s(recording, 150 * kS).has_value());
}

TEST(without_demands_nothing_is_said) {
  FleetRecording recording = wanting({{100 * kS, kWhole / 4 * 3, 0}}, {{100 * kS, kWhole / 4, 0}});
  recording.nodes["n-2"].demands.clear();
  TEST_ASSERT_FALSE(settled_after_s(recording, 150 * kS).has_value());
}
