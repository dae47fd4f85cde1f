#include "trainers/model/training.hpp"

#include <cmath>
#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

Params params_for(Kind kind) {
  Params params;
  params.kind = kind;
  params.data.rows = 500;
  params.data.features = 13;
  params.data.classes = 4;
  params.batch = 32;
  params.epochs = 4;
  params.learning_rate = 0.02;
  params.decay = 0.1;
  params.l2 = 1e-4;
  if (kind == Kind::kMlp) params.hidden = {17};
  return params;
}

Training make(const Params& params, std::uint64_t seed = 1) {
  Result<Training> training = Training::create(params, seed);
  TEST_ASSERT_TRUE(training.has_value());
  return std::move(*training);
}

void run_to(Training& training, std::uint64_t limit) {
  while (training.may_advance(limit)) TEST_ASSERT_TRUE(training.advance(limit).has_value());
}

bool same_weights(const Training& a, const Training& b) {
  return a.parameters().size() == b.parameters().size() &&
         std::memcmp(a.parameters().data(), b.parameters().data(),
                     static_cast<std::size_t>(a.parameters().size()) * sizeof(float)) == 0;
}

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr Kind kKinds[] = {Kind::kLinear, Kind::kSvm, Kind::kSoftmax, Kind::kMlp};

}  // namespace

TEST(every_kind_learns) {
  for (const Kind kind : kKinds) {
    Training training = make(params_for(kind));
    run_to(training, 100);
    const double first = training.take_report().loss;
    run_to(training, 1500);
    (void)training.take_report();
    run_to(training, 2000);
    const double last = training.take_report().loss;
    TEST_ASSERT_TRUE_MESSAGE(last < 0.7 * first, std::string(name(kind)).c_str());
  }
}

TEST(the_binary_svm_and_the_number_regression_learn) {
  Params svm = params_for(Kind::kSvm);
  svm.positive_class = 2;
  Params line = params_for(Kind::kLinear);
  line.data.classes = 0;
  line.target_is_number = true;
  for (const Params& params : {svm, line}) {
    Training training = make(params);
    run_to(training, 64);
    const double first = training.take_report().loss;
    run_to(training, 1500);
    (void)training.take_report();
    run_to(training, 2000);
    TEST_ASSERT_TRUE(training.take_report().loss < 0.5 * first);
  }
}

TEST(a_run_killed_and_resumed_ends_with_the_same_bits) {
  // At the start, inside an epoch, inside a batch, at an epoch's end and at the run's.
  for (const Kind kind : kKinds) {
    for (const std::uint64_t at : {0U, 320U, 485U, 500U, 1000U, 2000U}) {
      Training whole = make(params_for(kind));
      run_to(whole, at);
      run_to(whole, UINT64_MAX);
      Bytes saved;
      {
        Training killed = make(params_for(kind));
        run_to(killed, at);
        saved = killed.save();
        run_to(killed, at + 77);
      }
      Training resumed = make(params_for(kind), 99);  // another seed: the saved numbers must win
      TEST_ASSERT_TRUE(resumed.restore(view(saved)).has_value());
      TEST_ASSERT_EQUAL_UINT64(at, resumed.samples());
      run_to(resumed, UINT64_MAX);
      TEST_ASSERT_TRUE(same_weights(whole, resumed));
      TEST_ASSERT_TRUE(whole.save() == resumed.save());
    }
  }
}

TEST(limits_on_the_grid_of_batches_leave_no_trace) {
  Training whole = make(params_for(Kind::kMlp));
  run_to(whole, UINT64_MAX);
  Training sliced = make(params_for(Kind::kMlp));
  for (const std::uint64_t limit : {32U, 320U, 500U, 532U, 1000U}) run_to(sliced, limit);
  run_to(sliced, UINT64_MAX);
  TEST_ASSERT_TRUE(same_weights(whole, sliced));
}

TEST(saving_does_not_disturb_the_run) {
  Training a = make(params_for(Kind::kMlp));
  Training b = make(params_for(Kind::kMlp));
  for (std::uint64_t at = 100; at <= 2000; at += 100) {
    run_to(a, at);
    run_to(b, at);
    (void)b.save();
  }
  TEST_ASSERT_TRUE(same_weights(a, b));
}

TEST(a_limit_is_kept_exactly_and_the_grid_found_again) {
  Training training = make(params_for(Kind::kSoftmax));
  run_to(training, 45);
  TEST_ASSERT_EQUAL_UINT64(45, training.samples());
  TEST_ASSERT_TRUE(training.advance(UINT64_MAX).has_value());
  TEST_ASSERT_EQUAL_UINT64(64, training.samples());
  run_to(training, UINT64_MAX);
  TEST_ASSERT_EQUAL_UINT64(2000, training.samples());
  TEST_ASSERT_TRUE(training.finished());
}

TEST(an_epoch_visits_every_row_once_and_the_next_in_another_order) {
  // With steps too small to matter the loss of a row is fixed: the mean over an epoch does not
  // depend on the order, the mean over a batch does.
  Params params = params_for(Kind::kMlp);
  params.learning_rate = 1e-9;
  params.momentum = 0.0;
  params.l2 = 0.0;
  Training training = make(params);
  run_to(training, 32);
  const double first_batch = training.loss().value();
  run_to(training, 500);
  const double first_epoch = training.take_report().loss;
  run_to(training, 532);
  const double second_batch = training.loss().value();
  run_to(training, 1000);
  TEST_ASSERT_DOUBLE_WITHIN(1e-5, first_epoch, training.take_report().loss);
  TEST_ASSERT_TRUE(std::fabs(first_batch - second_batch) > 1e-3);
}

TEST(loss_is_the_mean_since_the_last_report) {
  Training training = make(params_for(Kind::kSoftmax));
  TEST_ASSERT_FALSE(training.loss().has_value());
  run_to(training, 32);
  const double a = training.loss().value();
  run_to(training, 64);
  const double both = training.take_report().loss;
  TEST_ASSERT_EQUAL_UINT64(0, training.unreported());
  TEST_ASSERT_EQUAL_DOUBLE(both, training.loss().value());
  Training again = make(params_for(Kind::kSoftmax));
  run_to(again, 32);
  (void)again.take_report();
  run_to(again, 64);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, both, (a + again.loss().value()) / 2);
}

TEST(divergence_is_an_error_that_says_what_to_do) {
  Params params = params_for(Kind::kLinear);
  params.learning_rate = 50.0;
  params.decay = 0.0;
  params.epochs = 0;
  Training training = make(params);
  Status status;
  for (int i = 0; i < 100'000 && status; ++i) status = training.advance(UINT64_MAX);
  TEST_ASSERT_FALSE(status.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(status.error().context.c_str(), "lower \"learning_rate\""));
}

TEST(a_damaged_or_foreign_state_changes_nothing) {
  Training training = make(params_for(Kind::kSoftmax));
  run_to(training, 64);
  const Bytes good = training.save();
  Training other = make(params_for(Kind::kMlp));
  const Status foreign = other.restore(view(good));
  TEST_ASSERT_FALSE(foreign.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(foreign.error().context.c_str(), "of another run"));
  for (std::size_t cut = 0; cut < good.size(); cut += 5) {
    TEST_ASSERT_FALSE(training.restore(view(good).substr(0, cut)).has_value());
  }
  Bytes poisoned = good;
  for (std::size_t i = poisoned.size() - 4; i < poisoned.size(); ++i) poisoned[i] = 0xFF;  // NaN
  TEST_ASSERT_FALSE(training.restore(view(poisoned)).has_value());
  TEST_ASSERT_TRUE(training.save() == good);
}

TEST(a_run_begins_with_the_model_of_one_on_other_data_and_with_nothing_else_of_it) {
  for (const Kind kind : kKinds) {
    Training earlier = make(params_for(kind));
    run_to(earlier, 1000);
    Params params = params_for(kind);
    params.data.rows = 640;  // another night's data
    Training warm = make(params, 9);
    TEST_ASSERT_TRUE(warm.begin_with(view(earlier.save())).has_value());
    TEST_ASSERT_TRUE(same_weights(warm, earlier));
    TEST_ASSERT_EQUAL_UINT64(0, warm.samples());
    TEST_ASSERT_FALSE(warm.loss().has_value());
    run_to(warm, 640);
    TEST_ASSERT_EQUAL_UINT64(640, warm.samples());
  }
  Training softmax = make(params_for(Kind::kSoftmax));
  Params wider = params_for(Kind::kSoftmax);
  wider.data.features = 14;
  Training other = make(wider);
  const Bytes before = other.save();
  TEST_ASSERT_FALSE(other.begin_with(view(softmax.save())).has_value());
  TEST_ASSERT_FALSE(other.begin_with(view(before).substr(0, before.size() / 2)).has_value());
  TEST_ASSERT_TRUE(other.save() == before);
}

TEST(a_model_that_would_not_fit_is_refused) {
  Params params = params_for(Kind::kMlp);
  params.hidden = {8192, 8192};
  const auto training = Training::create(params, 1);
  TEST_ASSERT_FALSE(training.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(training.error().context.c_str(), "make \"hidden\" smaller"));
}

TEST(held_out_rows_are_not_trained_on_and_measure_the_target) {
  Params params = params_for(Kind::kMlp);
  params.held_out = 0.2;
  params.target_metric = TargetMetric::kHeldOutError;
  Training training = make(params);
  TEST_ASSERT_EQUAL_UINT32(400, training.training_rows().rows);
  TEST_ASSERT_EQUAL_UINT32(100, training.held_out_rows()->rows);
  TEST_ASSERT_FALSE(training.loss().has_value());
  run_to(training, 400);
  const double early = training.take_report().loss;
  run_to(training, 1600);
  const double late = training.take_report().loss;
  // An error is a part of the 100 rows.
  TEST_ASSERT_TRUE(early >= late && late < 0.5);
  TEST_ASSERT_TRUE(std::abs(late * 100 - std::round(late * 100)) < 1e-9);
  // Looking does not learn: a run that reports its training loss has the same weights.
  params.target_metric = TargetMetric::kTrainingLoss;
  Training plain = make(params);
  run_to(plain, 1600);
  TEST_ASSERT_TRUE(same_weights(training, plain));
}

TEST(the_same_rows_are_held_out_after_a_restart) {
  Params params = params_for(Kind::kSoftmax);
  params.held_out = 0.3;
  const Training first = make(params, 1);
  const Training second = make(params, 2);
  TEST_ASSERT_TRUE(first.held_out_rows()->values == second.held_out_rows()->values);
  TEST_ASSERT_TRUE(first.training_rows().scale == first.held_out_rows()->scale);
}

TEST(a_checkpoint_of_the_release_before_resumes) {
  const Params params = params_for(Kind::kSvm);
  Training first = make(params);
  run_to(first, 320);
  const Bytes now = first.save();
  const Result<Payload> payload = read_info(view(now));
  TEST_ASSERT_TRUE(payload.has_value() && payload->info.has_value());
  // Then a payload was the state alone.
  Training second = make(params, 9);
  TEST_ASSERT_TRUE(second.restore(view(now).substr(payload->state_at)).has_value());
  TEST_ASSERT_EQUAL_UINT64(320, second.samples());
  TEST_ASSERT_TRUE(same_weights(first, second));
}
