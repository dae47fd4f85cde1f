#include "power/report/summary.hpp"

#include <random>

#include "power/boards/catalogue.hpp"
#include "power/report/openmetrics.hpp"
#include "power/report/watch_view.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

PowerReading reading(TimeNs at, std::int64_t mw, const char* rail = "VDD_IN") {
  PowerReading out;
  out.at = at;
  out.source = Source::kTegrastats;
  out.rails.push_back(RailReading{rail, mw});
  out.zones.push_back(ZoneReading{"cpu", 45'500});
  out.zones.push_back(ZoneReading{"PMIC", 100'000});
  out.gpu_load_permille = 250;
  apply_total(*find_board("orin-nano-8gb", ""), out);
  return out;
}

}  // namespace

TEST(a_trace_of_any_length_keeps_its_extremes_mean_and_bounds) {
  BucketedTrace trace;
  std::mt19937 random(3);
  double sum = 0;
  for (int i = 0; i < 300'000; ++i) {
    const double v = i == 123'456 ? 99.0 : static_cast<double>(random() % 1000) * 0.01;
    sum += v;
    trace.add(i * kSecond, v);
  }
  const std::vector<plot::PlotPoint> points = trace.points(1.0);
  TEST_ASSERT_TRUE(points.size() <= BucketedTrace::kBucketsMax);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 99.0, trace.high());
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, sum / 300'000, trace.mean());
  double high = 0;
  for (const plot::PlotPoint& p : points) high = std::max(high, p.high);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 99.0, high);
}

TEST(a_jump_of_centuries_neither_hangs_nor_grows) {
  BucketedTrace trace;
  trace.add(0, 1);
  trace.add(INT64_MAX / 2, 2);
  trace.add(5, 3);
  TEST_ASSERT_TRUE(trace.points(1.0).size() <= BucketedTrace::kBucketsMax);
}

TEST(the_page_holds_the_numbers_and_needs_nothing_from_outside) {
  const Board board = *find_board("orin-nano-8gb", "");
  ReportSummary summary(board);
  for (int i = 0; i <= 100; ++i) summary.add(reading(i * kSecond, i < 50 ? 5'000 : 9'000));
  summary.add(reading(200 * kSecond, 9'000));
  const std::string html = summary.html("a <b> & \"c\".log", RecordingCounts{});
  TEST_ASSERT_TRUE(has(html, "a &lt;b&gt; &amp; &quot;c&quot;.log"));
  TEST_ASSERT_FALSE(has(html, "<b> &"));
  TEST_ASSERT_TRUE(has(html, "<b>702 J</b>"));  // 49 * 5 + 7 + 50 * 9
  TEST_ASSERT_TRUE(has(html, "<b>1, 1 min 40 s</b>"));
  TEST_ASSERT_EQUAL_UINT64(count(html, "<svg"), count(html, "</svg>"));
  TEST_ASSERT_TRUE(count(html, "<svg") >= 4);
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("}) {
    TEST_ASSERT_FALSE_MESSAGE(has(html, outside), outside);
  }
  TEST_ASSERT_FALSE(has(html, "nan"));
  TEST_ASSERT_FALSE(has(html, "PMIC"));
}

TEST(a_page_of_nothing_is_still_a_page) {
  const Board board = *find_board("generic", "");
  const std::string html = ReportSummary(board).html("empty", RecordingCounts{});
  TEST_ASSERT_TRUE(has(html, "unknown"));
  TEST_ASSERT_FALSE(has(html, "nan"));
  TEST_ASSERT_FALSE(has(html, "inf"));
}

TEST(a_line_is_broken_where_readings_are_missing) {
  plot::Plot plot;
  plot.gap_x = 2;
  plot.series.push_back(plot::PlotSeries{
      "x", 0, {{0, 1, 1, 1}, {1, 1, 1, 1}, {9, 1, 1, 1}, {10, 1, 1, 1}}, false, false});
  const std::string svg = plot::svg_lines(plot);
  const std::string path = svg.substr(svg.find(" d=\"") + 4);
  TEST_ASSERT_EQUAL_UINT64(2, count(path.substr(0, path.find('"')), "M"));
}

TEST(marks_are_named_and_two_close_ones_do_not_overlap) {
  plot::Plot plot;
  plot.series.push_back(plot::PlotSeries{"x", 0, {{0, 1, 1, 1}, {100, 1, 1, 1}}, false, false});
  plot.marks = {{50, "kill -9 n-1"}, {51, "n-1 back"}, {99, "at <the> end"}, {400, "outside"}};
  const std::string both = plot::svg_lines(plot);
  const std::string svg = both.substr(0, both.find("<div class=narrow>"));
  TEST_ASSERT_EQUAL_UINT64(3, count(svg, "<line class=mark"));
  TEST_ASSERT_TRUE(has(svg, "at &lt;the&gt; end</text>"));
  TEST_ASSERT_FALSE(has(svg, "outside"));
  // The second stands a row higher, the last one on the left of its line.
  const auto row_of = [&svg](const char* name) {
    const std::size_t text = svg.rfind(" y=", svg.find(name));
    return std::stod(svg.substr(text + 3));
  };
  TEST_ASSERT_TRUE(row_of("n-1 back") < row_of("kill -9 n-1"));
  TEST_ASSERT_EQUAL_UINT64(1, count(svg, "\"mark ty\""));
}

TEST(openmetrics_follows_its_grammar) {
  const Board board = *find_board("orin-nano-8gb", "");
  Meter meter(MeterConfig::for_board(board));
  const Running running[] = {{7, LaneKind::kGpu, 1000}};
  meter.on_running(0, running);
  meter.on_reading(reading(0, 5'000));
  const PowerReading last = reading(kSecond, 7'000, "VDD_IN");
  meter.on_reading(last);
  PowerReading hostile = last;
  hostile.rails.push_back(RailReading{"a\"b\\c\nd", 5});
  const std::string text = openmetrics(board, meter, hostile);
  TEST_ASSERT_TRUE(text.ends_with("# EOF\n"));
  TEST_ASSERT_TRUE(has(text, "laird_energy_joules_total 6\n"));
  TEST_ASSERT_TRUE(
      has(text, "laird_power_watts{scope=\"module\",source=\"tegrastats\",rule=\"VDD_IN\"} 7\n"));
  TEST_ASSERT_TRUE(has(text, "laird_rail_power_watts{rail=\"a\\\"b\\\\c\\nd\"} 0.005\n"));
  TEST_ASSERT_TRUE(has(text, "laird_task_energy_joules_total{task=\"7\",part=\"idle\"} 4.3\n"));
  TEST_ASSERT_FALSE(has(text, "PMIC"));
  // Each family once, its unit the end of its name, each sample of the family before it.
  std::string family;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      TEST_ASSERT_EQUAL_UINT64(1, count(text, "# TYPE " + family + " "));
    } else if (line.starts_with("# UNIT ")) {
      TEST_ASSERT_TRUE(family.ends_with("_" + line.substr(line.rfind(' ') + 1)));
    } else if (!line.starts_with("#")) {
      TEST_ASSERT_TRUE_MESSAGE(line.starts_with(family), line.c_str());
    }
  }
}

TEST(sparklines_scale_from_zero_or_from_the_lowest) {
  TEST_ASSERT_EQUAL_STRING("▁█", sparkline({0, 8}, true).c_str());
  TEST_ASSERT_EQUAL_STRING("▇█", sparkline({7, 8}, true).c_str());
  TEST_ASSERT_EQUAL_STRING("▁█", sparkline({7, 8}, false).c_str());
  TEST_ASSERT_EQUAL_STRING("▁▁", sparkline({5, 5}, false).c_str());
  TEST_ASSERT_EQUAL_STRING("", sparkline({}, false).c_str());
}

TEST(the_table_shows_what_is_there_and_a_dash_for_what_went) {
  const Board board = *find_board("orin-nano-8gb", "");
  WatchView view(board);
  Meter meter;
  view.add(reading(0, 5'000));
  PowerReading second = reading(kSecond, 6'000);
  second.gpu_load_permille.reset();
  view.add(second);
  const std::string screen =
      view.screen(meter, ReaderStatus{Source::kTegrastats, true, false, "x", {}}, 80);
  TEST_ASSERT_TRUE(has(screen, "6.00 W        5.00     6.00  ▁█"));
  TEST_ASSERT_TRUE(has(screen, "- %          25       25"));
  TEST_ASSERT_TRUE(has(screen, "45.5 C        45.5"));
  for (std::size_t at = 0; at < screen.size();) {
    const std::size_t end = std::min(screen.find('\n', at), screen.size());
    std::size_t columns = 0;
    for (std::size_t i = at; i < end; ++i) columns += (screen[i] & 0xC0) != 0x80 ? 1 : 0;
    TEST_ASSERT_TRUE(columns <= 80);
    at = end + 1;
  }
}
