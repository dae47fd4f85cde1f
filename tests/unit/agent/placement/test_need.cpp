#include "agent/placement/need.hpp"

#include <string>
#include <vector>

#include "base/exact_math.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

constexpr double kSpeed = 1000.0;
constexpr double kEvery = 1000.0;  // samples between two reports
constexpr std::uint64_t kPlanned = 500'000;

// Noiseless curves over samples.
double exponential(double samples) { return 2.0 * exact::exp(-samples / 100'000.0); }
double power_law(double samples) { return exact::pow(samples / 1000.0, -0.4); }
using Curve = double (*)(double);

core::Task followed(Curve curve, double target, double done, std::uint64_t planned,
                    DurationNs deadline = 500 * kSecond) {
  core::Task task;
  task.rate = kSpeed;
  task.spec.target_loss = target;
  task.planned_samples = planned;
  task.deadline_at = deadline;
  for (double samples = kEvery; samples <= done; samples += kEvery) {
    task.samples = static_cast<std::uint64_t>(samples);
    static_cast<void>(task.forecast.observe(samples, curve(samples)));
  }
  return task;
}

double samples_until(Curve curve, double target) {
  double samples = kEvery;
  while (curve(samples) > target) samples += kEvery;
  return samples;
}

// The task has had its lane to itself so far.
TimeNs now_of(const core::Task& task) {
  return static_cast<TimeNs>(static_cast<double>(task.samples) / kSpeed * 1e9);
}

Need judged(const core::Task& task) { return need_of(task, task.rate, now_of(task)); }

double mean_samples(const Need& need) {
  constexpr int kDraws = 100;
  double sum = 0.0;
  for (int i = 0; i < kDraws; ++i) sum += need.prospect.need_quantile((i + 0.5) / kDraws);
  return sum / kDraws;
}

}  // namespace

TEST(the_true_need_of_an_exponential_decay_mostly_lies_between_the_quantiles) {
  int asked = 0;
  int inside = 0;
  for (const double target : {0.5, 0.2, 0.12}) {
    const double all = samples_until(exponential, target);
    for (double done = 10'000; done <= 0.55 * all; done += 10'000) {
      const Need need = judged(followed(exponential, target, done, kPlanned));
      ++asked;
      inside += need.samples.low <= all - done && need.samples.high >= all - done ? 1 : 0;
    }
  }
  // They are the quantiles at 10 and 90%.
  TEST_ASSERT_TRUE(asked > 30 && 10 * inside >= 8 * asked);
}

// The probabilities behind a need are learned, in steps: a report may lift it a little.
constexpr double kLift = 1.3;

TEST(the_more_is_done_of_a_noiseless_power_law_the_less_is_needed) {
  for (const double target : {0.2, 0.12}) {
    double before = 1e300;
    for (double done = 10'000; done < samples_until(power_law, target); done += 5'000) {
      const double mean = mean_samples(judged(followed(power_law, target, done, kPlanned)));
      TEST_ASSERT_TRUE(mean <= kLift * before);
      before = mean;
    }
    TEST_ASSERT_TRUE(before < 110'000);
  }
}

TEST(the_more_is_done_of_an_exponential_decay_the_less_is_needed_once_it_shows) {
  // At first it falls too slowly to promise anything, so a third has to be seen.
  for (const double target : {0.5, 0.2, 0.12}) {
    const double all = samples_until(exponential, target);
    double before = 1e300;
    for (double done = all / 3.0; done < all; done += 10'000) {
      const double mean = mean_samples(judged(followed(exponential, target, done, kPlanned)));
      TEST_ASSERT_TRUE(mean <= kLift * before);
      before = mean;
    }
    TEST_ASSERT_TRUE(before < 120'000);
  }
}

TEST(quantiles_are_in_order_and_probabilities_are_probabilities) {
  for (const Curve curve : {exponential, power_law}) {
    for (const std::uint64_t planned : {std::uint64_t{0}, kPlanned}) {
      for (const double target : {0.9, 0.3, 0.05, 1e-6, 0.0, -1.0}) {
        for (const double done : {0.0, 1000.0, 2000.0, 7000.0, 60'000.0}) {
          const Need n = judged(followed(curve, target, done, planned));
          TEST_ASSERT_TRUE(0.0 <= n.samples.low && n.samples.low <= n.samples.median);
          TEST_ASSERT_TRUE(n.samples.median <= n.samples.high && n.samples.high < 1e12);
          TEST_ASSERT_TRUE(0.0 <= n.seconds.low && n.seconds.low <= n.seconds.median);
          TEST_ASSERT_TRUE(n.seconds.median <= n.seconds.high && n.seconds.high < 1e12);
          TEST_ASSERT_TRUE(n.probability >= 0.0 && n.probability <= n.reach && n.reach <= 1.0);
        }
      }
    }
  }
}

TEST(a_later_deadline_never_makes_it_less_likely) {
  for (const Curve curve : {exponential, power_law}) {
    for (const std::uint64_t planned : {std::uint64_t{0}, kPlanned}) {
      for (const double done : {2000.0, 20'000.0, 50'000.0}) {
        double before = 0.0;
        double first = -1.0;
        for (const int more : {-5, 0, 10, 30, 60, 120, 180, 250, 350, 500, 1000, 2000}) {
          core::Task task = followed(curve, 0.15, done, planned);
          task.deadline_at = now_of(task) + more * kSecond;
          const double probability = judged(task).probability;
          TEST_ASSERT_TRUE(probability >= before);
          TEST_ASSERT_TRUE((probability == 0.0) == (more <= 0));
          if (more == 10) first = probability;
          before = probability;
        }
        TEST_ASSERT_TRUE(before > first);
      }
    }
  }
}

TEST(the_share_of_quantiles_below_a_count_of_samples_is_the_probability_of_it) {
  const Need need = judged(followed(power_law, 0.12, 50'000, kPlanned));
  for (const double u : {0.05, 0.1, 0.5, 0.9, 0.99}) {
    const double back = need.prospect.within_samples(need.prospect.need_quantile(u));
    TEST_ASSERT_TRUE(back > u - 1e-9 && back < u + 1e-9);
  }
  TEST_ASSERT_TRUE(need.prospect.within_samples(0.0) == 0.0);
  TEST_ASSERT_TRUE(need.prospect.within_samples(1e12) == 1.0);
}

TEST(before_two_reports_and_a_speed_half_of_the_time_left_is_taken) {
  core::Task task = followed(power_law, 0.1, 1000, kPlanned, 101 * kSecond);
  for (const double speed : {0.0, kSpeed}) {
    const Need need = need_of(task, speed, kSecond);
    TEST_ASSERT_TRUE(need.basis == NeedBasis::kTooEarly);
    TEST_ASSERT_TRUE(need.probability == 0.5 && need.feasible());
    TEST_ASSERT_TRUE(need.seconds.median == 50.0);
    TEST_ASSERT_TRUE(need.samples.median == 50.0 * speed);
    TEST_ASSERT_TRUE(pace_of(need).lane_share() == 0.5);
  }
  task = followed(power_law, 0.1, 9000, kPlanned);
  TEST_ASSERT_TRUE(need_of(task, 0.0, 0).basis == NeedBasis::kTooEarly);
  TEST_ASSERT_TRUE(need_of(task, kSpeed, 0).basis == NeedBasis::kForecast);
}

TEST(a_target_that_was_reached_needs_nothing) {
  core::Task task = followed(power_law, 0.2, 60'000, kPlanned);
  task.outcome = core::Outcome::kSucceeded;
  const Need need = judged(task);
  TEST_ASSERT_TRUE(need.basis == NeedBasis::kReached);
  TEST_ASSERT_TRUE(need.probability == 1.0 && need.samples.high == 0.0);
  TEST_ASSERT_EQUAL_INT64(kMillisecond, pace_of(need).at_full_speed);
}

TEST(an_infeasible_task_counts_with_a_tenth_of_its_lane) {
  core::Task task = followed(power_law, 0.001, 20'000, kPlanned, 21 * kSecond);
  const Need need = judged(task);
  TEST_ASSERT_TRUE(need.basis == NeedBasis::kForecast);
  TEST_ASSERT_TRUE(need.probability < kFeasibleMin && !need.feasible());
  TEST_ASSERT_TRUE(pace_of(need).lane_share() == 0.1);
  task.deadline_at = 0;  // passed
  TEST_ASSERT_FALSE(judged(task).feasible());
  TEST_ASSERT_TRUE(judged(task).probability == 0.0);
}

TEST(a_claim_has_a_margin_and_never_more_than_the_lane) {
  const core::Task known = followed(power_law, 0.2, 9000, kPlanned);
  const Need need = judged(known);
  const Claim claim = claim_of(need);
  TEST_ASSERT_INT64_WITHIN(1, static_cast<DurationNs>(need.seconds_at(kClaimMargin) * 1e9),
                           claim.busy);
  TEST_ASSERT_TRUE(claim.busy > pace_of(need).at_full_speed);
  TEST_ASSERT_TRUE(claim.success == kClaimMargin * need.reach);
  // Without the time for its margin it claims the whole lane, with what it makes of that.
  core::Task late = known;
  late.deadline_at = static_cast<TimeNs>(need.seconds.median * 1e9) + 10 * kSecond;
  const Need pressed = need_of(late, need.speed, 10 * kSecond);
  TEST_ASSERT_TRUE(pressed.feasible());
  TEST_ASSERT_EQUAL_INT64(claim_of(pressed).left, claim_of(pressed).busy);
  TEST_ASSERT_TRUE(claim_of(pressed).success == pressed.probability);
  // A young task claims by what is believed of one that nothing is known of.
  const core::Task young = followed(power_law, 0.1, 1000, kPlanned, 101 * kSecond);
  TEST_ASSERT_EQUAL_INT64(80 * kSecond, claim_of(need_of(young, kSpeed, kSecond)).busy);
  const core::Task hopeless = followed(power_law, 0.001, 20'000, kPlanned, 21 * kSecond);
  const Claim tenth = claim_of(judged(hopeless));
  TEST_ASSERT_EQUAL_INT64(tenth.left / 10, tenth.busy);
  TEST_ASSERT_TRUE(tenth.success > 0.0 && tenth.success < kFeasibleMin);
}

TEST(a_clean_curve_that_will_just_make_it_is_never_given_up) {
  const auto steep = [](double samples) { return 1000.0 / samples; };
  for (double done = 4000; done < 50'000; done += kEvery) {  // reached at 50 000
    const Need need = judged(followed(steep, 0.02, done, 0, 50'250 * kMillisecond));
    TEST_ASSERT_TRUE(need.feasible());
  }
}

TEST(being_throttled_or_paused_changes_nothing_about_the_need) {
  core::Task task = followed(power_law, 0.12, 30'000, kPlanned);
  const Need free = judged(task);
  task.share_ppm = 10'000;
  task.state = core::TaskState::kPaused;
  task.busy_ns = 0;
  const Need held = judged(task);
  TEST_ASSERT_TRUE(free.probability == held.probability);
  TEST_ASSERT_TRUE(free.seconds.median == held.seconds.median);
}

TEST(twice_the_speed_is_half_the_time_for_the_same_samples) {
  const core::Task task = followed(power_law, 0.12, 30'000, kPlanned);
  const Need slow = need_of(task, kSpeed, 0);
  const Need fast = need_of(task, 2.0 * kSpeed, 0);
  TEST_ASSERT_TRUE(fast.samples.median == slow.samples.median);
  TEST_ASSERT_TRUE(fast.seconds.median == slow.seconds.median / 2.0);
  TEST_ASSERT_TRUE(fast.probability >= slow.probability);
}

TEST(a_need_is_told_in_words_people_use) {
  const std::string said = describe(judged(followed(power_law, 0.12, 120'000, kPlanned)));
  TEST_ASSERT_TRUE(said.find("by its deadline with 79%") != std::string::npos);
  TEST_ASSERT_TRUE(said.find("about 2.2 min of its lane, between 60 s and 4.2 min") !=
                   std::string::npos);
  TEST_ASSERT_TRUE(describe(Need{}).find("too early") != std::string::npos);
}
