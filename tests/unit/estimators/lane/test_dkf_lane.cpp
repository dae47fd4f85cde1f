#include "estimators/lane/dkf_lane.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "estimators/lane/rls_lane.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

namespace lane = laird::lane;

namespace {

using Matrix = std::array<std::array<long double, 6>, 6>;

struct Setting {
  double step;
  std::array<double, 3> process;
  double observation;
  std::array<double, 3> variance;
};

// The DKF exactly as printed (eqs. 3-7), textbook matrices, the paper's own coordinates.
struct Printed {
  std::array<long double, 6> mean{};
  Matrix p{};
  Matrix f{};
  std::array<long double, 6> q{};
  long double r_noise = 0.0L;

  Printed(const Setting& c, double r) {
    for (std::size_t i = 0; i < 6; ++i) f[i][i] = 1.0L;
    const long double h = c.step;
    for (std::size_t i = 0; i < 4; ++i) f[i][i + 2] = h;
    for (std::size_t i = 0; i < 2; ++i) f[i][i + 4] = h * h / 2.0L;
    for (std::size_t i = 0; i < 6; ++i) {
      q[i] = c.process[i / 2];
      p[i][i] = c.variance[i / 2];
    }
    r_noise = c.observation;
    mean[1] = r;
  }
  void predict() {
    std::array<long double, 6> m{};
    Matrix fp{};
    Matrix next{};
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        m[i] += f[i][j] * mean[j];
        for (std::size_t k = 0; k < 6; ++k) fp[i][j] += f[i][k] * p[k][j];
      }
    }
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        for (std::size_t k = 0; k < 6; ++k) next[i][j] += fp[i][k] * f[j][k];
      }
      next[i][i] += q[i];
    }
    mean = m;
    p = next;
  }
  void update(long double x, long double r) {
    const std::array<long double, 6> h = {x, 1.0L, 0, 0, 0, 0};
    std::array<long double, 6> ph{};
    long double s = r_noise;
    long double forecast = 0.0L;
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) ph[i] += p[i][j] * h[j];
      forecast += h[i] * mean[i];
    }
    for (std::size_t i = 0; i < 6; ++i) s += h[i] * ph[i];
    for (std::size_t i = 0; i < 6; ++i) mean[i] += ph[i] / s * (r - forecast);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) p[i][j] -= ph[i] * ph[j] / s;
    }
  }
};

template <class T>
void start(lane::DkfState<T>& s, const lane::DkfConstants<T>& c, const Setting& setting, T x, T r) {
  const T variance[3] = {T(setting.variance[0]), T(setting.variance[1]), T(setting.variance[2])};
  T scaled[3];
  lane::dkf_scale(T(setting.step), variance, scaled);
  lane::dkf_start(s, c, scaled, x, r);
}

template <class T>
lane::DkfConstants<T> constants(const Setting& setting) {
  const T process[3] = {T(setting.process[0]), T(setting.process[1]), T(setting.process[2])};
  lane::DkfConstants<T> c;
  lane::dkf_scale(T(setting.step), process, c.process);
  c.observation = T(setting.observation);
  return c;
}

// Cholesky of the packed covariance; true when every pivot is positive.
bool positive_definite(const double* p) {
  static constexpr int kAt[6][6] = {{0, 1, 9, 10, 13, 14},  {1, 2, 11, 12, 15, 16},
                                    {9, 11, 3, 4, 17, 18},  {10, 12, 4, 5, 19, 20},
                                    {13, 15, 17, 19, 6, 7}, {14, 16, 18, 20, 7, 8}};
  double l[6][6];
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = p[kAt[i][j]];
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i == j) {
        if (!(sum > 0.0)) return false;
        l[i][i] = std::sqrt(sum);
      } else {
        l[i][j] = sum / l[j][j];
      }
    }
  }
  return true;
}

// Random settings, log-uniform around the usable corner.
Setting random_setting(laird::test::Random& p) {
  const auto around = [&](double v, double decades) {
    return v * std::pow(10.0, (p.unit() - 0.5) * decades);
  };
  return {around(0.03, 2),
          {around(1e-4, 3), around(1e-6, 3), around(1e-8, 3)},
          around(1e-2, 2),
          {around(10, 1), around(1e-3, 2), around(1e-6, 2)}};
}

}  // namespace

TEST(level_coordinates_give_the_filter_as_printed) {
  const Setting setting = {0.05, {1e-4, 1e-5, 1e-6}, 1e-2, {10.0, 1e-2, 1e-4}};
  laird::test::Random points;
  const double x0 = std::log(20.0);
  lane::DkfState<double> s;
  const auto c = constants<double>(setting);
  start(s, c, setting, x0, 0.7);
  Printed printed(setting, 0.7);
  const double unit[3] = {1.0, 0.05, 0.5 * 0.05 * 0.05};  // of the orders
  printed.update(x0, 0.7L);
  double x_last = x0;
  for (int i = 2; i <= 60; ++i) {
    const double x = std::log(20.0 * i);
    const double r = 0.7 - 0.3 * (x - x0) + 0.05 * points.bell();
    lane::dkf_update(s, c, x, x - x_last, r);
    printed.predict();
    printed.update(x, r);
    x_last = x;
    for (std::size_t k = 0; k < 3; ++k) {
      TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(printed.mean[2 * k]),
                                s.mean[2 * k] / unit[k]);
      const long double level = printed.mean[2 * k + 1] + x * printed.mean[2 * k];
      TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(level), s.mean[2 * k + 1] / unit[k]);
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(printed.p[0][0]), s.p[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(printed.p[4][4]),
                              s.p[6] / (unit[2] * unit[2]));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(printed.p[0][2]), s.p[9] / unit[1]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(printed.p[2][4]),
                              s.p[17] / (unit[1] * unit[2]));
  }
  // Eq. 8: 25 steps ahead in closed form is F applied 25 times.
  const double x_end = std::log(20.0 * 85);
  const double ahead = lane::dkf_look_ahead(s.mean, 25.0, x_end - x_last);
  for (int i = 0; i < 25; ++i) printed.predict();
  const long double want = printed.mean[0] * x_end + printed.mean[1];
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, static_cast<double>(want), ahead);
}

TEST(covariance_stays_positive_definite_and_near_long_double_over_a_hundred_thousand_updates) {
  laird::test::Random points;
  constexpr int kSettings = 8;
  constexpr int kSteps = 12'500;
  double worst = 0.0;
  for (int n = 0; n < kSettings; ++n) {
    const Setting setting = random_setting(points);
    const auto c = constants<double>(setting);
    const auto wide = constants<long double>(setting);
    const double interval = std::pow(10.0, 4.0 * points.unit());
    const double exponent = 0.05 + 0.6 * points.unit();
    const double noise = 0.1 * points.unit();
    lane::DkfState<double> s;
    lane::DkfState<long double> reference;
    double x_last = std::log(interval);
    start(s, c, setting, x_last, 1.0);
    start<long double>(reference, wide, setting, x_last, 1.0L);
    for (int i = 2; i <= kSteps; ++i) {
      const double x = std::log(interval * i);
      const double r = 1.0 - exponent * (x - std::log(interval)) + noise * points.bell();
      const double dx = x - x_last;
      // The one-step forecast, before the report is taken in.
      const double one = lane::dkf_look_ahead(s.mean, 1.0, dx);
      const long double want = lane::dkf_look_ahead<long double>(reference.mean, 1.0L, dx);
      worst = std::max(worst, std::fabs(one - static_cast<double>(want)));
      lane::dkf_update(s, c, x, dx, r);
      lane::dkf_update<long double>(reference, wide, x, dx, r);
      x_last = x;
      if (!positive_definite(s.p)) TEST_FAIL_MESSAGE("covariance lost positive definiteness");
    }
  }
  TEST_ASSERT_TRUE_MESSAGE(worst < 1e-6, "one-step forecast is off the long double reference");
}

TEST(one_filter_alone_survives_a_hundred_thousand_updates) {
  const Setting setting = {0.01, {1e-4, 1e-6, 1e-8}, 1e-2, {10.0, 1e-3, 1e-6}};
  lane::DkfState<double> s;
  double x_last = std::log(64.0);
  const auto c = constants<double>(setting);
  start(s, c, setting, x_last, 1.0);
  laird::test::Random points;
  for (int i = 2; i <= 100'000; ++i) {
    const double x = std::log(64.0 * i);
    lane::dkf_update(s, c, x, x - x_last, 1.0 - 0.2 * x + 0.05 * points.bell());
    x_last = x;
    if (!positive_definite(s.p)) TEST_FAIL_MESSAGE("covariance lost positive definiteness");
  }
  TEST_ASSERT_DOUBLE_WITHIN(0.05, 1.0 - 0.2 * x_last, s.mean[1]);
}

TEST(sharing_the_gain_leaves_the_mean_the_same_to_the_bit) {
  const Setting setting = {0.05, {1e-4, 1e-5, 1e-6}, 1e-2, {10.0, 1e-2, 1e-4}};
  lane::DkfState<double> whole;
  double x_last = 1.0;
  const auto c = constants<double>(setting);
  start(whole, c, setting, x_last, 0.5);
  lane::DkfState<double> shared = whole;
  double mean[6];
  std::copy(whole.mean, whole.mean + 6, mean);
  laird::test::Random points;
  for (int i = 0; i < 100; ++i) {
    const double x = x_last + 0.1;
    const double r = 0.5 + 0.1 * points.bell();
    lane::dkf_update(whole, c, x, x - x_last, r);
    double gain[6];
    lane::dkf_step_covariance(lane::DkfArray<double>{shared.p}, c, x, x - x_last, gain);
    lane::dkf_update_mean(mean, x - x_last, r, gain);
    x_last = x;
    for (int k = 0; k < 6; ++k) TEST_ASSERT_TRUE(whole.mean[k] == mean[k]);
  }
}

TEST(recursive_least_squares_converges_to_a_power_law) {
  lane::RlsState<double> s = {0.0, 2.0, 100.0, 0.0, 100.0};
  double x_last = 0.0;
  for (int i = 2; i < 200; ++i) {
    const double x = std::log(static_cast<double>(i));
    lane::rls_update(s, 1.0 / 0.95, 0.95, x - x_last, 2.0 - 0.35 * x);
    x_last = x;
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e-4, -0.35, s.slope);
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 2.0 - 0.35 * x_last, s.level);
}
