#include "lab/ledger/paper/paper_dynamics.hpp"

#include <cmath>

#include "lab/ledger/convergence.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::lab;

TEST(log_quantization_keeps_to_its_sector) {
  for (double x = 1e-6; x < 1e6; x *= 1.1) {
    const double ratio = quantized(x, Quantizer::kLog, 0.125) / x;
    TEST_ASSERT_TRUE(ratio <= std::exp(0.0625) * 1.0000001);
    TEST_ASSERT_TRUE(ratio >= std::exp(-0.0625) * 0.9999999);
    TEST_ASSERT_EQUAL_DOUBLE(-quantized(x, Quantizer::kLog, 0.125),
                             quantized(-x, Quantizer::kLog, 0.125));
  }
  TEST_ASSERT_EQUAL_DOUBLE(0.0, quantized(0.0, Quantizer::kLog, 0.125));
}

TEST(the_papers_dynamics_keep_the_sum_and_stall_when_gradients_are_quantized) {
  Random random(5);
  const auto graph = make_graph(Graph::kErdosRenyi, 20, random);
  const auto demands = make_demands(20, 0.0, random);
  PaperConfig config;
  const PaperResult log = run_paper_dynamics(config, *graph, demands, 1);
  config.quantizer = Quantizer::kNone;
  const PaperResult exact = run_paper_dynamics(config, *graph, demands, 1);
  TEST_ASSERT_TRUE(log.sum_error < 1e-9);
  TEST_ASSERT_TRUE(exact.gap < 1e-9);
  TEST_ASSERT_TRUE(log.gap > 100 * exact.gap);
}
