#include "control/serve/summary.hpp"

#include <algorithm>

#include "base/harmless.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"
#include "control/screen/undrawn.hpp"
#include "control/serve/page_rows.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control::serve {
namespace {

using json::Value;

std::string counted(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string are(std::size_t n) { return n == 1 ? " is" : " are"; }

void add_fleet(const FleetView& view, const FleetSums& sums, std::vector<Attention>& out) {
  if (sums.over_budget()) {
    out.push_back({true,
                   sums.unlimited > 0
                       ? counted(sums.unlimited, "board") + " hold no power cap, though there is "
                                                            "a budget"
                       : fixed(sums.enforced_w, 1, " W") + " are given out of a budget of " +
                             fixed(sums.budget_w, 1, " W"),
                   "", ""});
  }
  if (const auto undrawn = undrawn_of(view)) {
    out.push_back({false, what_text(*undrawn) + ": " + holders_text(*undrawn), "", ""});
  }
  if (sums.rev_lowest < sums.rev_highest) {
    out.push_back({false,
                   "some boards still have budget revision " + std::to_string(sums.rev_lowest) +
                       "; the newest is " + std::to_string(sums.rev_highest),
                   "", ""});
  }
}

void add_boards(const FleetView& view, const Link& link, const Heard& heard, std::int64_t now_ms,
                std::vector<Attention>& out) {
  for (const auto& [id, board] : view.boards()) {
    const auto at = heard.find(id);
    if (board.state == "lost") {
      out.push_back({true, id + " is lost: it fell silent without a goodbye", id, ""});
    } else if (board.state == "alert") {
      out.push_back({true, id + " cannot write its journal", id, ""});
    } else if (board.state == "offline") {
      out.push_back({false, id + " is switched off", id, ""});
    } else if (link.connected && at != heard.end() && is_silent(board, at->second, now_ms)) {
      out.push_back(
          {true,
           id + " has been silent since " + mqtt::time_text(at->second).substr(11, 8) + " UTC", id,
           ""});
    } else if (board.is_live() && board.flag("fenced")) {
      out.push_back({false, id + " does not hear its peers and has its floor only", id, ""});
    } else if (board.is_live() && at_path(board.power, "limit_by") != nullptr &&
               at_path(board.power, "limit_by")->is(json::Kind::kString) &&
               at_path(board.power, "limit_by")->as_string() == "temperature") {
      out.push_back({false,
                     id + " is held back by its temperature, " +
                         fixed(number_at(board.power, "temperature_c"), 0, " °C"),
                     id, ""});
    }
  }
}

void add_tasks(const FleetView& view, std::vector<Attention>& out) {
  for (const auto& [place, task] : view.tasks()) {
    const std::string name = harmless(task.text("name"));
    const std::string state = task.text("state");
    const auto tell = [&, &board = task.board](bool bad, const std::string& what) {
      out.push_back({bad, name + " on " + board + " " + what, board, name});
    };
    if (state == "failed") {
      tell(true, "failed: " + harmless(task.text("reason")));
    } else if (state == "missed") {
      tell(true, "missed its deadline");
    } else if (state == "exhausted") {
      tell(true, "used all its samples without reaching its target");
    } else if (is_at_risk(task)) {
      const auto chance = task.number("forecast/probability");
      tell(true, "will probably miss its deadline" +
                     (chance ? ": " + percent(chance) + " likely" : std::string()));
    } else if (state == "backoff") {
      tell(false, "crashed and waits for its next attempt");
    }
  }
}

Value attention_json(const std::vector<Attention>& list) {
  Value out = Value::array();
  for (const Attention& one : list) {
    Value row = Value::object().set("text", one.text);
    if (one.bad) row.set("bad", true);
    if (!one.board.empty()) row.set("board", one.board);
    if (!one.task.empty()) row.set("key", key_of({one.board, one.task}));
    out.add(std::move(row));
  }
  return out;
}

}  // namespace

TaskCounts count_tasks(const FleetView& view) {
  TaskCounts out;
  for (const auto& [place, task] : view.tasks()) {
    const std::string state = task.text("state");
    if (is_end(state)) {
      if (state == "succeeded") ++out.met;
      const bool is_nobodys = state == "cancelled" || state == "moved";
      if (state != "succeeded" && !is_nobodys) ++out.missed;
      continue;
    }
    // A schedule is early or late for nothing; its runs are counted.
    if (recurs(task)) continue;
    ++out.live;
    if (is_at_risk(task)) {
      ++out.at_risk;
    } else if (task.number("forecast/probability")) {
      ++out.on_time;
    } else {
      ++out.unknown;
    }
  }
  return out;
}

bool is_silent(const BoardView& board, std::int64_t heard_ms, std::int64_t now_ms) {
  if (!board.is_live()) return false;
  const bool tells_power = !board.power.is(json::Kind::kNull);
  return now_ms - heard_ms > (tells_power ? kSilentAfterMs : kSilentWithoutPowerMs);
}

std::vector<Attention> attention_of(const FleetView& view, const Link& link, const Heard& heard,
                                    std::int64_t now_ms) {
  std::vector<Attention> out;
  add_fleet(view, sums_of(view), out);
  add_boards(view, link, heard, now_ms, out);
  add_tasks(view, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Attention& a, const Attention& b) { return a.bad > b.bad; });
  if (out.size() > kAttentionMax) {
    const std::size_t more = out.size() - kAttentionMax;
    out.resize(kAttentionMax);
    out.push_back({out.back().bad, "and " + std::to_string(more) + " more", "", ""});
  }
  return out;
}

std::string headline_of(const FleetView& view, const TaskCounts& tasks) {
  if (view.boards().empty()) return "No board has ever spoken to this broker.";
  if (tasks.live == 0) {
    const std::string done = tasks.met + tasks.missed == 0
                                 ? std::string()
                                 : " Of the last " + std::to_string(tasks.met + tasks.missed) +
                                       ", " + std::to_string(tasks.met) + " met the deadline.";
    return "No task is waiting or running." + done;
  }
  if (tasks.at_risk > 0) {
    return std::to_string(tasks.at_risk) + " of " + counted(tasks.live, "task") +
           " will probably miss " + (tasks.at_risk == 1 ? "its deadline." : "their deadlines.");
  }
  if (tasks.unknown == tasks.live) {
    return counted(tasks.live, "task") + are(tasks.live) + " too young for a forecast.";
  }
  if (tasks.unknown == 0) {
    return tasks.live == 1 ? "The one task is on time."
                           : "All " + std::to_string(tasks.live) + " tasks are on time.";
  }
  return std::to_string(tasks.on_time) + " of " + counted(tasks.live, "task") + are(tasks.on_time) +
         " on time; " + std::to_string(tasks.unknown) + are(tasks.unknown) +
         " too young for a forecast.";
}

Value summary_of(const FleetView& view, const Link& link, const Heard& heard, std::int64_t now_ms) {
  const TaskCounts tasks = count_tasks(view);
  const FleetSums sums = sums_of(view);
  std::size_t silent = 0;
  double drawn = 0.0;
  bool metered = false;
  for (const auto& [id, board] : view.boards()) {
    if (!board.is_live()) continue;
    const auto at = heard.find(id);
    if (link.connected && at != heard.end() && is_silent(board, at->second, now_ms)) ++silent;
    if (const auto watts = drawn_w(board)) {
      drawn += *watts;
      metered = true;
    }
  }
  Value out = Value::object()
                  .set("headline", headline_of(view, tasks))
                  .set("connected", link.connected)
                  .set("link_since_ms", link.since_ms)
                  .set("boards", sums.boards)
                  .set("live", sums.live - silent)
                  .set("given_w", sums.enforced_w)
                  .set("asks_w", sums.demand_w)
                  .set("tasks", Value::object()
                                    .set("live", tasks.live)
                                    .set("on_time", tasks.on_time)
                                    .set("at_risk", tasks.at_risk)
                                    .set("unknown", tasks.unknown)
                                    .set("met", tasks.met)
                                    .set("missed", tasks.missed));
  if (metered) out.set("drawn_w", drawn);
  if (sums.budget_w) out.set("budget_w", *sums.budget_w);
  if (sums.unlimited > 0) out.set("unlimited", sums.unlimited);
  out.set("attention", attention_json(attention_of(view, link, heard, now_ms)));
  return out;
}

}  // namespace laird::control::serve
