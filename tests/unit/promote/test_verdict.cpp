#include "promote/verdict.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;

namespace {

const models::Judge kJudge{models::Loss::kCrossEntropy, models::Decision::kLargest, 2, 1.0};

models::Rows rows() {
  models::Rows out{
      .rows = 1000, .features = 1, .outputs = 2, .inputs = {}, .labels = {}, .answers = {}};
  for (int i = 0; i < 1000; ++i) {
    out.inputs.push_back(0.0F);
    out.labels.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    out.answers.push_back(i % 2 == 0 ? 2.0F : -2.0F);
    out.answers.push_back(0.0F);
  }
  return out;
}

}  // namespace

TEST(the_models_own_answers_pass) {
  const Verdict verdict = judge(kJudge, rows(), rows().answers);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, verdict.agreement.part);
  TEST_ASSERT_EQUAL_DOUBLE(0.0, verdict.loss_change);
  TEST_ASSERT_EQUAL_STRING("", refusal(verdict, {}).c_str());
}

TEST(one_in_a_hundred_flipped_is_refused) {
  std::vector<float> answers = rows().answers;
  for (std::size_t r = 0; r < 10; ++r) answers[200 * r] = -answers[200 * r];
  const Verdict verdict = judge(kJudge, rows(), answers);
  TEST_ASSERT_EQUAL_DOUBLE(0.99, verdict.agreement.part);
  TEST_ASSERT_EQUAL_STRING(
      "its answers agree with the model's on 99.000% of the rows, and 99.900% is the least",
      refusal(verdict, {}).c_str());
}

TEST(a_worse_loss_with_the_same_decisions_is_refused) {
  std::vector<float> answers = rows().answers;
  for (float& v : answers) v *= 0.5F;
  const Verdict verdict = judge(kJudge, rows(), answers);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, verdict.agreement.part);
  TEST_ASSERT_TRUE(refusal(verdict, {}).starts_with("its loss is 0.18"));
}

TEST(answers_that_are_no_numbers_are_refused) {
  std::vector<float> answers = rows().answers;
  for (float& v : answers) v = std::nanf("");
  TEST_ASSERT_FALSE(refusal(judge(kJudge, rows(), answers), {0.0, 1e9}).empty());
}

TEST(a_verdict_comes_back_from_a_file) {
  const Verdict verdict = judge(kJudge, rows(), rows().answers);
  const auto back = verdict_from(to_json(verdict));
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(*verdict.metric.accuracy, *back->metric.accuracy);
  TEST_ASSERT_FALSE(verdict_from(json::Value::object()).has_value());
}
