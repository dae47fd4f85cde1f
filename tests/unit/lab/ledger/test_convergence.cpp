#include "lab/ledger/convergence.hpp"

#include "lab/ledger/page.hpp"
#include "lab/ledger/world/optimum.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::lab;
using laird::consensus::Demand;
using laird::consensus::kWhole;

TEST(the_ledger_converges_under_loss_within_the_stated_bounds) {
  ConvergenceConfig config;
  config.nodes = 20;
  config.network.loss = 0.3;
  config.network.duplicate = 0.15;
  config.network.delay_max = 3;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const ConvergenceResult r = run_convergence(config, seed);
    TEST_ASSERT_EQUAL_STRING("", r.first_break.c_str());
    TEST_ASSERT_TRUE(r.ticks_1e3 > 0 && r.ticks_1e3 <= 60);
    TEST_ASSERT_TRUE(r.ticks_1e6 > 0 && r.ticks_1e6 <= 140);
    TEST_ASSERT_TRUE(r.payload_bytes_1e6 <= 15'000);
  }
}

TEST(costs_with_a_kink_converge_under_delay_and_loss) {
  ConvergenceConfig config;
  config.nodes = 40;
  config.tiered = true;
  config.network.loss = 0.3;
  config.network.duplicate = 0.15;
  config.network.delay_max = 3;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const ConvergenceResult r = run_convergence(config, seed);
    TEST_ASSERT_EQUAL_STRING("", r.first_break.c_str());
    TEST_ASSERT_TRUE(r.ticks_1e3 > 0 && r.ticks_1e3 <= 200);
  }
}

TEST(the_central_optimum_of_costs_with_a_kink_is_no_worse_than_any_other_division) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    const auto demands = make_tiered_demands(12, random);
    const Optimum best = optimum_of(demands, static_cast<double>(kWhole));
    double sum = 0;
    for (const double share : best.shares) sum += share;
    TEST_ASSERT_DOUBLE_WITHIN(1e4, static_cast<double>(kWhole), sum);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      for (std::size_t j = 0; j < demands.size(); ++j) {
        std::vector<double> other = best.shares;
        const double moved = 1e-3 * static_cast<double>(kWhole);
        other[i] -= moved;
        other[j] += moved;
        if (i == j || other[i] < static_cast<double>(demands[i].floor) ||
            other[j] > static_cast<double>(demands[j].cap)) {
          continue;
        }
        TEST_ASSERT_TRUE(cost_of(demands, other) >= best.cost * (1.0 - 1e-9));
      }
    }
  }
}

TEST(the_central_optimum_meets_its_conditions) {
  Random random(3);
  const auto demands = make_demands(30, 0.25, random);
  const Optimum best = optimum_of(demands, static_cast<double>(kWhole));
  double sum = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& d = demands[i];
    sum += best.shares[i];
    const double marginal = static_cast<double>(d.urgency) / laird::consensus::kUrgencyOne *
                            (best.shares[i] - static_cast<double>(d.demand));
    const bool at_floor = best.shares[i] <= static_cast<double>(d.floor);
    const bool at_cap = best.shares[i] >= static_cast<double>(d.cap);
    if (!at_floor && !at_cap) {
      TEST_ASSERT_DOUBLE_WITHIN(1e3, best.price, marginal);
    }
    if (at_floor) {
      TEST_ASSERT_TRUE(marginal >= best.price - 1e3);
    }
    if (at_cap) {
      TEST_ASSERT_TRUE(marginal <= best.price + 1e3);
    }
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e3, static_cast<double>(kWhole), sum);
}

TEST(the_page_draws_the_gap_the_budget_use_and_the_bytes) {
  ConvergenceConfig config;
  config.nodes = 6;
  config.ticks_max = 40;
  config.trace = true;
  const std::string page = ledger_page(config, {run_convergence(config, 1)});
  std::size_t drawings = 0;
  for (std::size_t at = page.find("<svg"); at != std::string::npos;
       at = page.find("<svg", at + 1)) {
    ++drawings;
  }
  TEST_ASSERT_EQUAL_UINT64(2 * 3, drawings);  // for a broad and for a narrow screen
  TEST_ASSERT_TRUE(page.find("6 boards, 1 runs") != std::string::npos);
}
