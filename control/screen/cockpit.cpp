#include "control/screen/cockpit.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "control/screen/rows.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kFilterMax = 40;

[[nodiscard]] std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

[[nodiscard]] bool has(std::string_view text, const std::string& wanted) {
  return lower(text).find(wanted) != std::string::npos;
}

[[nodiscard]] double drawn(const BoardView& board) {
  return board.is_live() ? board.number("power_w").value_or(-1.0) : -2.0;
}
[[nodiscard]] double heat(const BoardView& board) {
  return board.is_live() ? number_at(board.power, "temperature_c").value_or(-100.0) : -200.0;
}
[[nodiscard]] double work(const BoardView& board) {
  return board.is_live() ? board.number("tasks/running").value_or(0.0) +
                               board.number("tasks/queued").value_or(0.0)
                         : -1.0;
}

// The instant by deadline: those that have ended last.
[[nodiscard]] double deadline(const TaskView& task) {
  return task.is_ended() ? 1e18 : task.number("deadline_in_s").value_or(1e17);
}

// Wraps round.
template <class E>
[[nodiscard]] E next_of(E value, E last) {
  return value == last ? E{} : static_cast<E>(static_cast<unsigned char>(value) + 1);
}

// The index of the one to select after moving `by`; from the top, or the end, where none is.
[[nodiscard]] std::size_t moved(std::optional<std::size_t> from, std::int64_t by,
                                std::size_t count) {
  const auto last = static_cast<std::int64_t>(count) - 1;
  if (!from) return static_cast<std::size_t>(by < 0 ? last : std::min<std::int64_t>(last, by - 1));
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(*from) + by, 0, last));
}

}  // namespace

std::string_view name(TaskSort sort) {
  switch (sort) {
    case TaskSort::kRisk: return "risk";
    case TaskSort::kName: return "name";
    case TaskSort::kDeadline: return "deadline";
    case TaskSort::kBoard: return "board";
    case TaskSort::kLoss: return "loss";
  }
  return "?";
}

std::string_view name(BoardSort sort) {
  switch (sort) {
    case BoardSort::kName: return "name";
    case BoardSort::kPower: return "power";
    case BoardSort::kHeat: return "temperature";
    case BoardSort::kTasks: return "tasks";
  }
  return "?";
}

std::vector<const TaskView*> shown_tasks(const FleetView& view, const Shown& shown) {
  std::vector<const TaskView*> out;
  const std::string wanted = lower(shown.filter);
  for (const auto& [place, task] : view.tasks()) {
    if (wanted.empty() || has(place.first, wanted) || has(place.second, wanted) ||
        has(task.text("state"), wanted)) {
      out.push_back(&task);
    }
  }
  const NaturalLess before;
  const auto by_name = [&](const TaskView* a, const TaskView* b) {
    return before(a->text("name"), b->text("name"));
  };
  switch (shown.task_sort) {
    case TaskSort::kBoard: break;  // as they come
    case TaskSort::kName: std::stable_sort(out.begin(), out.end(), by_name); break;
    case TaskSort::kDeadline:
      std::stable_sort(out.begin(), out.end(), [](const TaskView* a, const TaskView* b) {
        return deadline(*a) < deadline(*b);
      });
      break;
    case TaskSort::kLoss:
      std::stable_sort(out.begin(), out.end(), [](const TaskView* a, const TaskView* b) {
        return a->number("loss").value_or(1e300) < b->number("loss").value_or(1e300);
      });
      break;
    case TaskSort::kRisk:
      // Tasks at risk come first, then live ones by deadline, then those that have ended.
      std::stable_sort(out.begin(), out.end(), [&](const TaskView* a, const TaskView* b) {
        const auto rank = [](const TaskView& t) {
          return std::tuple(t.is_ended(), !is_at_risk(t), t.is_ended() ? 0.0 : deadline(t));
        };
        const auto first = rank(*a);
        const auto second = rank(*b);
        return first != second ? first < second : by_name(a, b);
      });
      break;
  }
  return out;
}

std::vector<const BoardRef*> shown_boards(const FleetView& view, const Shown& shown) {
  std::vector<const BoardRef*> out;
  const std::string wanted = lower(shown.filter);
  for (const BoardRef& board : view.boards()) {
    bool fits = wanted.empty() || has(board.first, wanted);
    for (auto task = view.tasks().lower_bound({board.first, ""});
         !fits && task != view.tasks().end() && task->first.first == board.first; ++task) {
      fits = has(task->first.second, wanted) || has(task->second.text("state"), wanted);
    }
    if (fits) out.push_back(&board);
  }
  const auto by = [&](double (*key)(const BoardView&)) {
    std::stable_sort(out.begin(), out.end(), [key](const BoardRef* a, const BoardRef* b) {
      return key(a->second) > key(b->second);
    });
  };
  switch (shown.board_sort) {
    case BoardSort::kName: break;  // as they come
    case BoardSort::kPower: by(&drawn); break;
    case BoardSort::kHeat: by(&heat); break;
    case BoardSort::kTasks: by(&work); break;
  }
  return out;
}

void Curves::note(const FleetView& view, std::int64_t now_ms) {
  for (const auto& [place, task] : view.tasks()) {
    const auto loss = task.number("loss");
    if (!loss) continue;
    auto found = curves_.find(place);
    if (found == curves_.end()) {
      if (curves_.size() >= kTasksMax) continue;
      found = curves_.emplace(place, Curve{}).first;
    }
    std::vector<Point>& points = found->second.points;
    if (!points.empty() &&
        (points.back().loss == *loss || now_ms - points.back().at_ms < found->second.every_ms)) {
      continue;
    }
    points.push_back({now_ms, *loss});
    if (points.size() <= kPointsMax) continue;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points.size(); i += 2) points[kept++] = points[i];
    points.resize(kept);
    found->second.every_ms =
        std::max<std::int64_t>(1, 2 * (points.back().at_ms - points.front().at_ms) /
                                      static_cast<std::int64_t>(kPointsMax));
  }
  std::erase_if(curves_, [&](const auto& curve) { return view.tasks().count(curve.first) == 0; });
}

const std::vector<Curves::Point>& Curves::of(const TaskPlace& place) const {
  static const std::vector<Point> kNone;
  const auto found = curves_.find(place);
  return found == curves_.end() ? kNone : found->second.points;
}

Cockpit::Then Cockpit::type(std::string_view keys) {
  if (keys == "\033" || keys == "\x03") {
    typing_ = false;
    shown_.filter.clear();
    return Then::kDraw;
  }
  for (const char c : keys) {
    if (c == '\r' || c == '\n') {
      typing_ = false;
    } else if (c == '\x7f' || c == '\b') {
      if (!shown_.filter.empty()) shown_.filter.pop_back();
    } else if (std::isprint(static_cast<unsigned char>(c)) != 0 &&
               shown_.filter.size() < kFilterMax) {
      shown_.filter += c;
    }
  }
  return Then::kDraw;
}

void Cockpit::move(const FleetView& view, std::int64_t by) {
  if (on_boards_) {
    const auto boards = shown_boards(view, shown_);
    if (boards.empty()) return;
    std::optional<std::size_t> at;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      if (boards[i]->first == board_) at = i;
    }
    board_ = boards[moved(at, by, boards.size())]->first;
    return;
  }
  const auto tasks = shown_tasks(view, shown_);
  if (tasks.empty()) return;
  std::optional<std::size_t> at;
  for (std::size_t i = 0; task_ && i < tasks.size(); ++i) {
    if (tasks[i]->board == task_->first && tasks[i]->text("name") == task_->second) at = i;
  }
  const TaskView& now = *tasks[moved(at, by, tasks.size())];
  task_ = TaskPlace{now.board, now.text("name")};
}

void Cockpit::sort_on() {
  if (on_boards_) {
    shown_.board_sort = next_of(shown_.board_sort, BoardSort::kTasks);
  } else {
    shown_.task_sort = next_of(shown_.task_sort, TaskSort::kLoss);
  }
}

Cockpit::Then Cockpit::press(std::string_view keys, const FleetView& view, std::size_t page) {
  if (typing_) return type(keys);
  const auto rows = static_cast<std::int64_t>(page);
  if (keys == "\x0c") return Then::kRedraw;
  if (keys == "\033" && (open_ || !shown_.filter.empty())) {
    if (!open_) shown_.filter.clear();
    open_ = false;
    return Then::kDraw;
  }
  if (keys == "q" || keys == "Q" || keys == "\x03" || keys == "\033") return Then::kQuit;
  if (keys == "\r" || keys == "\n") {
    if (!open_ && (on_boards_ ? board_.empty() : !task_)) move(view, 1);
    open_ = !open_ && (on_boards_ ? !board_.empty() : task_.has_value());
  } else if (keys == "\t") {
    on_boards_ = !on_boards_;
    open_ = false;
    if (on_boards_ ? board_.empty() : !task_) move(view, 1);
  } else if (keys == "k" || keys == "\033[A" || keys == "\033OA") {
    move(view, -1);
  } else if (keys == "j" || keys == "\033[B" || keys == "\033OB") {
    move(view, 1);
  } else if (keys == "\033[5~") {
    move(view, -rows);
  } else if (keys == "\033[6~" || keys == " ") {
    move(view, rows);
  } else if (keys == "s") {
    sort_on();
  } else if (keys == "/") {
    typing_ = true;
    open_ = false;
  } else {
    return Then::kNothing;
  }
  return Then::kDraw;
}

}  // namespace laird::control
