#include "control/screen/top_frame.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "control/screen/rows.hpp"
#include "control/screen/undrawn.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kBudgetBarMax = 40;
constexpr std::size_t kEventsShown = 6;
constexpr double kWattsMin = 1.0;  // a bar's scale never shrinks to nothing

Line titled(const FleetView& view, const FleetSums& sums, const FrameOptions& options) {
  std::size_t live_tasks = 0;
  for (const auto& [key, task] : view.tasks()) live_tasks += is_live(task) ? 1 : 0;
  std::string left = "laird  fleet " + options.fleet + "   " + std::to_string(sums.live) + " of " +
                     std::to_string(sums.boards) + " boards   " + std::to_string(live_tasks) +
                     " live tasks   budget revision " + std::to_string(sums.rev_highest);
  const std::string clock = mqtt::time_text(options.now_ms).substr(11, 8) + "Z";
  if (left.size() + clock.size() + 2 < options.width) {
    left += std::string(options.width - left.size() - clock.size(), ' ') + clock;
  }
  return {{left, Colour::kBold}};
}

// Which columns a screen has room for, and how wide they are.
struct Layout {
  std::size_t node = 9;  // as wide as the longest name
  std::size_t task = 10;
  std::size_t bar = 20;
  bool floor = true;
  bool forecast = true;
  bool sensors = true;
};

constexpr std::size_t kNameMax = 24;
constexpr std::size_t kBarMin = 6;
constexpr std::size_t kBoardNumbers = 38;   // state, watts, cap, running, waiting
constexpr std::size_t kBoardOptional = 27;  // floor, asked for, cpu, gpu
constexpr std::size_t kBoardSensors = 19;   // temperature, loads, memory
constexpr std::size_t kNote = 20;
constexpr std::size_t kTaskNumbers = 48;  // all but the names and the forecast
constexpr std::size_t kForecast = 19;     // a gap and two numbers of three digits

Layout layout_for(const FleetView& view, std::size_t width) {
  Layout out;
  for (const auto& [id, board] : view.boards()) out.node = std::max(out.node, id.size());
  for (const auto& [key, task] : view.tasks()) out.task = std::max(out.task, key.second.size());
  out.node = std::min(out.node, kNameMax) + 1;
  out.task = std::min(out.task, kNameMax) + 1;
  out.floor = out.node + kBoardNumbers + kBoardOptional + kNote + kBarMin <= width;
  out.sensors =
      out.floor &&
      out.node + kBoardNumbers + kBoardOptional + kBoardSensors + kNote + kBarMin <= width;
  const std::size_t rest = out.node + kBoardNumbers + (out.floor ? kBoardOptional : 0) +
                           (out.sensors ? kBoardSensors : 0) + kNote;
  out.bar = std::clamp<std::size_t>(width > rest ? width - rest : 0, kBarMin, 20);
  // When there is too little room, names are cut before numbers are.
  const std::size_t beside = out.node + kTaskNumbers;
  out.task = std::min(out.task, std::max<std::size_t>(10, width > beside ? width - beside : 0));
  out.forecast = out.task + out.node + kTaskNumbers + kForecast <= width;
  return out;
}

std::string drawn_text(const FleetSums& sums) {
  return sums.power_w ? fixed(sums.power_w, 1, " W drawn") : "draw unknown";
}

Line budget_line(const FleetSums& sums, const FrameOptions& options) {
  if (!sums.budget_w) {
    return {{"budget  none   "}, {drawn_text(sums)}};
  }
  const std::size_t width =
      std::clamp<std::size_t>(options.width > 60 ? options.width - 60 : 10, 10, kBudgetBarMax);
  const bool over = sums.over_budget();
  Line out = {{"budget  "}};
  const double drawn = sums.power_w.value_or(0.0);
  const double whole = std::max({*sums.budget_w, drawn, sums.enforced_w, kWattsMin});
  for (Piece& piece : bar(drawn, sums.enforced_w, whole, width, options.blocks,
                          over ? Colour::kRed : Colour::kGreen)) {
    out.push_back(std::move(piece));
  }
  out.push_back({"  " + drawn_text(sums) + ", "});
  out.push_back({fixed(sums.enforced_w, 1, " W given out, "), over ? Colour::kRed : Colour::kNone});
  out.push_back({fixed(sums.budget_w, 1, " W allowed"), Colour::kBold});
  return out;
}

Line board_head(const Layout& at) {
  return {
      {padded("NODE", at.node) + padded("STATE", 9) + padded("POWER", at.bar + 1) +
           padded("W", 6, true) + padded("CAP", 7, true) +
           (at.floor ? padded("FLOOR", 7, true) + padded("ASKS", 7, true) + padded("CPU", 7, true) +
                           padded("GPU", 6, true)
                     : std::string()) +
           (at.sensors ? padded("TEMP", 7, true) + padded("LOAD", 6, true) + padded("MEM", 6, true)
                       : std::string()) +
           padded("RUN", 5, true) + padded("WAIT", 6, true) + "  NOTE",
       Colour::kDim}};
}

// Temperature, the GPU's load or else the CPU's, and the part of the memory that is used.
std::string sensors_text(const BoardView& board, bool live) {
  const auto number = [&](const char* path) {
    return live ? number_at(board.power, path) : std::nullopt;
  };
  auto load = number("gpu_load");
  if (!load) load = number("cpu_load");
  const auto used = number("memory_used_bytes");
  const auto all = number("memory_total_bytes");
  return padded(fixed(number("temperature_c"), 0, "\u00b0C"), 7, true) +
         padded(percent(load), 6, true) +
         padded(percent(used && all && *all > 0.0 ? std::optional(*used / *all) : std::nullopt), 6,
                true);
}

Line board_line(const std::string& id, const BoardView& board, double scale_w, const Layout& at,
                const FrameOptions& options) {
  const bool live = board.is_live();
  const bool chosen =
      options.cockpit != nullptr && options.cockpit->on_boards() && options.cockpit->board() == id;
  Line out = {{padded(id, at.node - 1) + (chosen ? "<" : " "), chosen ? Colour::kBold
                                                               : live ? Colour::kNone
                                                                      : Colour::kDim},
              {padded(board.state, 9), colour_of_state(board.state)}};
  const auto power = live ? board.number("power_w") : std::nullopt;
  const auto cap = board.number("shares/power/enforced_w");
  const bool over = power && cap && *power > *cap * 1.05;
  if (live) {
    for (Piece& piece : bar(power.value_or(0.0), cap.value_or(scale_w), scale_w, at.bar,
                            options.blocks, over ? Colour::kYellow : Colour::kGreen)) {
      out.push_back(std::move(piece));
    }
    out.push_back({" "});
  } else {
    out.push_back({std::string(at.bar + 1, ' ')});
  }
  const auto share = [&](const char* path, double by) {
    const auto value = board.number(path);
    return fixed(value && live ? std::optional<double>(*value * by) : std::nullopt, 2);
  };
  std::string rest =
      padded(fixed(power, 1), 6, true) + padded(fixed(live ? cap : std::nullopt, 1), 7, true);
  if (at.floor) {
    rest += padded(fixed(board.number("shares/power/floor_w"), 1), 7, true) +
            padded(fixed(live ? board.number("shares/power/demand_w") : std::nullopt, 1), 7, true) +
            padded(share("shares/cpu/enforced_milli", 1e-3), 7, true) +
            padded(share("shares/gpu/enforced_ppm", 1e-6), 6, true);
  }
  if (at.sensors) rest += sensors_text(board, live);
  rest += padded(fixed(live ? board.number("tasks/running") : std::nullopt, 0), 5, true) +
          padded(fixed(live ? board.number("tasks/queued") : std::nullopt, 0), 6, true);
  out.push_back({std::move(rest), live ? Colour::kNone : Colour::kDim});
  if (live && board.flag("fenced")) out.push_back({"  fenced: floor only", Colour::kYellow});
  const auto throttled = live ? board.number("tasks/throttled") : std::nullopt;
  if (throttled && *throttled > 0.0 && !board.flag("fenced")) {
    out.push_back({"  " + fixed(throttled, 0) + " throttled", Colour::kYellow});
  }
  if (!live && !board.since.empty()) {
    const auto since = mqtt::parse_time_ms(board.since);
    if (since) {
      out.push_back(
          {"  for " + span_text(static_cast<double>(options.now_ms - *since) / 1e3), Colour::kDim});
    }
  }
  return out;
}

Line task_head(const Layout& at) {
  return {{padded("TASK", at.task) + padded("NODE", at.node) + padded("STATE", 10) +
               padded("LOSS", 8, true) + padded("TARGET", 8, true) +
               (at.forecast ? padded("FORECAST", kForecast, true) : std::string()) +
               padded("LIKELY", 7, true) + padded("DEADLINE", 9, true) + padded("SHARE", 6, true),
           Colour::kDim}};
}

bool is_chosen(const TaskView& task, const FrameOptions& options) {
  if (options.cockpit == nullptr || options.cockpit->on_boards()) return false;
  const std::optional<TaskPlace>& place = options.cockpit->task();
  return place && place->first == task.board && place->second == task.text("name");
}

Line task_line(const TaskView& task, const Layout& at, bool chosen) {
  const bool ended = task.is_ended();
  const std::string state = harmless(task.text("state"));
  const auto likely = task.number("forecast/probability");
  std::string forecast = "-";
  if (task.number("forecast/loss")) {
    forecast = short_number(task.number("forecast/low"), 3) + ".." +
               short_number(task.number("forecast/high"), 3);
  }
  const Colour tone = ended ? Colour::kDim : Colour::kNone;
  const Colour hope = !likely || ended ? tone
                      : *likely < 0.5  ? Colour::kRed
                      : *likely < 0.8  ? Colour::kYellow
                                       : Colour::kGreen;
  return {{padded(harmless(task.text("name")), at.task - 1) + (chosen ? "<" : " "),
           chosen ? Colour::kBold : tone},
          {padded(task.board, at.node - 1) + " ", tone},
          {padded(state, 10),
           (ended && state != "succeeded") || state == "throttled" ? colour_of_state(state) : tone},
          {padded(short_number(task.number("loss")), 8, true) +
               padded(short_number(task.number("target_loss")), 8, true) +
               (at.forecast ? padded(forecast, kForecast, true) : std::string()),
           tone},
          {padded(ended ? "-" : percent(likely), 7, true), hope},
          {padded(ended ? "-" : span_text(task.number("deadline_in_s")), 9, true) +
               padded(percent(task.number("share")), 6, true),
           tone}};
}

Line more_line(std::size_t above, std::size_t below, const char* what) {
  std::string text = "...";
  if (above > 0) text += " " + std::to_string(above) + " " + what + " above";
  if (below > 0) text += std::string(above > 0 ? "," : "") + " " + std::to_string(below) + " more";
  return {{text, Colour::kDim}};
}

std::vector<Line> head_lines(const FleetView& view, const FrameOptions& options) {
  const FleetSums sums = sums_of(view);
  const Verdict verdict = verdict_of(view);
  std::vector<Line> out = {titled(view, sums, options), budget_line(sums, options)};
  const Colour tone = verdict.level == Verdict::Level::kOk        ? Colour::kGreen
                      : verdict.level == Verdict::Level::kWarning ? Colour::kYellow
                                                                  : Colour::kRed;
  if (options.connected) {
    out.push_back({{verdict.text, tone}});
  } else {
    out.push_back({{"no link to the broker: this is what was heard last", Colour::kRed}});
  }
  if (const auto undrawn = undrawn_of(view); undrawn && options.connected) {
    out.push_back({{what_text(*undrawn) + ":", Colour::kYellow}});
    out.push_back({{"  " + holders_text(*undrawn), Colour::kYellow}});
  }
  out.push_back({});
  return out;
}

// The first of so many rows that are shown, so that the chosen one is among them.
std::size_t first_row(std::size_t count, std::size_t rows, std::optional<std::size_t> chosen) {
  if (!chosen || count <= rows) return 0;
  return std::min(*chosen - std::min(*chosen, rows / 2), count - rows);
}

void add_boards(const FleetView& view, std::size_t rows, const Layout& layout,
                const FrameOptions& options, const std::vector<const BoardRef*>& boards,
                std::vector<Line>& out) {
  double scale_w = kWattsMin;
  for (const auto& [id, board] : view.boards()) {
    if (!board.is_live()) continue;
    scale_w = std::max({scale_w, board.number("power_w").value_or(0.0),
                        board.number("shares/power/enforced_w").value_or(0.0)});
  }
  out.push_back(board_head(layout));
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    if (options.cockpit != nullptr && options.cockpit->board() == boards[i]->first) chosen = i;
  }
  const bool cut = rows < boards.size();
  const std::size_t lines = cut && rows > 1 ? rows - 1 : rows;
  const std::size_t from = first_row(boards.size(), lines, chosen);
  for (std::size_t i = from; i < std::min(boards.size(), from + lines); ++i) {
    out.push_back(board_line(boards[i]->first, boards[i]->second, scale_w, layout, options));
  }
  if (cut && rows > 1) {
    out.push_back(more_line(from, boards.size() - std::min(boards.size(), from + lines), "boards"));
  }
}

// The last events, in the lines that are left; nothing when fewer lines are left than are useful.
void add_events(const FleetView& view, const FrameOptions& options, std::vector<Line>& out) {
  constexpr std::size_t kAround = 2;  // an empty line and the head
  if (view.events().empty() || options.height < out.size() + kAround + 1) return;
  const std::size_t rows =
      std::min({kEventsShown, view.events().size(), options.height - out.size() - kAround});
  out.push_back({});
  out.push_back({{"EVENTS", Colour::kDim}});
  for (std::size_t i = view.events().size() - rows; i < view.events().size(); ++i) {
    const EventView& event = view.events()[i];
    // Only the time of day is shown.
    const std::string text = harmless(event_line(event));
    out.push_back(
        {{text.size() > 24 && text[10] == 'T' ? text.substr(11, 8) + text.substr(24) : text}});
  }
}

}  // namespace

std::string padded(std::string text, std::size_t width, bool right) {
  const std::size_t have = width_of(text);
  if (have > width) {
    // Cut at a whole character.
    while (width_of(text) > width) {
      do {
        text.pop_back();
      } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U);
      if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0xC0U) {
        text.pop_back();
      }
    }
  }
  const std::string pad(width - std::min(width, width_of(text)), ' ');
  return right ? pad + text : text + pad;
}

std::string line_text(const Line& line, std::size_t width, bool colour) {
  std::string out;
  std::size_t left = width;
  for (const Piece& piece : line) {
    const std::size_t have = width_of(piece.text);
    if (left == 0) break;
    out += painted(harmless(have <= left ? piece.text : padded(piece.text, left)), piece.colour,
                   colour);
    left -= std::min(left, have);
  }
  // No spaces at the end, unless a colour ends there.
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

Line bar(double part, double mark, double whole, std::size_t width, bool blocks, Colour colour) {
  const auto cells = [&](double value) {
    const double share = whole > 0.0 && value > 0.0 ? std::min(value / whole, 1.0) : 0.0;
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  };
  const std::size_t full = cells(part);
  const std::size_t allowed = std::max(full, cells(mark));
  std::string filled;
  std::string open;
  for (std::size_t i = 0; i < full; ++i) filled += blocks ? "▇" : "#";
  for (std::size_t i = full; i < allowed; ++i) open += blocks ? "░" : ".";
  return {{std::move(filled), colour},
          {std::move(open), Colour::kDim},
          {std::string(width - allowed, ' ')}};
}

std::vector<Line> top_frame(const FleetView& view, const FrameOptions& options) {
  if (options.cockpit != nullptr && options.cockpit->open()) return detail_frame(view, options);
  std::vector<Line> out = head_lines(view, options);
  const Layout layout = layout_for(view, options.width);
  const Shown shown = options.cockpit == nullptr ? Shown() : options.cockpit->shown();
  const auto boards = shown_boards(view, shown);
  const auto tasks = shown_tasks(view, shown);
  // Boards get the lines that they need, but leave up to a third of the screen to the tasks.
  const std::size_t below_all = options.cockpit == nullptr ? 0 : 1;
  const std::size_t fixed_lines = out.size() + 4 + below_all;
  std::size_t board_rows = boards.size();
  std::size_t task_rows = tasks.size();
  if (options.height > 0) {
    const std::size_t room = options.height > fixed_lines ? options.height - fixed_lines : 2;
    board_rows =
        std::min(board_rows, std::max<std::size_t>(1, room - std::min(task_rows, room / 3)));
    task_rows = std::min(task_rows, room - std::min(room, board_rows));
  }
  add_boards(view, board_rows, layout, options, boards, out);
  out.push_back({});
  out.push_back(task_head(layout));
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (is_chosen(*tasks[i], options)) chosen = i;
  }
  const std::size_t from = first_row(tasks.size(), task_rows, chosen);
  for (std::size_t i = from; i < std::min(tasks.size(), from + task_rows); ++i) {
    out.push_back(task_line(*tasks[i], layout, chosen == i));
  }
  if (tasks.empty()) out.push_back({{"no tasks", Colour::kDim}});
  const std::size_t below = tasks.size() - std::min(tasks.size(), from + task_rows);
  if (from > 0 || below > 0) out.push_back(more_line(from, below, "tasks"));
  FrameOptions above = options;
  if (above.height > below_all) above.height -= below_all;
  add_events(view, above, out);
  if (options.cockpit == nullptr) return out;
  if (options.height > 0) {
    if (out.size() >= options.height) out.resize(options.height - 1);
    while (out.size() + 1 < options.height) out.push_back({});
  }
  out.push_back(help_line(*options.cockpit));
  return out;
}

}  // namespace laird::control
