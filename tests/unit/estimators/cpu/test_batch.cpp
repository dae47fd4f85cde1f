#include "estimators/cpu/batch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "estimators/lane/rls_lane.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using laird::estimators::cpu_engine;
using laird::estimators::DkfBatch;
using laird::estimators::Isa;
namespace lane = laird::lane;
namespace est = laird::estimators;

namespace {

constexpr Isa kAll[] = {Isa::kScalar, Isa::kBase, Isa::kAvx2, Isa::kAvx512};

template <class Real>
lane::DkfConstants<Real> constants() {
  return {{Real(1e-4), Real(1e-10), Real(1e-16)}, Real(1e-2)};
}

template <class Real>
bool same_bits(const lane::DkfState<Real>& a, const lane::DkfState<Real>& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Every engine that runs here against the lane function called filter by filter.
template <class Real>
void matches_the_scalar_lane(Isa isa) {
  constexpr std::size_t kFilters = 101;  // not a multiple of any tile
  const std::array<Real, 3> variance = {Real(10), Real(1e-3), Real(1e-6)};
  auto engine = cpu_engine<Real>(isa);
  auto batch = DkfBatch<Real>::make(*engine, kFilters, constants<Real>());
  TEST_ASSERT_TRUE(batch.has_value());
  std::vector<lane::DkfState<Real>> want(kFilters);
  std::vector<Real> x(kFilters);
  laird::test::Random points;
  for (std::size_t f = 0; f < kFilters; ++f) {
    x[f] = Real(1.0 + 3.0 * points.unit());
    const Real r = Real(points.bell());
    batch->start(f, variance, x[f], r);
    want[f] = batch->state(f);
  }
  for (int step = 0; step < 50; ++step) {
    for (std::size_t f = 0; f < kFilters; ++f) {
      // Repeated sample counts (dx = 0) and jumps are among them.
      const Real dx = step % 7 == 0 ? Real(0) : Real(points.unit());
      const Real next = x[f] + dx;
      const Real r = Real(points.bell());
      batch->set_report(f, next, r);
      lane::dkf_update(want[f], constants<Real>(), next, Real(next - x[f]), r);
      x[f] = next;
    }
    TEST_ASSERT_TRUE(batch->update().has_value());
    for (std::size_t f = 0; f < kFilters; ++f) {
      TEST_ASSERT_TRUE(same_bits(batch->state(f), want[f]));
    }
  }
  const Real ahead = batch->look_ahead(7, Real(30), Real(0.5));
  TEST_ASSERT_TRUE(ahead == lane::dkf_look_ahead(want[7].mean, Real(30), Real(0.5)));
}

}  // namespace

TEST(every_engine_gives_the_bits_of_the_scalar_lane) {
  for (const Isa isa : kAll) {
    if (!est::runs_here(isa)) continue;
    matches_the_scalar_lane<double>(isa);
    matches_the_scalar_lane<float>(isa);
  }
}

TEST(the_best_engine_runs_here) {
  TEST_ASSERT_TRUE(est::runs_here(est::best_isa()));
  TEST_ASSERT_TRUE(est::best_isa() != Isa::kScalar);
}

TEST(singular_and_wild_states_agree_to_the_bit_too) {
  // Zero covariance, infinite variance, NaN reports: nothing may differ between engines.
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<lane::DkfState<double>> first;
  for (const Isa isa : kAll) {
    if (!est::runs_here(isa)) continue;
    auto engine = cpu_engine<double>(isa);
    auto batch = DkfBatch<double>::make(*engine, 5, constants<double>());
    batch->start(0, {0.0, 0.0, 0.0}, 1.0, 0.5);
    batch->start(1, {1e300, 1e300, 1e300}, 1.0, 0.5);
    batch->start(2, {10.0, 1e-3, 1e-6}, 1.0, 0.5);
    batch->start(3, {10.0, 1e-3, 1e-6}, 1.0, 0.5);
    for (int i = 0; i < 3; ++i) {
      batch->set_report(0, 2.0 + i, 0.4);
      batch->set_report(1, 2.0 + i, 0.4);
      batch->set_report(2, 2.0 + i, std::nan(""));
      batch->set_report(3, 2.0 + i, inf);
      TEST_ASSERT_TRUE(batch->update().has_value());
    }
    for (std::size_t f = 0; f < 5; ++f) {
      const auto s = batch->state(f);
      if (isa == Isa::kScalar) {
        first.push_back(s);
        continue;
      }
      for (int k = 0; k < 6; ++k) {
        const bool both_nan = std::isnan(s.mean[k]) && std::isnan(first[f].mean[k]);
        TEST_ASSERT_TRUE(both_nan || s.mean[k] == first[f].mean[k]);
      }
    }
    // A bad report stays in its own filter: filter 4 never started and is untouched.
    TEST_ASSERT_EQUAL_DOUBLE(0.0, batch->state(4).mean[1]);
    TEST_ASSERT_DOUBLE_WITHIN(1.0, 0.4, batch->state(0).mean[1]);
  }
}

TEST(shared_gain_and_rls_kernels_give_the_bits_of_their_lanes) {
  laird::test::Random points;
  for (const Isa isa : kAll) {
    if (!est::runs_here(isa)) continue;
    const auto& k = est::kernels<double>(isa);
    constexpr std::size_t kLanes = est::kLanes<double>;
    est::MeanTile<double> mean[2];
    est::RlsTile<double> rls[2];
    est::ReportTile<double> reports[2];
    for (int t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        for (auto& row : mean[t].row) row[i] = points.bell();
        for (auto& row : rls[t].row) row[i] = points.unit();
        reports[t].x[i] = 2.0 + points.unit();
        reports[t].r[i] = points.bell();
      }
    }
    const double gain[6] = {0.1, 0.9, 0.01, 0.05, 0.001, 0.002};
    est::MeanTile<double> mean_want[2] = {mean[0], mean[1]};
    est::RlsTile<double> rls_want[2] = {rls[0], rls[1]};
    k.dkf_mean(mean, reports, 2, 0.05, gain);
    k.rls(rls, reports, 2, 0.9);
    for (int t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        double m[6];
        for (std::size_t r = 0; r < 6; ++r) m[r] = mean_want[t].row[r][i];
        lane::dkf_update_mean(m, 0.05, reports[t].r[i], gain);
        for (std::size_t r = 0; r < 6; ++r) TEST_ASSERT_TRUE(m[r] == mean[t].row[r][i]);
        auto& row = rls_want[t].row;
        lane::RlsState<double> s = {row[0][i], row[1][i], row[2][i], row[3][i], row[4][i]};
        lane::rls_update(s, 1.0 / 0.9, 0.9, reports[t].x[i] - row[5][i], reports[t].r[i]);
        TEST_ASSERT_TRUE(s.slope == rls[t].row[0][i]);
        TEST_ASSERT_TRUE(s.level == rls[t].row[1][i]);
        TEST_ASSERT_TRUE(s.p_ll == rls[t].row[4][i]);
      }
    }
  }
}

TEST(a_batch_of_no_or_too_many_filters_is_refused) {
  auto engine = cpu_engine<double>();
  TEST_ASSERT_FALSE(DkfBatch<double>::make(*engine, 0, constants<double>()).has_value());
  TEST_ASSERT_FALSE(
      DkfBatch<double>::make(*engine, est::kBatchFiltersMax + 1, constants<double>()).has_value());
}
