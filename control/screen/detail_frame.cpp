// One board or task, opened: what `describe` says of it, a task with its curve, a board with its
// tasks; and the line that says what the keys do.
#include <algorithm>
#include <cmath>

#include "control/screen/rows.hpp"
#include "control/screen/top_frame.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kPlotRows = 12;
constexpr std::size_t kPlotRowsMin = 4;
constexpr std::size_t kScale = 10;  // columns for the numbers beside a plot

void add_text(const std::string& text, std::vector<Line>& out) {
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    out.push_back({{text.substr(from, end - from)}});
    from = end + 1;
  }
}

// The loss since somebody looks on, with the target as a line where it is in the picture.
void add_curve(const std::vector<Curves::Point>& points, std::optional<double> target,
               const FrameOptions& options, std::size_t rows, std::vector<Line>& out) {
  if (points.size() < 2) {
    out.push_back({{"its curve is drawn from here on, as reports come", Colour::kDim}});
    return;
  }
  double low = target.value_or(points.front().loss);
  double high = low;
  for (const Curves::Point& p : points) {
    low = std::min(low, p.loss);
    high = std::max(high, p.loss);
  }
  if (!(high > low)) high = low + 1e-9 + std::fabs(low) * 1e-6;
  const std::size_t columns = options.width > kScale + 8 ? options.width - kScale - 2 : 8;
  const auto row_of = [&](double loss) {
    const double part = (high - loss) / (high - low);
    return static_cast<std::size_t>(std::lround(part * static_cast<double>(rows - 1)));
  };
  std::vector<std::vector<char>> cells(rows, std::vector<char>(columns, ' '));
  if (target) std::fill(cells[row_of(*target)].begin(), cells[row_of(*target)].end(), '-');
  const double span =
      static_cast<double>(std::max<std::int64_t>(1, points.back().at_ms - points.front().at_ms));
  for (const Curves::Point& p : points) {
    const double part = static_cast<double>(p.at_ms - points.front().at_ms) / span;
    const auto column =
        static_cast<std::size_t>(std::lround(part * static_cast<double>(columns - 1)));
    cells[row_of(p.loss)][column] = '*';
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const bool is_target = target && row_of(*target) == r;
    std::string scale;
    if (is_target) {
      scale = "target";
    } else if (r == 0 || r + 1 == rows) {
      scale = short_number(r == 0 ? high : low);
    }
    std::string text;
    for (const char c : cells[r]) {
      text += c == '*' && options.blocks   ? "\u2022"
              : c == '-' && options.blocks ? "\u2500"
                                           : std::string(1, c);
    }
    out.push_back({{padded(scale, kScale, true) + " ", Colour::kDim},
                   {text, is_target ? Colour::kYellow : Colour::kGreen}});
  }
  out.push_back(
      {{std::string(kScale + 1, ' ') + "the last " + span_text(span / 1e3), Colour::kDim}});
}

void add_task(const FleetView& view, const TaskPlace& place, const FrameOptions& options,
              std::vector<Line>& out) {
  const auto found = view.tasks().find(place);
  if (found == view.tasks().end()) {
    out.push_back({{"task " + place.second + " is no longer told of", Colour::kYellow}});
    return;
  }
  const TaskView& task = found->second;
  add_text(describe_task(task), out);
  out.push_back({});
  const std::size_t used = out.size() + 2;
  const std::size_t rows =
      options.height == 0
          ? kPlotRows
          : std::clamp(options.height > used ? options.height - used : 0, kPlotRowsMin, kPlotRows);
  static const Curves kNone;
  const Curves& curves = options.curves == nullptr ? kNone : *options.curves;
  add_curve(curves.of(place), task.number("target_loss"), options, rows, out);
}

void add_board(const FleetView& view, const std::string& id, const FrameOptions& options,
               std::vector<Line>& out) {
  const auto found = view.boards().find(id);
  if (found == view.boards().end()) {
    out.push_back({{"board " + id + " is no longer told of", Colour::kYellow}});
    return;
  }
  add_text(describe_board(id, found->second, options.now_ms), out);
  out.push_back({});
  add_text(tasks_table(view.tasks_of(id), false, false), out);
}

}  // namespace

Line help_line(const Cockpit& cockpit) {
  if (cockpit.typing()) {
    return {{"filter: ", Colour::kBold},
            {cockpit.shown().filter + "_"},
            {"   Enter keeps it, Esc clears it", Colour::kDim}};
  }
  if (cockpit.open()) return {{"Esc or Enter goes back   q ends", Colour::kDim}};
  const std::string_view sort =
      cockpit.on_boards() ? name(cockpit.shown().board_sort) : name(cockpit.shown().task_sort);
  std::string text = "j k move in ";
  text += cockpit.on_boards() ? "boards" : "tasks";
  text += "   Tab ";
  text += cockpit.on_boards() ? "tasks" : "boards";
  text += "   Enter opens   s sort: " + std::string(sort) + "   / filter";
  if (!cockpit.shown().filter.empty()) text += ": " + cockpit.shown().filter + " (Esc clears)";
  return {{text + "   q ends", Colour::kDim}};
}

std::vector<Line> detail_frame(const FleetView& view, const FrameOptions& options) {
  std::vector<Line> out;
  const Cockpit& cockpit = *options.cockpit;
  if (cockpit.on_boards()) {
    add_board(view, cockpit.board(), options, out);
  } else if (cockpit.task()) {
    add_task(view, *cockpit.task(), options, out);
  }
  if (options.height > 0) {
    if (out.size() >= options.height) out.resize(options.height - 1);
    while (out.size() + 1 < options.height) out.push_back({});
  }
  out.push_back(help_line(cockpit));
  return out;
}

}  // namespace laird::control
