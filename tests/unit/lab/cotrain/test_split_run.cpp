#include "lab/cotrain/split_run.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

namespace {

// Ten clouds, one for each class.
ImageSet clouds(int rows, int shift) {
  ImageSet set;
  set.features = Eigen::MatrixXf(rows, 11);
  for (int i = 0; i < rows; ++i) {
    const int label = i % 10;
    for (int j = 0; j < 10; ++j) {
      const float noise = static_cast<float>(((i + shift) * 37 + j * 13) % 17) / 20.0F;
      set.features(i, j) = (j == label ? 0.9F : 0.0F) + noise;
    }
    set.features(i, 10) = 1.0F;
    set.labels.push_back(label);
  }
  return set;
}

SplitResult run(SplitConfig config) {
  config.boards = 5;
  config.samples = 500;
  config.rounds = 60;
  config.batch = 20;
  config.rate = 0.1;
  return run_split(config, clouds(500, 0), clouds(200, 5), 95.0);
}

}  // namespace

TEST(both_ways_learn_all_classes_from_boards_with_two_each) {
  SplitConfig config;
  TEST_ASSERT_TRUE(run(config).accuracy > 95.0);
  config.local_steps = 5;
  const SplitResult averaged = run(config);
  TEST_ASSERT_TRUE(averaged.accuracy > 95.0);
  TEST_ASSERT_TRUE(averaged.rounds_to > 0);
  TEST_ASSERT_TRUE(averaged.bytes > 0.0);
}

TEST(the_trimmed_mean_withstands_a_board_that_shouts_and_the_plain_one_does_not) {
  for (const int steps : {0, 5}) {
    SplitConfig config;
    config.local_steps = steps;
    config.sorted = false;
    config.poison = Poison::kScaled;
    const double plain = run(config).accuracy;
    config.trim = 1;
    const double robust = run(config).accuracy;
    TEST_ASSERT_TRUE(robust > 93.0);
    TEST_ASSERT_TRUE(steps == 0 || plain < robust - 5.0);
  }
}
