#include "estimators/model/forecaster.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using laird::Archive;
using laird::Bytes;
using laird::estimators::Forecaster;
using laird::estimators::kNever;
using laird::estimators::Observed;

// Bounded, and nothing on the heap: a plain block of memory.
static_assert(std::is_trivially_copyable_v<Forecaster>);
static_assert(sizeof(Forecaster) <= 4096);

namespace {

std::uint64_t digest(Forecaster f) {
  Archive ar = Archive::hasher();
  f.archive(ar);
  return ar.digest();
}

// A noisy flattening curve: ln loss = 0.2 + 1.5 s^-0.5 (s in intervals) + noise.
Forecaster on_noisy_curve(int reports, double noise, std::uint64_t seed = 42) {
  Forecaster f;
  laird::test::Random points{seed};
  for (int i = 1; i <= reports; ++i) {
    f.observe(100.0 * i, std::exp(0.2 + 1.5 / std::sqrt(i) + noise * points.bell()));
  }
  return f;
}

}  // namespace

TEST(foretells_a_power_law) {
  Forecaster f;
  for (int i = 1; i <= 60; ++i) f.observe(32.0 * i, 4.0 * std::pow(32.0 * i, -0.4));
  const double end = 32.0 * 300;
  const double want = 4.0 * std::pow(end, -0.4);
  const auto forecast = f.loss_at(end);
  TEST_ASSERT_TRUE(forecast.has_value());
  TEST_ASSERT_DOUBLE_WITHIN(0.1 * want, want, forecast->loss);
  TEST_ASSERT_TRUE(forecast->low < want && want < forecast->high);
}

TEST(foretells_a_curve_that_flattens_where_a_straight_line_would_not) {
  const Forecaster f = on_noisy_curve(100, 0.0);
  const double want = std::exp(0.2 + 1.5 / std::sqrt(2000.0));
  TEST_ASSERT_DOUBLE_WITHIN(0.1 * want, want, f.loss_at(200'000.0)->loss);
}

TEST(knows_nothing_before_the_first_report) {
  const Forecaster f;
  TEST_ASSERT_FALSE(f.loss_at(100.0).has_value());
  TEST_ASSERT_EQUAL_DOUBLE(0.5, f.probability_below(1.0, 100.0));
  TEST_ASSERT_EQUAL_DOUBLE(kNever, f.samples_to_reach(1.0).samples);
}

TEST(one_report_gives_a_wide_but_usable_forecast) {
  Forecaster f;
  f.observe(100.0, 2.3);
  const auto forecast = f.loss_at(1000.0);
  TEST_ASSERT_TRUE(forecast->low < 0.5 * forecast->high);
  const double p = f.probability_below(1.8, 1000.0);
  TEST_ASSERT_TRUE(p > 0.2 && p < 0.95);
  // Zero samples are a report like any other.
  Forecaster at_zero;
  TEST_ASSERT_TRUE(at_zero.observe(0.0, 2.3) == Observed::kFused);
  TEST_ASSERT_TRUE(at_zero.loss_at(1000.0)->low < at_zero.loss_at(1000.0)->high);
}

TEST(refused_reports_leave_the_state_as_it_was) {
  Forecaster f = on_noisy_curve(30, 0.05);
  const std::uint64_t before = digest(f);
  const double inf = std::numeric_limits<double>::infinity();
  for (const double loss : {0.0, -1.0, inf, -inf, std::nan(""), 1e300, 1e-300}) {
    TEST_ASSERT_TRUE(f.observe(5000.0, loss) == Observed::kRefusedLoss);
  }
  for (const double samples : {2999.0, -1.0, inf, -inf, std::nan(""), 1e30}) {
    TEST_ASSERT_TRUE(f.observe(samples, 1.0) == Observed::kRefusedSamples);
  }
  TEST_ASSERT_EQUAL_UINT64(before, digest(f));
}

TEST(repeated_sample_counts_are_absorbed) {
  Forecaster f;
  for (int i = 0; i < 50; ++i) TEST_ASSERT_TRUE(accepted(f.observe(100.0, 2.0)));
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 2.0, f.loss_at(100.0)->loss);
  for (int i = 0; i < 50; ++i) TEST_ASSERT_TRUE(accepted(f.observe(200.0, 1.5)));
  TEST_ASSERT_DOUBLE_WITHIN(0.1, 1.5, f.loss_at(200.0)->loss);
}

TEST(an_outlier_is_clipped_and_soon_forgotten) {
  Forecaster clean = on_noisy_curve(60, 0.01);
  Forecaster hit = clean;
  TEST_ASSERT_TRUE(hit.observe(6050.0, 500.0) == Observed::kClipped);
  TEST_ASSERT_TRUE(clean.observe(6050.0, 1.48) == Observed::kFused);
  for (int i = 61; i <= 80; ++i) {
    const double loss = std::exp(0.2 + 1.5 / std::sqrt(i));
    clean.observe(100.0 * i, loss);
    hit.observe(100.0 * i, loss);
  }
  const double want = clean.loss_at(30'000.0)->loss;
  TEST_ASSERT_DOUBLE_WITHIN(0.15 * want, want, hit.loss_at(30'000.0)->loss);
}

TEST(an_outlier_does_not_count_as_reaching_the_target) {
  Forecaster f = on_noisy_curve(60, 0.01);
  TEST_ASSERT_TRUE(f.observe(6050.0, 1e-6) == Observed::kClipped);
  TEST_ASSERT_TRUE(f.probability_below(0.5, 7000.0) < 0.5);
}

TEST(a_new_level_is_followed) {
  Forecaster f = on_noisy_curve(60, 0.01);
  for (int i = 61; i <= 90; ++i) f.observe(100.0 * i, 40.0);
  TEST_ASSERT_TRUE(f.loss_at(9001.0)->loss > 20.0);
}

TEST(probability_is_monotone_in_target_and_deadline) {
  const Forecaster f = on_noisy_curve(40, 0.03);
  double last = 0.0;
  for (double samples = 4100.0; samples < 1e6; samples *= 1.3) {
    const double p = f.probability_below(1.35, samples);
    TEST_ASSERT_TRUE(p >= last - 0.02 && p >= 0.0 && p <= 1.0);
    last = std::max(last, p);
  }
  last = 0.0;
  for (double target = 0.2; target < 1.5; target += 0.02) {
    const double p = f.probability_below(target, 20'000.0);
    TEST_ASSERT_TRUE(p >= last);
    last = p;
  }
}

TEST(probability_is_one_once_reached_and_zero_for_the_impossible) {
  const Forecaster f = on_noisy_curve(40, 0.03);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, f.probability_below(f.loss_best(), 4000.0));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, f.probability_below(0.0, 1e9));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, f.probability_below(-1.0, 1e9));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, f.probability_below(std::nan(""), 1e9));
  // No samples left to process and not there yet.
  TEST_ASSERT_EQUAL_DOUBLE(0.0, f.probability_below(0.9 * f.loss_best(), 4000.0));
  TEST_ASSERT_TRUE(f.probability_below(1e-4, 5000.0) < 0.01);
}

TEST(need_quantiles_ascend_and_agree_with_the_probability) {
  const Forecaster f = on_noisy_curve(40, 0.03);
  const double target = 1.32;
  std::vector<double> needs(32);
  const double planned = 50'000.0;
  f.need_quantiles(target, planned, needs);
  for (std::size_t i = 1; i < needs.size(); ++i) TEST_ASSERT_TRUE(needs[i] >= needs[i - 1]);
  TEST_ASSERT_TRUE(needs.front() > 0.0);
  for (const std::size_t i : {std::size_t{4}, std::size_t{12}, std::size_t{20}}) {
    if (needs[i] >= kNever) continue;
    const double p = f.probability_below(target, 4000.0 + needs[i], planned);
    TEST_ASSERT_DOUBLE_WITHIN(0.06, (static_cast<double>(i) + 0.5) / 32.0, p);
  }
}

TEST(a_planned_length_bounds_the_need) {
  const Forecaster f = on_noisy_curve(40, 0.03);
  std::vector<double> needs(32);
  f.need_quantiles(1.32, 6000.0, needs);
  int never = 0;
  for (const double need : needs) {
    TEST_ASSERT_TRUE(need <= 2000.0 || need == kNever);
    never += need == kNever ? 1 : 0;
  }
  TEST_ASSERT_TRUE(never > 0);
  TEST_ASSERT_EQUAL_DOUBLE(f.loss_at(6000.0)->loss, f.loss_at(60'000.0, 6000.0)->loss);
}

TEST(the_need_of_a_power_law_is_found) {
  Forecaster f;
  for (int i = 1; i <= 60; ++i) f.observe(32.0 * i, 4.0 * std::pow(32.0 * i, -0.4));
  // loss 4 s^-0.4 = 0.15 at s = (4 / 0.15)^2.5 = 3671; 1920 are done.
  const auto need = f.samples_to_reach(0.15);
  TEST_ASSERT_DOUBLE_WITHIN(300.0, 3671.0 - 1920.0, need.samples);
  TEST_ASSERT_TRUE(need.low < need.samples && need.samples < need.high);
  TEST_ASSERT_TRUE(need.probability > 0.8);
}

TEST(does_not_depend_on_the_unit_of_samples) {
  Forecaster steps;
  Forecaster samples;
  laird::test::Random points;
  for (int i = 1; i <= 50; ++i) {
    const double loss = std::exp(0.2 + 1.5 / std::sqrt(i) + 0.03 * points.bell());
    steps.observe(i, loss);
    samples.observe(4096.0 * i, loss);
  }
  const double want = steps.loss_at(500.0)->loss;
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, want, samples.loss_at(4096.0 * 500.0)->loss);
}

TEST(an_archived_forecaster_goes_on_bit_for_bit) {
  Forecaster f = on_noisy_curve(25, 0.05);
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  f.archive(writer);
  Forecaster copy;
  Archive reader = Archive::reader(bytes);
  copy.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_TRUE(reader.at_end());
  f.observe(2600.0, 1.6);
  copy.observe(2600.0, 1.6);
  TEST_ASSERT_EQUAL_UINT64(digest(f), digest(copy));
  TEST_ASSERT_EQUAL_DOUBLE(f.loss_at(9000.0)->loss, copy.loss_at(9000.0)->loss);
}

TEST(an_archive_with_a_nan_is_refused) {
  Forecaster f = on_noisy_curve(25, 0.05);
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  f.archive(writer);
  for (std::size_t i = 8; i < 16; ++i) bytes[i] = 0xFF;
  Forecaster copy;
  Archive reader = Archive::reader(bytes);
  copy.archive(reader);
  TEST_ASSERT_TRUE(reader.failed());
}

TEST(any_sequence_of_reports_leaves_finite_ordered_answers) {
  laird::test::Random points;
  const double inf = std::numeric_limits<double>::infinity();
  for (int n = 0; n < 40; ++n) {
    Forecaster f;
    double samples = 0.0;
    for (int i = 0; i < 250; ++i) {
      const double dice = points.unit();
      double loss = std::pow(10.0, 8.0 * (points.unit() - 0.5));
      if (dice < 0.05) loss = inf;
      if (dice < 0.04) loss = std::nan("");
      if (dice < 0.03) loss = 0.0;
      if (dice < 0.02) loss = -loss;
      const double jump = std::pow(10.0, 12.0 * points.unit() - 4.0);
      if (dice < 0.9) samples = std::min(1e17, samples + jump);
      f.observe(dice > 0.95 ? samples - jump : samples, loss);
      if (f.reports() == 0) continue;
      const auto forecast = f.loss_at(samples * 20.0 + 1.0);
      TEST_ASSERT_TRUE(std::isfinite(forecast->loss) && forecast->loss > 0.0);
      TEST_ASSERT_TRUE(forecast->low <= forecast->loss && forecast->loss <= forecast->high);
      TEST_ASSERT_TRUE(std::isfinite(forecast->high));
      const double p = f.probability_below(0.1, samples * 3.0 + 1.0);
      TEST_ASSERT_TRUE(p >= 0.0 && p <= 1.0);
      const auto need = f.samples_to_reach(0.1);
      TEST_ASSERT_TRUE(need.low >= 0.0 && need.low <= need.high && need.high <= kNever);
    }
  }
}

TEST(a_hundred_thousand_reports_stay_accurate) {
  Forecaster f;
  laird::test::Random points;
  for (int i = 1; i <= 100'000; ++i) {
    f.observe(64.0 * i, 3.0 * std::pow(i, -0.2) * std::exp(0.05 * points.bell()));
  }
  const double want = 3.0 * std::pow(200'000.0, -0.2);
  TEST_ASSERT_DOUBLE_WITHIN(0.05 * want, want, f.loss_at(64.0 * 200'000)->loss);
}

namespace {

// Runs that differ in their noise alone: 200 reports that fall late, as with a decaying rate.
double late_drop(int i) { return i < 120 ? 2.0 / (1.0 + 0.01 * i) : 0.9 - 0.008 * (i - 120); }

Forecaster late_run(int reports, std::uint64_t seed, const Forecaster* earlier = nullptr,
                    double level = 1.0) {
  Forecaster f;
  if (earlier != nullptr) f.recall(earlier->trace());
  laird::test::Random points{seed};
  for (int i = 1; i <= reports; ++i) {
    f.observe(100.0 * i, level * late_drop(i) * std::exp(0.02 * points.bell()));
  }
  return f;
}

}  // namespace

TEST(an_earlier_run_is_a_forecast_before_the_first_report) {
  const Forecaster earlier = late_run(200, 1);
  const Forecaster next = late_run(0, 2, &earlier);
  const double want = late_drop(200);
  const auto forecast = next.loss_at(20'000.0);
  TEST_ASSERT_TRUE(forecast.has_value());
  TEST_ASSERT_DOUBLE_WITHIN(0.25 * want, want, forecast->loss);
  TEST_ASSERT_TRUE(forecast->low < want && want < forecast->high);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, next.recalled_part(20'000.0));
  TEST_ASSERT_TRUE(next.probability_below(0.5, 20'000.0) > 0.9);
  TEST_ASSERT_TRUE(next.probability_below(0.5, 9'000.0) < 0.2);
}

TEST(a_run_that_follows_an_earlier_one_knows_of_its_late_drop) {
  const Forecaster earlier = late_run(200, 1);
  const double want = late_drop(200);
  const double alone = late_run(20, 2).loss_at(20'000.0)->loss;
  const double with_one = late_run(20, 2, &earlier).loss_at(20'000.0)->loss;
  TEST_ASSERT_TRUE(std::fabs(std::log(with_one / want)) < 0.5 * std::fabs(std::log(alone / want)));
  TEST_ASSERT_TRUE(late_run(20, 2, &earlier).probability_below(0.4, 20'000.0) >
                   late_run(20, 2).probability_below(0.4, 20'000.0));
}

TEST(a_run_that_leaves_its_earlier_one_is_let_go_within_a_few_reports) {
  const Forecaster earlier = late_run(200, 1);
  TEST_ASSERT_TRUE(late_run(6, 2, &earlier).recalled_part(20'000.0) > 0.8);
  // The same shape at five times the level: other data.
  TEST_ASSERT_TRUE(late_run(6, 2, &earlier, 5.0).recalled_part(20'000.0) < 0.4);
}

TEST(a_trace_keeps_few_points_of_a_long_run_and_its_ends) {
  const Forecaster f = on_noisy_curve(5'000, 0.02);
  TEST_ASSERT_TRUE(f.trace().size() >= laird::estimators::kTracePoints / 2);
  TEST_ASSERT_DOUBLE_WITHIN(0.05, 0.2 + 1.5 / std::sqrt(5'000.0), f.trace().at(500'000.0, 100.0));
  TEST_ASSERT_DOUBLE_WITHIN(0.1, 0.2 + 1.5 / std::sqrt(50.0), f.trace().at(5'000.0, 100.0));
}

TEST(is_the_same_to_the_bit_on_every_machine) {
  // The loss is exact in binary, so that nothing here depends on the machine's own exp and log.
  Forecaster f;
  laird::test::Random points;
  for (int i = 1; i <= 200; ++i) f.observe(48.0 * i, 0.5 + 2.0 / i + 0.125 * points.unit());
  Archive ar = Archive::hasher();
  double p = f.probability_below(0.5, 20'000.0);
  double loss = f.loss_at(20'000.0)->loss;
  double need = f.samples_to_reach(0.5).low;
  ar(p);
  ar(loss);
  ar(need);
  f.archive(ar);
  TEST_ASSERT_EQUAL_HEX64(0xAB4CB04FCA3CBCCAULL, ar.digest());
}
