#include "control/whatif/change_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "config/units.hpp"
#include "mqtt/codec/topics.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::control {
namespace {

constexpr std::string_view kWords =
    "policy=NAME, slice=2s, cap=12W, cap=8W@10m, cap=none, budget=30W, lanes=gpu,cpu:2, "
    "board=NAME, speed=1.5, deadline:TASK=2h, deadline:TASK=+30m, target:TASK=0.3, weight:TASK=3, "
    "without=TASK, with=NAME:TASK, without-board=BOARD, with-board=NAME:BOARD, move:TASK=BOARD, "
    "fleet, nothing";
constexpr std::uint32_t kCoresMilliMax = 1'024'000;

[[nodiscard]] tl::unexpected<Error> wrong(const std::string& word, const std::string& why) {
  return fail(Code::kInvalid, "--what-if " + word + ": " + why);
}

[[nodiscard]] Result<double> number_of(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return fail(Code::kInvalid, "'" + std::string(text) + "' is no number");
  }
  return value;
}

// "12W", "12W@10m", "none@1h"
[[nodiscard]] Result<whatif::LimitFrom> limit_of(std::string_view text) {
  whatif::LimitFrom out;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    const Result<DurationNs> after = config::parse_duration(text.substr(at + 1));
    LAIRD_TRY(after);
    out.after = *after;
    text = text.substr(0, at);
  }
  if (text == "none") return out;
  const Result<std::int64_t> mw = config::parse_power(text);
  LAIRD_TRY(mw);
  if (!core::is_cap(*mw)) return fail(Code::kInvalid, "a limit is 1mW to 10kW");
  out.mw = *mw;
  return out;
}

[[nodiscard]] Status add_limit(std::vector<whatif::LimitFrom>& limits, std::string_view text) {
  const Result<whatif::LimitFrom> limit = limit_of(text);
  LAIRD_TRY(limit);
  limits.push_back(*limit);
  std::stable_sort(limits.begin(), limits.end(),
                   [](const auto& a, const auto& b) { return a.after < b.after; });
  return {};
}

// "gpu", "cpu:2"
[[nodiscard]] Result<core::LaneConfig> lane_of(std::string_view text, std::size_t index) {
  core::LaneConfig lane;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (kind == "gpu") {
    lane.kind = core::LaneKind::kGpu;
  } else if (kind != "cpu") {
    return fail(Code::kInvalid, "'" + std::string(kind) + "' is no kind of lane; gpu or cpu");
  }
  lane.name = std::string(kind) + std::to_string(index);
  if (colon == std::string_view::npos) return lane;
  const Result<double> cores = number_of(text.substr(colon + 1));
  LAIRD_TRY(cores);
  if (*cores < 0.001 || *cores * 1000.0 > static_cast<double>(kCoresMilliMax)) {
    return fail(Code::kInvalid, "a lane has 0.001 to 1024 cores");
  }
  lane.cores_milli = static_cast<std::uint32_t>(std::llround(*cores * 1000.0));
  return lane;
}

[[nodiscard]] Status set_lanes(whatif::Changes& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const Result<core::LaneConfig> lane = lane_of(text.substr(0, comma), out.lanes.size());
    LAIRD_TRY(lane);
    if (out.lanes.size() == core::kLanesMax) {
      return fail(Code::kInvalid,
                  "a board has at most " + std::to_string(core::kLanesMax) + " lanes");
    }
    out.lanes.push_back(*lane);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (out.lanes.empty()) return fail(Code::kInvalid, "name the lanes: gpu,cpu:2");
  return {};
}

[[nodiscard]] Result<whatif::OtherBoard> module_of(const std::string& name) {
  const Result<power::Board> board = power::find_board(name, "");
  LAIRD_TRY(board);
  whatif::OtherBoard other;
  other.name = name;
  other.power = core::PowerConfig::for_board(*board);
  other.meter = power::MeterConfig::for_board(*board);
  other.memory_bytes = board->memory_for_tasks_bytes(0);
  return other;
}

// "n-9:n-3", "n-9:n-3:orin-nano-8gb"
[[nodiscard]] Status add_board(whatif::Changes& out, std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size()) {
    return fail(Code::kInvalid,
                "say which board it is like: with-board=NEW:BOARD, or with-board=NEW:BOARD:MODULE");
  }
  whatif::AddedBoard board;
  board.name = std::string(value.substr(0, colon));
  if (!mqtt::is_node_id(board.name)) {
    return fail(Code::kInvalid, "'" + board.name + "' cannot be the name of a board");
  }
  value.remove_prefix(colon + 1);
  const std::size_t second = value.find(':');
  board.like = std::string(value.substr(0, second));
  if (second != std::string_view::npos) {
    auto module = module_of(std::string(value.substr(second + 1)));
    LAIRD_TRY(module);
    board.module = std::move(*module);
  }
  out.boards_added.push_back(std::move(board));
  return {};
}

[[nodiscard]] whatif::TaskEdit& edit_of(whatif::Changes& out, const std::string& task) {
  for (whatif::TaskEdit& edit : out.edits) {
    if (edit.task == task) return edit;
  }
  out.edits.push_back({task, {}, 0, {}, {}});
  return out.edits.back();
}

[[nodiscard]] Status set_deadline(whatif::TaskEdit& edit, std::string_view value) {
  const bool later = !value.empty() && value.front() == '+';
  const bool earlier = !value.empty() && value.front() == '-';
  if (later || earlier) value.remove_prefix(1);
  const Result<DurationNs> time = config::parse_duration(value);
  LAIRD_TRY(time);
  if (*time > core::kDeadlineMax) return fail(Code::kInvalid, "a deadline is within a year");
  if (later || earlier) {
    edit.deadline_add = later ? *time : -*time;
  } else {
    edit.deadline_after = *time;
  }
  return {};
}

// "deadline:TASK=2h" and its like: what is before and after the colon and the sign.
[[nodiscard]] Status edit_task(whatif::Changes& out, std::string_view what, const std::string& task,
                               std::string_view value) {
  if (what == "deadline") return set_deadline(edit_of(out, task), value);
  const Result<double> number = number_of(value);
  LAIRD_TRY(number);
  if (what == "target") {
    edit_of(out, task).target_loss = *number;
    return {};
  }
  const double milli = std::round(*number * 1000.0);
  if (milli < static_cast<double>(core::kWeightMilliMin) ||
      milli > static_cast<double>(core::kWeightMilliMax)) {
    return fail(Code::kInvalid, "a weight is 0.1 to 100");
  }
  edit_of(out, task).weight_milli = static_cast<std::uint32_t>(milli);
  return {};
}

[[nodiscard]] Status add_task(whatif::Changes& out, std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size()) {
    return fail(Code::kInvalid,
                "say which task it learns like: with=NEW:TASK, or with=NEW:TASK@BOARD");
  }
  const std::string_view like = value.substr(colon + 1);
  const std::size_t at = like.rfind('@');
  whatif::AddedTask task{std::string(value.substr(0, colon)), std::string(like.substr(0, at)), ""};
  if (at != std::string_view::npos) task.board = std::string(like.substr(at + 1));
  out.added.push_back(std::move(task));
  return {};
}

[[nodiscard]] Status add_change(whatif::Changes& out, std::string_view what,
                                std::string_view value) {
  const std::size_t colon = what.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view which = what.substr(0, colon);
    if (which == "move") {
      out.moved.push_back({std::string(what.substr(colon + 1)), std::string(value)});
      return {};
    }
    if (which == "deadline" || which == "target" || which == "weight") {
      return edit_task(out, which, std::string(what.substr(colon + 1)), value);
    }
  }
  if (what == "policy") {
    LAIRD_TRY(policies::make_policy(value));
    out.policy = std::string(value);
  } else if (what == "slice") {
    const Result<DurationNs> slice = config::parse_duration(value);
    LAIRD_TRY(slice);
    if (*slice < core::kSliceMin || *slice > core::kSliceMax) {
      return fail(Code::kInvalid, "a slice is 10ms to 1h");
    }
    out.slice = *slice;
  } else if (what == "speed") {
    const Result<double> speed = number_of(value);
    LAIRD_TRY(speed);
    if (*speed < 0.01 || *speed > 100.0) return fail(Code::kInvalid, "a speed is 0.01 to 100");
    out.speed = *speed;
  } else if (what == "cap") {
    return add_limit(out.caps, value);
  } else if (what == "budget") {
    return add_limit(out.budgets, value);
  } else if (what == "lanes") {
    return set_lanes(out, value);
  } else if (what == "board") {
    auto module = module_of(std::string(value));
    LAIRD_TRY(module);
    out.board = std::move(*module);
  } else if (what == "without-board") {
    out.boards_without.emplace_back(value);
  } else if (what == "with-board") {
    return add_board(out, value);
  } else if (what == "without") {
    out.without.emplace_back(value);
  } else if (what == "with") {
    return add_task(out, value);
  } else {
    return fail(Code::kInvalid, "there is no such change; there are: " + std::string(kWords));
  }
  return {};
}

}  // namespace

Result<whatif::Changes> changes_of(std::span<const std::string> words) {
  whatif::Changes out;
  for (const std::string& word : words) {
    if (word == "nothing") continue;
    if (word == "fleet") {
      out.as_fleet = true;
      continue;
    }
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) {
      return fail(Code::kInvalid,
                  "--what-if: '" + word + "' is no change; there are: " + std::string(kWords));
    }
    const std::string_view text = word;
    if (const Status ok = add_change(out, text.substr(0, sign), text.substr(sign + 1)); !ok) {
      return wrong(word, ok.error().context);
    }
  }
  return out;
}

}  // namespace laird::control
