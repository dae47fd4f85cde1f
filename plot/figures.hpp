// The two pictures of the lab's pages that power/report does not draw: bars by name, and who ran
// when. They go inside plot::page and use its style and palette.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace laird::plot {

struct NamedBar {
  std::string name;
  double value = 0.0;
  double standard_error = 0.0;
  bool strong = false;  // ours, or what the picture is about
};
// One row per bar, its number at its end. `limit`, when positive, is drawn as a line and named.
[[nodiscard]] std::string svg_bars(const std::vector<NamedBar>& bars, std::string_view unit,
                                   double limit = 0.0, std::string_view limit_name = {});

struct TimelineSpan {
  std::size_t row = 0;
  double from = 0.0;
  double to = 0.0;
  double share = 1.0;  // of the row's height
  int colour = 0;
  std::string what;  // shown when pointed at
};
struct TimelineMark {
  std::size_t row = 0;
  double at = 0.0;
  bool good = false;  // a success; else a deadline
};
struct Timeline {
  std::vector<std::string> rows;
  std::vector<TimelineSpan> spans;
  std::vector<TimelineMark> marks;
  std::vector<double> moments;  // lines through all rows
  double until = 1.0;
  std::string x_unit;
};
[[nodiscard]] std::string svg_timeline(const Timeline& timeline);

// A table of texts; the first row is the head.
[[nodiscard]] std::string html_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace laird::plot
