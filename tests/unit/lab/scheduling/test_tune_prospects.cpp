#include "lab/scheduling/tune_prospects.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

std::vector<Curve> made_up_curves(double left_out_exponent) {
  std::vector<Curve> curves;
  for (int c = 0; c < 9; ++c) {
    Curve curve;
    curve.source = c < 3 ? "left-out" : c < 6 ? "one" : "two";
    const double exponent = c < 3 ? left_out_exponent : 0.2 + 0.05 * static_cast<double>(c);
    for (int i = 1; i <= 60; ++i) {
      curve.samples.push_back(i);
      curve.loss.push_back(std::pow(static_cast<double>(i), -exponent) *
                           (1.0 + 0.03 * std::sin(static_cast<double>(i * (c + 1)))));
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace

TEST(a_source_left_out_leaves_no_trace_in_the_constants) {
  const placement::ProspectSet a = tune_prospects(made_up_curves(0.3), "left-out");
  const placement::ProspectSet b = tune_prospects(made_up_curves(0.9), "left-out");
  TEST_ASSERT_TRUE(a.planned.reach == b.planned.reach);
  TEST_ASSERT_TRUE(a.planned.reach_products == b.planned.reach_products);
  TEST_ASSERT_TRUE(a.unplanned.need_offset == b.unplanned.need_offset);
  const placement::ProspectSet all = tune_prospects(made_up_curves(0.9), "");
  TEST_ASSERT_FALSE(all.planned.reach == b.planned.reach);
}

TEST(the_fit_tells_targets_within_reach_from_others) {
  const placement::ProspectSet set = tune_prospects(made_up_curves(0.3), "");
  // Further beyond the forecast and later in the run: less likely.
  TEST_ASSERT_TRUE(set.planned.reach[0] > 0.0);
  TEST_ASSERT_TRUE(set.planned.reach[1] < 0.0);
  for (std::size_t j = 1; j < placement::kNeedParts.size(); ++j) {
    TEST_ASSERT_TRUE(set.planned.need_offset[j] >= set.planned.need_offset[j - 1]);
  }
}

TEST(curves_are_judged_with_constants_that_have_not_seen_their_source) {
  TEST_ASSERT_TRUE(&prospects_without("nobody has seen this") == &placement::shipped_prospects());
  const auto& without = prospects_without("mlcommons/submissions_algorithms");
  TEST_ASSERT_FALSE(without.planned.reach == placement::shipped_prospects().planned.reach);
}
