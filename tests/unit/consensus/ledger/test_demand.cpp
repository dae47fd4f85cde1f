#include "consensus/ledger/demand.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr Parts kTenth = kWhole / 10;

// A task that with the whole of its lane needs `busy` of the `left` seconds.
TaskNeed task(std::int64_t busy_s, std::int64_t left_s, std::uint32_t success_ppm = 500'000) {
  return {0, kTenth, busy_s * kSecond, left_s * kSecond, success_ppm, 1000};
}

BoardLimits limits(Parts idle = 0) { return {idle, idle, idle + kTenth, idle + kTenth}; }

std::int64_t price_of(const std::vector<TaskNeed>& tasks) {
  const Demand d = demand_from(tasks, limits());
  return d.miss_price - d.urgency * (d.demand - d.floor);
}

// The marginal cost, from the cost itself.
double marginal(const Demand& d, Parts share) {
  constexpr double kStep = 1000.0;
  const auto x = static_cast<double>(share);
  return (cost_of(d, x + kStep) - cost_of(d, x - kStep)) / (2.0 * kStep) * kUrgencyOne *
         static_cast<double>(kWhole);
}

}  // namespace

TEST(demand_is_the_least_speed_that_brings_every_task_of_a_lane_home_in_time) {
  // 20 s due in 100, and 60 s more due in 200: the second deadline needs 80 / 200 of the lane.
  TEST_ASSERT_INT64_WITHIN(1000, kTenth / 5, demand_from({task(20, 100)}, limits()).demand);
  TEST_ASSERT_INT64_WITHIN(1000, kTenth / 5 * 2,
                           demand_from({task(60, 200), task(20, 100)}, limits()).demand);
  // On two lanes they do not wait for each other.
  TaskNeed other = task(60, 200);
  other.lane = 1;
  const BoardLimits two{0, 0, 2 * kTenth, 2 * kTenth};
  TEST_ASSERT_INT64_WITHIN(1000, kTenth / 10 * 5, demand_from({task(20, 100), other}, two).demand);
  // More than the lane has is the whole lane.
  TEST_ASSERT_EQUAL_INT64(kTenth, demand_from({task(900, 100)}, limits()).demand);
}

TEST(a_board_wants_what_its_lanes_can_use_and_an_idle_board_its_idle_draw_only) {
  const Demand busy = demand_from({task(20, 100)}, limits(5000));
  TEST_ASSERT_EQUAL_INT64(5000, busy.floor);
  TEST_ASSERT_EQUAL_INT64(5000 + kTenth, busy.want);
  TEST_ASSERT_INT64_WITHIN(1000, 5000 + kTenth / 5, busy.demand);
  const Demand idle = demand_from({}, {5000, 5000, 5000, 5000 + kTenth});
  TEST_ASSERT_EQUAL_INT64(5000, idle.floor);
  TEST_ASSERT_EQUAL_INT64(5000, idle.want);
  TEST_ASSERT_EQUAL_INT64(5000, idle.demand);
  TEST_ASSERT_EQUAL_INT64(5000 + kTenth, idle.cap);
  TEST_ASSERT_EQUAL_INT64(0, idle.miss_price);
  // What is reserved for it may be more than it draws idle: then it is reserved for its tasks.
  const Demand covered =
      demand_from({task(20, 100)}, {-kTenth / 10, -kTenth / 10, kTenth / 10 * 9, kTenth / 10 * 9});
  TEST_ASSERT_EQUAL_INT64(0, covered.floor);
  TEST_ASSERT_INT64_WITHIN(1000, kTenth / 10, covered.demand);
}

TEST(no_deadline_anywhere_costs_less_than_what_only_ends_work_sooner) {
  // A hopeless task on a large board, and a small board that has nothing but spare wishes.
  const Demand late = demand_from({task(10, 100, 1000)}, limits());
  const Demand spare = demand_from({task(1, 100'000)}, {0, 0, kTenth / 30, kTenth / 30});
  const double least_worth = marginal(late, late.demand - 2000);
  const double most_worth = marginal(spare, spare.demand + 2000);
  TEST_ASSERT_TRUE(least_worth < most_worth);  // costs are negative below what is wanted
  TEST_ASSERT_TRUE(most_worth >= -static_cast<double>(kPriceWhole));
}

TEST(the_price_of_a_deadline_rises_with_success_and_weight_and_falls_with_work) {
  const std::int64_t one = price_of({task(20, 100)});
  TEST_ASSERT_INT64_WITHIN(kPriceWhole / 100, one + kPriceWhole / 8,
                           price_of({task(20, 100, 1'000'000)}));
  TEST_ASSERT_INT64_WITHIN(kPriceWhole / 100, one + kPriceWhole / 8, price_of({task(10, 100)}));
  TaskNeed heavy = task(20, 100);
  heavy.weight_milli = 4000;
  TEST_ASSERT_INT64_WITHIN(kPriceWhole / 100, one + kPriceWhole / 4, price_of({heavy}));
  // The time left does not matter for it: what is short is energy.
  TEST_ASSERT_EQUAL_INT64(one, price_of({task(20, 50)}));
}

TEST(the_best_response_minimises_the_cost_at_that_price) {
  const Demand d = demand_from({task(40, 100)}, limits(kTenth / 20));
  for (std::int64_t price = -3 * kPriceWhole; price <= kPriceWhole; price += kPriceWhole / 16) {
    const Response r = response_to(d, price);
    TEST_ASSERT_TRUE(r.best >= d.floor && r.best <= d.cap);
    const auto value = [&](Parts x) {
      return cost_of(d, static_cast<double>(x)) - static_cast<double>(price) / kUrgencyOne /
                                                      static_cast<double>(kWhole) *
                                                      static_cast<double>(x);
    };
    for (Parts x = d.floor; x <= d.cap; x += kTenth / 50) {
      TEST_ASSERT_TRUE(value(r.best) <= value(x) + 1e-3 * std::abs(value(x)));
    }
  }
}

TEST(needs_beyond_every_bound_stay_within_the_whole) {
  const Demand d = demand_from({{0, kWhole, INT64_MAX, 1, 1'000'000, 100'000},
                                {0, INT64_MAX, INT64_MAX, -5, 0, 0},
                                {7, -4, -4, 0, 1, 1}},
                               {-kWhole, kWhole, kWhole, kWhole});
  TEST_ASSERT_TRUE(d.demand >= 0 && d.demand <= kWhole);
  TEST_ASSERT_TRUE(d.want >= d.demand && d.want <= kWhole);
  TEST_ASSERT_TRUE(d.urgency >= 1);
  TEST_ASSERT_TRUE(d.miss_price >= 0 && d.miss_price <= kMissPriceMax);
}
