#include "report/page_data.hpp"

#include <algorithm>

#include "base/harmless.hpp"
#include "json/value.hpp"
#include "report/page.hpp"
#include "report/story/numbers.hpp"
#include "report/story/verdict.hpp"

namespace laird::report {
namespace {

using story::BoardStory;
using story::Point;
using story::Series;
using story::TaskStory;

std::string text(const std::string& said) { return json::quoted(harmless(said)); }
std::string number(double value) { return story::figures(value, 5); }

// Milliseconds since the page's first moment.
class Moments {
 public:
  explicit Moments(TimeNs first_wall) : first_(first_wall / kMillisecond) {}
  [[nodiscard]] std::int64_t of(const BoardStory& board, TimeNs at) const {
    return of_wall(board.wall(at));
  }
  [[nodiscard]] std::int64_t of_wall(TimeNs wall) const { return wall / kMillisecond - first_; }

 private:
  std::int64_t first_;
};

// {"t":[first, steps between],"v":[...]}, with the numbers beside them as "s".
template <class Points, class At>
std::string packed(const Points& points, const At& at, bool with_beside = false) {
  std::string t;
  std::string v;
  std::string s;
  std::int64_t last = 0;
  for (const auto& p : points) {
    const std::int64_t ms = at(p);
    const char* comma = t.empty() ? "" : ",";
    t += comma + std::to_string(ms - last);
    v += comma + number(p.value);
    if constexpr (requires { p.beside; }) {
      if (with_beside) s += comma + story::fixed(p.beside, 0);
    }
    last = ms;
  }
  return "{\"t\":[" + t + "],\"v\":[" + v + "]" + (with_beside ? ",\"s\":[" + s + "]" : "") + "}";
}

std::string series_of(const BoardStory& board, Series series, const Moments& when,
                      std::size_t places, bool with_beside = false) {
  series.shrink(places);
  return packed(
      series.points(), [&](const Point& p) { return when.of(board, p.at); }, with_beside);
}

void add_series(std::string& out, const char* name, const BoardStory& board, const Series& series,
                const Moments& when, std::size_t places) {
  if (series.empty()) return;
  out += std::string(",\"") + name + "\":" + series_of(board, series, when, places);
}

// [from, doing, lane], and for a cell of several doings the thousandths of each behind it.
std::string cells_of(const BoardStory& board, story::Track track, const Moments& when,
                     std::size_t places) {
  track.shrink(places);
  std::string out;
  for (const story::Cell& cell : track.cells()) {
    const DurationNs whole = std::max<DurationNs>(1, cell.to - cell.from);
    const auto mostly = static_cast<std::size_t>(cell.mostly());
    out += (out.empty() ? "[" : ",[") + std::to_string(when.of(board, cell.from)) + "," +
           std::to_string(mostly) + "," + std::to_string(cell.lane);
    if (cell.ns[mostly] != cell.to - cell.from) {
      for (const DurationNs ns : cell.ns) {
        out += "," + story::fixed(1000.0 * static_cast<double>(ns) / static_cast<double>(whole), 0);
      }
    }
    out += "]";
  }
  return "[" + out + "]";
}

// [at, probability, deadline, [low], [middle], [high]], the steps at equal distances from `at` to
// the deadline; evenly chosen if there are more than `most`.
std::string forecasts_of(const BoardStory& board, const TaskStory& task, const Moments& when,
                         std::size_t most) {
  const std::size_t every = task.forecasts.size() / (most + 1) + 1;
  std::string out;
  for (std::size_t i = 0; i < task.forecasts.size(); i += every) {
    const story::ForecastThen& then = task.forecasts[i];
    std::string low;
    std::string middle;
    std::string high;
    for (const story::ForecastStep& step : then.steps) {
      const char* comma = low.empty() ? "" : ",";
      low += comma + story::figures(step.low, 4);
      middle += comma + story::figures(step.middle, 4);
      high += comma + story::figures(step.high, 4);
    }
    const TimeNs until = then.steps.empty() ? then.at : then.steps.back().at;
    out += (out.empty() ? "[" : ",[") + std::to_string(when.of(board, then.at)) + "," +
           story::figures(then.probability, 3) + "," + std::to_string(when.of(board, until)) +
           ",[" + low + "],[" + middle + "],[" + high + "]]";
  }
  return "[" + out + "]";
}

// How much of its series each task has room for.
struct Room {
  std::size_t places = 0;
  std::size_t forecasts = 0;
};

Room room_for(std::span<const PageTask> tasks) {
  const auto detailed = static_cast<std::size_t>(
      std::count_if(tasks.begin(), tasks.end(), [](const PageTask& t) { return t.detailed; }));
  const auto each = [](std::size_t all, std::size_t n, std::size_t least, std::size_t most) {
    return std::clamp<std::size_t>(all / std::max<std::size_t>(1, n), least, most);
  };
  return {each(kPagePlacesMax, tasks.size(), story::kTaskPlacesMin, 1024),
          each(kPageForecastsMax, detailed, 4, story::kForecastsKept)};
}

std::string task_of(const BoardStory& board, const PageTask& shown, std::size_t index,
                    std::size_t colour, const Moments& when, const Room& room) {
  const TaskStory& task = *shown.task;
  const TimeNs to = task.over() ? task.ended_at : board.to;
  std::string out = "{\"number\":" + std::to_string(index) +
                    ",\"colour\":" + std::to_string(colour) +
                    ",\"key\":" + std::to_string(task.key) +
                    ",\"board\":" + std::to_string(shown.board) + ",\"name\":" + text(task.name) +
                    ",\"state\":" + text(task.state) + ",\"target\":" + number(task.target);
  const TimeNs from = std::max(task.accepted_at, board.from);
  out += ",\"from\":" + std::to_string(when.of(board, from)) +
         ",\"to\":" + std::to_string(when.of(board, to)) +
         ",\"deadline\":" + std::to_string(when.of(board, task.deadline_at)) +
         ",\"end\":" + (task.over() ? std::to_string(when.of(board, task.ended_at)) : "null");
  out += ",\"cells_to\":" + std::to_string(when.of(board, to)) +
         ",\"cells\":" + cells_of(board, task.track, when, room.places) +
         ",\"loss\":" + series_of(board, task.losses, when, room.places, true);
  out += ",\"forecasts\":" +
         (shown.detailed ? forecasts_of(board, task, when, room.forecasts) : std::string("[]"));
  return out + "}";
}

// [at, lane, task, share, why]: evenly chosen if there are too many.
std::string decisions_of(const BoardStory& board, const Moments& when, std::size_t most) {
  const std::size_t step = board.decisions.size() / std::max<std::size_t>(1, most) + 1;
  std::string out;
  for (std::size_t i = 0; i < board.decisions.size(); i += step) {
    const story::Decision& d = board.decisions[i];
    out += (out.empty() ? "[" : ",[") + std::to_string(when.of(board, d.at)) + "," +
           std::to_string(d.lane) + "," + std::to_string(d.task) + "," +
           story::figures(d.share, 3) + "," + text(d.why) + "]";
  }
  return "[" + out + "]";
}

std::string board_of(const BoardStory& board, const Moments& when, std::size_t boards) {
  const std::size_t places = std::clamp<std::size_t>(2048 / boards, 96, 1024);
  std::string out = "{\"name\":" + text(board.node) + ",\"lanes\":[";
  for (std::size_t i = 0; i < board.lanes.size(); ++i) {
    out += std::string(i == 0 ? "" : ",") + "{\"name\":" + text(board.lanes[i].name) + "}";
  }
  out += "],\"decisions\":" + decisions_of(board, when, kPageDecisionsMax / boards);
  const story::PowerStory& power = board.power;
  out += ",\"to\":" + std::to_string(when.of(board, board.to));
  add_series(out, "drawn", board, power.mean_w, when, places);
  add_series(out, "read", board, power.drawn_w, when, places);
  add_series(out, "cap", board, power.cap_w, when, places);
  add_series(out, "hottest", board, power.hottest_c, when, places / 4);
  add_series(out, "ceiling", board, power.ceiling, when, places / 2);
  add_series(out, "gpu_mhz", board, power.gpu_mhz, when, places / 4);
  add_series(out, "cpu_mhz", board, power.cpu_mhz, when, places / 4);
  add_series(out, "gpu_load", board, power.gpu_load, when, places / 4);
  add_series(out, "cpu_load", board, power.cpu_load, when, places / 4);
  add_series(out, "asked", board, board.fleet.asked_w, when, places / 2);
  Series share(1024);
  for (const story::SharePoint& p : board.fleet.shares) {
    share.add({p.at, static_cast<double>(p.enforced_mw) * 1e-3, 0.0});
  }
  add_series(out, "share", board, share, when, places);
  return out + "}";
}

std::string sum_of(const std::vector<story::SumPoint>& points, const Moments& when) {
  Series series(1024);
  for (const story::SumPoint& p : points) series.add({p.wall, p.value, 0.0});
  return packed(series.points(), [&](const Point& p) { return when.of_wall(p.at); });
}

}  // namespace

bool is_lost(const TaskStory& task) {
  return task.over() && task.outcome != core::Outcome::kSucceeded;
}

std::vector<PageTask> page_tasks(std::span<const BoardStory> boards) {
  std::size_t lost = 0;
  for (const BoardStory& board : boards) {
    lost +=
        static_cast<std::size_t>(std::count_if(board.tasks.begin(), board.tasks.end(), is_lost));
  }
  // What the lost ones leave is for the others.
  std::size_t rows = kPageTasksMax - std::min(lost, kPageTasksMax);
  std::size_t details = kPageDetailsMax - std::min(lost, kPageDetailsMax);
  std::size_t lost_details = kPageDetailsMax;
  std::vector<PageTask> out;
  for (std::size_t b = 0; b < boards.size(); ++b) {
    for (const TaskStory& task : boards[b].tasks) {
      if (out.size() == kPageTasksMax) return out;
      const bool lost_one = is_lost(task);
      if (!lost_one && rows == 0) continue;
      if (!lost_one) --rows;
      std::size_t& room = lost_one ? lost_details : details;
      out.push_back({b, &task, room > 0});
      if (room > 0) --room;
    }
  }
  return out;
}

// A task has the colour that it has on the board as it was.
static std::size_t colour_in_pair(std::span<const PageTask> tasks, std::size_t index) {
  const PageTask& task = tasks[index];
  if (task.board % 2 == 0) return index;
  for (std::size_t i = 0; i < index; ++i) {
    if (tasks[i].board + 1 == task.board && tasks[i].task->name == task.task->name) return i;
  }
  return index;
}

std::string page_data(std::span<const BoardStory> boards, std::span<const PageTask> tasks,
                      bool pairs) {
  TimeNs first = INT64_MAX;
  TimeNs last = INT64_MIN;
  for (const BoardStory& board : boards) {
    first = std::min(first, board.wall(board.from));
    last = std::max(last, board.wall(board.to));
  }
  const Moments when(first);
  std::string out = "{\"t0\":" + std::to_string(first / kMillisecond) +
                    ",\"t1\":" + std::to_string(last / kMillisecond) + ",\"boards\":[";
  for (std::size_t i = 0; i < boards.size(); ++i) {
    out += (i == 0 ? "" : ",") + board_of(boards[i], when, boards.size());
  }
  out += "],\"tasks\":[";
  const Room room = room_for(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t colour = pairs ? colour_in_pair(tasks, i) : i;
    out += (i == 0 ? "" : ",") + task_of(boards[tasks[i].board], tasks[i], i, colour, when, room);
  }
  out += "]";
  if (pairs) out += ",\"pairs\":true";
  const std::vector<story::SumPoint> budget =
      pairs ? std::vector<story::SumPoint>() : story::budget_of(boards);
  if (!budget.empty()) out += ",\"budget\":" + sum_of(budget, when);
  if (boards.size() > 1 && !pairs) {
    const std::vector<story::SumPoint> caps = story::caps_sum(boards);
    if (!caps.empty()) out += ",\"caps\":" + sum_of(caps, when);
  }
  out += "}";
  // Only texts hold this character, and there the escape says the same.
  std::string safe;
  safe.reserve(out.size());
  for (const char c : out) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace laird::report
