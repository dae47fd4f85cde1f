#include "consensus/cotrain/privacy_budget.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird::consensus;

TEST(epsilon_is_that_of_the_formula) {
  // 100 answers, each with ten sensitivities of noise: rho = 100 / (2 x 100) = 0.5, and by
  // proposition 1.3 epsilon = 0.5 + 2 sqrt(0.5 ln 1e5).
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5 + 2.0 * std::sqrt(0.5 * std::log(1e5)),
                            epsilon_of(0.5, 1e-5));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, epsilon_of(0.0, 1e-5));
  TEST_ASSERT_TRUE(std::isinf(zcdp_of_round(0.0)));
}

TEST(a_round_costs_its_gradient_and_a_ninth_for_its_loss) {
  TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.5 / 25.0 * (1.0 + 1.0 / 9.0), zcdp_of_round(5.0));
  // Twice the noise, a quarter of the cost.
  TEST_ASSERT_DOUBLE_WITHIN(1e-15, zcdp_of_round(5.0) / 4.0, zcdp_of_round(10.0));
}

// What the formula promises is held by the mechanism itself: with the densities of two neighbours'
// answers at hand, the chance beyond e^epsilon is at most delta.
TEST(the_budget_holds_for_the_gaussian_mechanism) {
  for (const double noise : {0.7, 1.0, 3.0, 10.0}) {
    const double rho = 0.5 / (noise * noise);
    for (const double delta : {1e-3, 1e-5}) {
      const double epsilon = epsilon_of(rho, delta);
      // P[X > t] - e^eps P[Y > t] at the worst t, X of mean 1, Y of mean 0, deviation `noise`
      // (Balle, Wang 2018, theorem 5).
      const auto phi = [](double t) { return 0.5 * std::erfc(-t / std::sqrt(2.0)); };
      const double beyond = phi(0.5 / noise - epsilon * noise) -
                            std::exp(epsilon) * phi(-0.5 / noise - epsilon * noise);
      TEST_ASSERT_TRUE(beyond <= delta);
    }
  }
}
