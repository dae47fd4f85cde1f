#include "trainers/evaluate.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"
#include "trainers/model/training.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Two features, class by the sign of the first; `from` and `to` bound it.
std::string write_rows(const std::string& path, int from, int to) {
  std::ofstream file(path);
  file << "a,b,y\n";
  for (int i = from; i < to; ++i) file << i << "," << i % 7 << "," << (i >= 0 ? 1 : 0) << "\n";
  return path;
}

Params params_of(const std::string& path) {
  Params params;
  params.kind = Kind::kSoftmax;
  params.data.format = Format::kCsv;
  params.data.path = path;
  params.data.class_count = 2;
  params.learning_rate = 0.05;
  params.epochs = 20;
  return params;
}

Bytes trained(const Params& params) {
  Result<Training> training = Training::create(params, 1);
  TEST_ASSERT_TRUE(training.has_value());
  while (training->may_advance(UINT64_MAX)) {
    TEST_ASSERT_TRUE(training->advance(UINT64_MAX).has_value());
  }
  return training->save();
}

}  // namespace

TEST(other_rows_enter_as_those_of_the_training_did) {
  const test::TemporaryFolder folder;
  const Params training = params_of(write_rows(folder.path() + "/train.csv", -200, 200));
  const Bytes model = trained(training);
  // Scaled by themselves these rows would lie around 0, and half of them would come out as 0.
  const Params other = params_of(write_rows(folder.path() + "/test.csv", 20, 200));
  const Result<Evaluation> right = evaluate(other, view(model));
  TEST_ASSERT_TRUE(right.has_value() && right->scaled_as_trained);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, *right->accuracy);
  // A checkpoint of an earlier release does not say how they did, and the caller is told.
  const std::size_t at = read_info(view(model))->state_at;
  const Result<Evaluation> blind = evaluate(other, view(model).substr(at));
  TEST_ASSERT_TRUE(blind.has_value() && !blind->scaled_as_trained);
  TEST_ASSERT_TRUE(*blind->accuracy < 0.7);
}

TEST(rows_that_do_not_fit_the_model_are_refused) {
  const test::TemporaryFolder folder;
  const Bytes model = trained(params_of(write_rows(folder.path() + "/train.csv", -50, 50)));
  std::ofstream(folder.path() + "/wide.csv") << "a,b,c,y\n1,2,3,0\n4,5,6,1\n";
  TEST_ASSERT_FALSE(evaluate(params_of(folder.path() + "/wide.csv"), view(model)).has_value());
  Params kind = params_of(folder.path() + "/train.csv");
  kind.kind = Kind::kSvm;
  TEST_ASSERT_FALSE(evaluate(kind, view(model)).has_value());
}
