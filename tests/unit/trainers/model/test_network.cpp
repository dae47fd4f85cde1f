#include "trainers/model/network.hpp"

#include <cmath>
#include <limits>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

struct Problem {
  Network<double> network;
  std::vector<std::uint16_t> labels;
  std::vector<float> numbers;
  std::uint32_t count;

  [[nodiscard]] Targets targets() const { return {labels, numbers}; }
};

Problem random_problem(Shape shape, std::uint32_t batch, std::uint32_t count) {
  Random random(11);
  const std::uint32_t inputs = shape.sizes.front();
  const std::uint32_t outputs = shape.sizes.back();
  Problem p{Network<double>(std::move(shape), batch), {}, {}, count};
  for (Eigen::Index i = 0; i < p.network.parameters().size(); ++i) {
    p.network.parameters()[i] = 0.5 * random.normal();
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    for (std::uint32_t f = 0; f < inputs; ++f) p.network.input(c)[f] = random.normal();
    p.labels.push_back(static_cast<std::uint16_t>(random.below(std::max(outputs, 2U))));
  }
  return p;
}

// Central differences on every parameter. The losses have kinks (hinge, ReLU), but these random
// points are not within the step of one.
void check_gradient(Problem& p, std::uint32_t batch) {
  (void)p.network.loss_and_gradient(p.count, p.targets());
  const Network<double>::Vector gradient = p.network.gradient();
  constexpr double kStep = 1e-6;
  double largest = 0.0;
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    double& w = p.network.parameters()[i];
    const double kept = w;
    w = kept + kStep;
    const double above = p.network.loss_and_gradient(p.count, p.targets());
    w = kept - kStep;
    const double below = p.network.loss_and_gradient(p.count, p.targets());
    w = kept;
    const double numeric = (above - below) / (2 * kStep) / batch;
    TEST_ASSERT_DOUBLE_WITHIN(1e-7, numeric, gradient[i]);
    largest = std::max(largest, std::fabs(numeric));
  }
  TEST_ASSERT_TRUE_MESSAGE(largest > 1e-3, "a gradient of zeros checks nothing");
}

}  // namespace

TEST(gradient_of_linear_regression_on_classes) {
  Problem p = random_problem({{5, 3}, Loss::kSquared}, 7, 7);
  check_gradient(p, 7);
}

TEST(gradient_of_linear_regression_on_numbers) {
  Problem p = random_problem({{5, 1}, Loss::kSquared}, 7, 7);
  for (const std::uint16_t label : p.labels) p.numbers.push_back(0.3F + 1.7F * label);
  p.labels.clear();
  check_gradient(p, 7);
}

TEST(gradient_of_the_binary_svm) {
  Problem p = random_problem({{5, 1}, Loss::kHinge}, 9, 9);
  check_gradient(p, 9);
}

TEST(gradient_of_the_multi_class_svm) {
  Problem p = random_problem({{5, 4}, Loss::kHinge}, 9, 9);
  check_gradient(p, 9);
}

TEST(gradient_of_softmax_regression) {
  Problem p = random_problem({{5, 4}, Loss::kCrossEntropy}, 6, 6);
  check_gradient(p, 6);
}

TEST(gradient_of_the_mlp) {
  Problem p = random_problem({{5, 8, 6, 3}, Loss::kCrossEntropy}, 6, 6);
  check_gradient(p, 6);
}

TEST(a_cut_batch_has_the_gradient_of_its_samples_over_the_nominal_size) {
  Problem p = random_problem({{5, 8, 3}, Loss::kCrossEntropy}, 10, 4);
  check_gradient(p, 10);
}

TEST(the_penalty_pulls_on_weights_and_not_on_biases) {
  Problem p = random_problem({{2, 1}, Loss::kSquared}, 1, 1);
  (void)p.network.loss_and_gradient(1, p.targets());
  const Network<double>::Vector before = p.network.gradient();
  p.network.add_penalty(0.1);
  const Network<double>::Vector change = p.network.gradient() - before;
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.1 * p.network.parameters()[0], change[0]);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.1 * p.network.parameters()[1], change[1]);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.0, change.tail(change.size() - 2).norm());
}

TEST(cross_entropy_survives_scores_that_overflow_exp) {
  Network<float> network({{1, 2}, Loss::kCrossEntropy}, 1);
  network.parameters()[0] = 1e4F;
  network.input(0)[0] = 1.0F;
  const std::uint16_t label = 1;
  const double loss = network.loss_and_gradient(1, {std::span(&label, 1), {}});
  TEST_ASSERT_DOUBLE_WITHIN(1.0, 1e4, loss);
  TEST_ASSERT_TRUE(network.gradient().allFinite());
}

TEST(not_a_number_in_gives_a_loss_that_says_so) {
  for (const Loss loss : {Loss::kSquared, Loss::kHinge, Loss::kCrossEntropy}) {
    for (const std::uint32_t outputs : {1U, 3U}) {
      if (outputs == 1 && loss == Loss::kCrossEntropy) continue;
      Network<float> network({{2, outputs}, loss}, 1);
      network.parameters().setConstant(std::numeric_limits<float>::quiet_NaN());
      network.input(0)[0] = 1.0F;
      const std::uint16_t label = 1;
      TEST_ASSERT_FALSE(std::isfinite(network.loss_and_gradient(1, {std::span(&label, 1), {}})));
    }
  }
}

// The gradient of a batch with bounded rows is the sum of the rows' own gradients, each shortened.
TEST(no_row_adds_more_than_its_bound) {
  constexpr std::uint32_t kBatch = 7;
  constexpr double kMost = 0.4;
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kHinge, Loss::kSquared}) {
    for (const bool deep : {false, true}) {
      Shape shape{deep ? std::vector<std::uint32_t>{5, 6, 3} : std::vector<std::uint32_t>{5, 3},
                  loss};
      Problem all = random_problem(shape, kBatch, kBatch);
      Network<double>::Vector expected =
          Network<double>::Vector::Zero(all.network.parameters().size());
      int shortened = 0;
      for (std::uint32_t c = 0; c < kBatch; ++c) {
        Problem one = random_problem(shape, 1, 1);
        one.network.parameters() = all.network.parameters();
        for (std::uint32_t f = 0; f < 5; ++f) one.network.input(0)[f] = all.network.input(c)[f];
        one.labels = {all.labels[c]};
        (void)one.network.loss_and_gradient(1, one.targets());
        const double length = one.network.gradient().norm();
        shortened += length > kMost ? 1 : 0;
        expected += one.network.gradient() * std::min(1.0, kMost / std::max(length, 1e-300));
      }
      all.network.bound_rows(kMost, 0.0);
      (void)all.network.loss_and_gradient(kBatch, all.targets());
      TEST_ASSERT_TRUE_MESSAGE(shortened > 0, "a bound that nothing meets shows nothing");
      TEST_ASSERT_TRUE((all.network.gradient() - expected / kBatch).norm() < 1e-12);
    }
  }
}

TEST(no_row_adds_more_to_the_loss_than_its_bound) {
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kHinge, Loss::kSquared}) {
    Problem p = random_problem({{4, 3}, loss}, 8, 8);
    p.network.parameters() *= 100.0;
    const double free = p.network.loss(8, p.targets());
    p.network.bound_rows(1.0, 0.5);
    const double bound = p.network.loss(8, p.targets());
    TEST_ASSERT_TRUE(free > 8 * 0.5 && bound <= 8 * 0.5 && bound > 0.0);
  }
}
