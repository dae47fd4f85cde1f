#include "report/story/series.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::story;

TEST(a_short_series_keeps_every_point) {
  Series series(16);
  for (int i = 0; i < 16; ++i) series.add({i * kSecond, i * 0.5, i * 10.0});
  const std::vector<Point> points = series.points();
  TEST_ASSERT_EQUAL_UINT64(16, points.size());
  TEST_ASSERT_EQUAL_INT64(7 * kSecond, points[7].at);
  TEST_ASSERT_EQUAL_DOUBLE(3.5, points[7].value);
  TEST_ASSERT_EQUAL_DOUBLE(70.0, points[7].beside);
  TEST_ASSERT_EQUAL_INT64(0, series.place_width());
}

TEST(a_long_series_stays_small_and_keeps_its_extremes_and_its_ends) {
  Series series(100);
  for (int i = 0; i < 600'000; ++i) {
    const double value = i == 123'457 ? 99.0 : i == 400'001 ? -99.0 : (i % 7) * 0.1;
    series.add({i * kSecond, value, 0.0});
  }
  const std::vector<Point> points = series.points();
  TEST_ASSERT_TRUE(points.size() <= 400);
  TEST_ASSERT_TRUE(points.size() >= 100);
  TEST_ASSERT_EQUAL_INT64(0, points.front().at);
  TEST_ASSERT_EQUAL_INT64(599'999 * kSecond, points.back().at);
  const auto is_at = [&](double value, TimeNs at) {
    return std::any_of(points.begin(), points.end(),
                       [&](const Point& p) { return p.value == value && p.at == at; });
  };
  TEST_ASSERT_TRUE(is_at(99.0, 123'457 * kSecond));
  TEST_ASSERT_TRUE(is_at(-99.0, 400'001 * kSecond));
  TEST_ASSERT_TRUE(std::is_sorted(points.begin(), points.end(),
                                  [](const Point& a, const Point& b) { return a.at < b.at; }));
}

TEST(a_burst_after_a_long_rest_is_thinned_too) {
  Series series(50);
  series.add({0, 1.0, 0.0});
  for (int i = 0; i < 5000; ++i) series.add({kDay + i * kMillisecond, i % 2 * 1.0, 0.0});
  TEST_ASSERT_TRUE(series.points().size() <= 200);
  TEST_ASSERT_EQUAL_INT64(kDay + 4999 * kMillisecond, series.points().back().at);
}

TEST(a_value_that_is_no_number_is_left_out) {
  Series series;
  series.add({1, std::numeric_limits<double>::quiet_NaN(), 0.0});
  series.add({2, std::numeric_limits<double>::infinity(), 0.0});
  TEST_ASSERT_TRUE(series.empty());
}

TEST(a_value_that_holds_is_kept_when_it_changes) {
  Series series;
  for (int i = 0; i < 10; ++i) series.add_change(i, i < 5 ? 1.0 : 2.0);
  TEST_ASSERT_EQUAL_UINT64(2, series.points().size());
  TEST_ASSERT_EQUAL_INT64(5, series.points()[1].at);
}

TEST(a_track_joins_what_goes_on_and_keeps_every_nanosecond_when_it_is_thinned) {
  Track track(64);
  track.add(Doing::kWaiting, -1, 0, kSecond);
  track.add(Doing::kWaiting, -1, kSecond, 2 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(1, track.cells().size());
  TimeNs at = 2 * kSecond;
  for (int i = 0; i < 10'000; ++i) {
    track.add(Doing::kRunning, 1, at, at + 3 * kMillisecond);
    track.add(Doing::kThrottled, -1, at + 3 * kMillisecond, at + 10 * kMillisecond);
    at += 10 * kMillisecond;
  }
  TEST_ASSERT_TRUE(track.cells().size() <= 64);
  std::array<DurationNs, kDoings> sum{};
  TimeNs end = 0;
  for (const Cell& cell : track.cells()) {
    TEST_ASSERT_EQUAL_INT64(end, cell.from);
    end = cell.to;
    for (std::size_t i = 0; i < kDoings; ++i) sum[i] += cell.ns[i];
  }
  TEST_ASSERT_EQUAL_INT64(at, end);
  TEST_ASSERT_EQUAL_INT64(30 * kSecond, sum[static_cast<std::size_t>(Doing::kRunning)]);
  TEST_ASSERT_EQUAL_INT64(70 * kSecond, sum[static_cast<std::size_t>(Doing::kThrottled)]);
  TEST_ASSERT_EQUAL_INT64(2 * kSecond, sum[static_cast<std::size_t>(Doing::kWaiting)]);
  TEST_ASSERT_EQUAL_INT(1, track.cells().back().lane);
}
