#include "plot/svg_plot.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "plot/figures.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::plot;

namespace {

PlotSeries line_of(std::initializer_list<PlotPoint> points) {
  PlotSeries out;
  out.name = "a";
  out.points = points;
  return out;
}

// A colour in Oklab (Ottosson, 2020), in which equal distances look equally different.
std::array<double, 3> oklab(const std::string& hex) {
  std::array<double, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(hex.substr(2 * i, 2), nullptr, 16) / 255.0;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  const auto [r, g, b] = rgb;
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double t = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * t,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * t,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * t};
}

double distance(const std::string& a, const std::string& b) {
  const std::array<double, 3> x = oklab(a);
  const std::array<double, 3> y = oklab(b);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(a_logarithmic_axis_puts_decades_at_equal_distances) {
  Plot plot;
  plot.x_log = true;
  plot.y_log = true;
  plot.width = 1068;  // 1000 between the margins of 56 and 12
  plot.y_from = 1;
  plot.y_to = 100;
  plot.series = {line_of({{1, 1, 1, 1}, {10, 10, 10, 10}, {100, 100, 100, 100}})};
  const std::string svg = svg_lines(plot);
  TEST_ASSERT_TRUE(has(svg, "M56.0,"));
  TEST_ASSERT_TRUE(has(svg, "L556.0,"));
  TEST_ASSERT_TRUE(has(svg, "L1056.0,"));
  TEST_ASSERT_TRUE(has(svg, ">10</text>"));
  TEST_ASSERT_FALSE(has(svg, ">20</text>"));
}

TEST(what_has_no_place_on_a_logarithmic_axis_is_left_out) {
  Plot plot;
  plot.y_log = true;
  plot.series = {line_of({{1, 0, 0, 0}, {2, 1, 1, 1}, {3, -1, -1, -1}, {4, 2, 2, 2}})};
  const std::string svg = svg_lines(plot);
  TEST_ASSERT_FALSE(has(svg, "nan"));
  TEST_ASSERT_FALSE(has(svg, "inf"));
  plot.series = {line_of({{1, 0, 0, 0}})};
  TEST_ASSERT_TRUE(has(svg_lines(plot), "No values"));
}

TEST(an_offset_gives_zero_a_place_and_a_bound_holds_values_on_its_edge) {
  Plot plot;
  plot.x_log = true;
  plot.x_log_offset = 1;
  plot.height = 158;  // 100 between the margins of 24 and 34
  plot.y_from = 0;
  plot.y_to = 1;
  plot.has_legend = false;
  plot.series = {line_of({{0, 0.5, 0.5, 0.5}, {9, 7, 7, 7}})};
  plot.series[0].dot = true;
  const std::string svg = svg_lines(plot);
  TEST_ASSERT_TRUE(has(svg, "M56.0,74.0L948.0,24.0"));
  TEST_ASSERT_TRUE(has(svg, "<circle"));
  TEST_ASSERT_FALSE(has(svg, "legend"));
}

TEST(a_page_escapes_its_title_and_works_without_a_network) {
  const std::string whole = page("a<b", "<h1>x</h1>");
  TEST_ASSERT_TRUE(has(whole, "<title>a&lt;b</title>"));
  TEST_ASSERT_TRUE(has(whole, "prefers-color-scheme:dark"));
  TEST_ASSERT_FALSE(has(whole, "http"));
  TEST_ASSERT_EQUAL_STRING("&lt;&amp;&quot;&#39; &gt;", escaped("<&\"'\n>").c_str());
}

TEST(a_broad_picture_is_drawn_again_for_a_narrow_screen) {
  Plot plot;
  plot.series = {line_of({{0, 1, 1, 1}, {10, 2, 2, 2}})};
  const std::string svg = svg_lines(plot);
  TEST_ASSERT_TRUE(has(svg, "<div class=broad><svg viewBox=\"0 0 960.0 280.0\""));
  TEST_ASSERT_TRUE(has(svg, "<div class=narrow><svg viewBox=\"0 0 360.0 260.0\""));
}

TEST(names_of_moments_that_are_close_take_further_rows_on_a_narrow_screen) {
  Plot plot;
  plot.width = kNarrowWidth;
  plot.series = {line_of({{0, 1, 1, 1}, {100, 2, 2, 2}})};
  for (const double x : {10.0, 12.0, 14.0}) plot.marks.push_back({x, "something happened"});
  const std::string svg = svg_lines(plot);
  // Three names, none at the height of another.
  std::set<std::string> heights;
  for (std::size_t at = 0; (at = svg.find("class=\"mark\"", at)) != std::string::npos; ++at) {
    const std::size_t y = svg.find(" y=", at) + 3;
    heights.insert(svg.substr(y, svg.find('>', y) - y));
  }
  TEST_ASSERT_EQUAL_UINT64(3, heights.size());
}

TEST(two_dozen_lines_of_a_kind_have_colours_of_their_own_in_light_and_dark) {
  const std::string style = laird::plot::page("t", "");
  for (const bool dark : {false, true}) {
    const std::size_t from = dark ? style.find("prefers-color-scheme:dark") : 0;
    std::set<std::string> seen;
    for (int i = 0; i < kManyColours; ++i) {
      const std::string name = "--m" + std::to_string(i) + ":#";
      const std::size_t at = style.find(name, from);
      TEST_ASSERT_TRUE_MESSAGE(at != std::string::npos, name.c_str());
      seen.insert(style.substr(at + name.size(), 6));
      TEST_ASSERT_EQUAL_STRING(("var(--m" + std::to_string(i) + ")").c_str(),
                               colour_of(kMany + i).c_str());
    }
    TEST_ASSERT_EQUAL_UINT64(kManyColours, seen.size());
    // Three times what an eye just tells apart, from one another and from the ground.
    seen.insert(dark ? "12161c" : "ffffff");
    for (auto a = seen.begin(); a != seen.end(); ++a) {
      for (auto b = std::next(a); b != seen.end(); ++b) {
        TEST_ASSERT_TRUE_MESSAGE(distance(*a, *b) > 0.06, (*a + " " + *b).c_str());
      }
    }
  }
  TEST_ASSERT_EQUAL_STRING("var(--fg)", colour_of(kInk).c_str());
}

TEST(a_table_says_beside_each_value_what_it_is_for_narrow_screens) {
  const std::string table = html_table({{"task", "loss"}, {"a\"b", "0.5"}});
  TEST_ASSERT_TRUE(has(table, "<td data-head=\"loss\">0.5</td>"));
  TEST_ASSERT_TRUE(has(table, "<td data-head=\"task\">a&quot;b</td>"));
}
