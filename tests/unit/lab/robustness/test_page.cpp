#include "lab/robustness/page.hpp"

#include "plot/figures.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::lab;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST(the_page_holds_every_figure_and_needs_no_network) {
  RobustnessSetting setting;
  setting.runs = 2;
  setting.strategies = {"uniform", "uara-lara-printed", "uara-laira", "foresight"};
  std::vector<RobustnessLoad> loads;
  for (const std::size_t tasks : {10U, 20U}) {
    setting.tasks = tasks;
    loads.push_back({tasks, run_robustness(setting)});
  }
  const std::string page = robustness_page(loads, setting);
  for (const char* part : {"Success rate", "Energy", "Efficiency", "Network utilisation",
                           "The paradox", "Corrected", "0.0303", "uara-laira"}) {
    TEST_ASSERT_TRUE_MESSAGE(page.find(part) != std::string::npos, part);
  }
  // Four panels and three schedules, each again for a narrow screen.
  TEST_ASSERT_EQUAL_UINT64(14, count(page, "<svg"));
  TEST_ASSERT_EQUAL_UINT64(14, count(page, "</svg>"));
  TEST_ASSERT_TRUE(page.find("http") == std::string::npos);
}

TEST(names_are_escaped_and_bars_end_at_their_numbers) {
  const std::string bars =
      laird::plot::svg_bars({{"<b>&", 2.0, 0.1, true}, {"half", 1.0, 0.0, false}}, "u");
  TEST_ASSERT_TRUE(bars.find("&lt;b&gt;&amp;") != std::string::npos);
  TEST_ASSERT_TRUE(bars.find("<b>") == std::string::npos);
  TEST_ASSERT_TRUE(laird::plot::svg_bars({}, "u").find("No values") != std::string::npos);
}

TEST(a_timeline_draws_every_span_in_its_row) {
  laird::plot::Timeline t;
  t.rows = {"a", "b"};
  t.until = 10.0;
  t.spans = {{0, 0.0, 5.0, 1.0, 0, "first"}, {1, 5.0, 10.0, 0.5, 1, "second"}};
  t.marks = {{1, 9.0, true}, {0, 10.0, false}};
  const std::string svg = laird::plot::svg_timeline(t);
  // Two rows and two spans, once more for a narrow screen.
  TEST_ASSERT_EQUAL_UINT64(2 * 4, count(svg, "<rect"));
  TEST_ASSERT_EQUAL_UINT64(2 * 1, count(svg, "<circle"));
}
