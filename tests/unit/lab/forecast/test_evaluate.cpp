#include "lab/forecast/evaluate.hpp"

#include <algorithm>
#include <cmath>

#include "lab/forecast/memory.hpp"
#include "lab/forecast/reach.hpp"
#include "lab/forecast/tune.hpp"
#include "tests/harness/unit.hpp"

using laird::lab::Curve;
using laird::lab::evaluate;
using laird::lab::MethodScore;

namespace {

const MethodScore& named(const std::vector<MethodScore>& scores, const char* name) {
  const auto at = std::find_if(scores.begin(), scores.end(),
                               [&](const MethodScore& s) { return s.name == name; });
  TEST_ASSERT_TRUE_MESSAGE(at != scores.end(), name);
  return *at;
}

Curve power_law(const char* name, double exponent, int points) {
  Curve curve;
  curve.name = name;
  for (int i = 1; i <= points; ++i) {
    curve.samples.push_back(i);
    curve.loss.push_back(2.0 * std::pow(i, -exponent));
  }
  return curve;
}

std::vector<Curve> real_curves() {
  auto set = laird::lab::load_curves(laird::test::shared_data_or_skip() + "/curves");
  TEST_ASSERT_TRUE_MESSAGE(set.has_value(), set ? "" : set.error().context.c_str());
  return set->curves;
}

}  // namespace

TEST(the_error_is_relative_and_never_nan) {
  TEST_ASSERT_EQUAL_DOUBLE(0.5, laird::lab::error_of(3.0, 2.0));
  TEST_ASSERT_EQUAL_DOUBLE(0.5, laird::lab::error_of(1.0, 2.0));
  TEST_ASSERT_EQUAL_DOUBLE(1e9, laird::lab::error_of(std::nan(""), 2.0));
}

TEST(straight_lines_are_foretold_exactly_by_the_straight_line_methods) {
  const auto scores = evaluate({power_law("a", 0.3, 500), power_law("b", 0.6, 500)}, false);
  TEST_ASSERT_TRUE(named(scores, "ls").cap < 1e-3);
  TEST_ASSERT_TRUE(named(scores, "wls").cap < 1e-3);
  TEST_ASSERT_TRUE(named(scores, "m4").cap < 0.05);
  // Ours does not take a line for granted: from 5 reports it hedges, from 100 it knows.
  TEST_ASSERT_TRUE(named(scores, "ours").median[3] < 0.2);
  TEST_ASSERT_TRUE(named(scores, "ours").median[4] < 0.03);
  for (const MethodScore& s : scores) TEST_ASSERT_EQUAL_UINT64(10, s.predictions.size());
}

TEST(short_starts_count_in_cap_all_alone) {
  // 100 points: 1% and 2% hold fewer than four.
  const auto scores = evaluate({power_law("a", 0.3, 100)}, false);
  const MethodScore& ls = named(scores, "ls");
  TEST_ASSERT_EQUAL_UINT64(5, ls.predictions.size());
  TEST_ASSERT_TRUE(ls.predictions[0].short_start && ls.predictions[1].short_start);
  TEST_ASSERT_FALSE(ls.predictions[2].short_start);
  TEST_ASSERT_TRUE(std::isnan(ls.median[0]));
}

TEST(held_out_accuracy_on_real_curves_is_what_the_documentation_says) {
  const auto scores = evaluate(real_curves(), false);
  const MethodScore& ours = named(scores, "ours");
  TEST_ASSERT_TRUE(ours.cap <= 0.34);
  TEST_ASSERT_EQUAL_DOUBLE(0.0, ours.over_10x);
  TEST_ASSERT_TRUE(ours.coverage_90.has_value());
  TEST_ASSERT_TRUE(*ours.coverage_90 >= 0.85);
  for (const char* other : {"ls", "wls", "kf", "dkf", "m4"}) {
    TEST_ASSERT_TRUE_MESSAGE(ours.cap <= 0.8 * named(scores, other).cap, other);
    TEST_ASSERT_TRUE_MESSAGE(ours.ln_error <= 0.85 * named(scores, other).ln_error, other);
  }
  TEST_ASSERT_TRUE(ours.ln_error < named(scores, "dtkf").ln_error);
  // Tuning did not buy its accuracy with the curves it is judged on.
  TEST_ASSERT_TRUE(ours.cap - named(scores, "ours_in_sample").cap < 0.02);
}

TEST(every_source_tuned_on_has_constants_of_its_own) {
  // Otherwise a curve that was tuned on would be judged with constants that know it.
  for (const Curve& curve : real_curves()) {
    TEST_ASSERT_TRUE_MESSAGE(
        &laird::lab::untuned_on(curve.source) != &laird::estimators::shipped_constants(),
        curve.source.c_str());
  }
  TEST_ASSERT_TRUE(&laird::lab::untuned_on("nobody/nothing") ==
                   &laird::estimators::shipped_constants());
}

TEST(tuning_is_deterministic_and_leaves_the_source_out) {
  std::vector<Curve> curves = {power_law("a", 0.3, 60), power_law("b", 0.6, 60),
                               power_law("c", 0.1, 60)};
  curves[0].source = "x";
  curves[1].source = "y";
  curves[2].source = "z";
  const auto same = [](const auto& a, const auto& b) {
    bool all = a.low.distance == b.low.distance && a.high.level == b.high.level &&
               a.reach.offset == b.reach.offset;
    for (std::size_t i = 0; i < a.reach.trees.size(); ++i) {
      all = all && a.reach.trees[i].feature == b.reach.trees[i].feature &&
            a.reach.trees[i].threshold == b.reach.trees[i].threshold &&
            a.reach.trees[i].leaf == b.reach.trees[i].leaf;
    }
    return all;
  };
  const auto once = laird::lab::tune(curves, {"z"});
  TEST_ASSERT_TRUE(same(once, laird::lab::tune(curves, {"z"})));
  TEST_ASSERT_FALSE(same(once, laird::lab::tune(curves, {})));
  curves.pop_back();
  TEST_ASSERT_TRUE(same(once, laird::lab::tune(curves, {})));
}

TEST(probabilities_of_reaching_a_target_come_true_about_as_often_as_they_say) {
  const auto scores = laird::lab::score_reach(real_curves(), 1);
  for (const auto& s : scores) {
    TEST_ASSERT_TRUE(s.questions > 1000);
    TEST_ASSERT_TRUE(s.brier < 0.8 * s.brier_base);
    TEST_ASSERT_TRUE(s.auc > 0.75);
    for (const auto& bin : s.bins) {
      if (bin.questions < 50) continue;
      TEST_ASSERT_TRUE(std::fabs(bin.probability - bin.came_true) < 0.3);
    }
  }
}

TEST(errors_are_averaged_by_source_and_told_by_kind) {
  std::vector<Curve> curves = {power_law("a", 0.3, 500), power_law("b", 0.3, 500),
                               power_law("c", 0.9, 500)};
  curves[0].source = curves[1].source = "two";
  curves[2].source = "one";
  curves[0].kind = "x";
  curves[1].kind = curves[2].kind = "y";
  const auto scores = evaluate(curves, false);
  const MethodScore& kf = named(scores, "kf");
  TEST_ASSERT_EQUAL_UINT64(2, kf.sources.size());
  TEST_ASSERT_EQUAL_DOUBLE(0.5 * (kf.sources[0].ln_error + kf.sources[1].ln_error), kf.ln_error);
  TEST_ASSERT_EQUAL_STRING("x", kf.kinds[0].name.c_str());
  TEST_ASSERT_EQUAL_UINT64(5, kf.kinds[0].predictions);
  TEST_ASSERT_EQUAL_UINT64(10, kf.kinds[1].predictions);
}

TEST(one_earlier_run_halves_the_error_and_a_misleading_one_does_little_harm) {
  auto set = laird::lab::load_curves(laird::test::shared_data_or_skip() + "/curves-wide");
  TEST_ASSERT_TRUE(set.has_value());
  const auto score = laird::lab::score_memory(set->curves);
  TEST_ASSERT_TRUE(score.groups >= 20);
  TEST_ASSERT_TRUE(score.ln_error_with_one <= 0.5 * score.ln_error_alone);
  TEST_ASSERT_TRUE(score.ln_error_misled <= 1.25 * score.ln_error_alone);
}

TEST(targets_on_a_power_law_are_told_from_those_below_it) {
  const auto scores = laird::lab::score_reach({power_law("a", 0.3, 500)}, 3);
  TEST_ASSERT_TRUE(scores[0].questions > 10);
  TEST_ASSERT_TRUE(scores[0].auc > 0.75);
}
