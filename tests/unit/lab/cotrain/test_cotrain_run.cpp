#include "lab/cotrain/cotrain_run.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

namespace {

// Two clouds, one for the shoes of the svm's question and one for the rest.
ImageSet clouds(int rows) {
  ImageSet set;
  set.features = Eigen::MatrixXf(rows, 5);
  for (int i = 0; i < rows; ++i) {
    const bool shoe = i % 2 == 0;
    for (int j = 0; j < 4; ++j) {
      const float noise = static_cast<float>((i * 7 + j * 13) % 11) / 40.0F;
      set.features(i, j) = (shoe == (j < 2) ? 0.7F : 0.1F) + noise;
    }
    set.features(i, 4) = 1.0F;
    set.labels.push_back(shoe ? 9 : 0);
  }
  return set;
}

CotrainCurve run(double steps_of_bound) {
  CotrainConfig config;
  config.model = Model::kLinear;
  config.nodes = 6;
  config.rounds = 60;
  config.samples = 240;
  const ImageSet train = clouds(240);
  const ImageSet test = clouds(60);
  CotrainConfig probe = config;
  probe.rounds = 1;
  config.alpha = steps_of_bound * run_cotrain(probe, train, test, false).alpha_bound;
  return run_cotrain(config, train, test, false).quantized;
}

}  // namespace

TEST(a_step_within_the_bound_is_stable) {
  const CotrainCurve curve = run(0.5);
  TEST_ASSERT_FALSE(curve.diverged);
  TEST_ASSERT_TRUE(curve.final_worst > 90);
}

// Its parameters are no numbers any more, and no disagreement between them is greater than nothing.
TEST(a_run_that_has_become_nothing_has_diverged) { TEST_ASSERT_TRUE(run(1e6).diverged); }
