#include "control/whatif/words.hpp"

#include <algorithm>
#include <cmath>

#include "base/duration.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using whatif::TaskEnd;
using whatif::TaskPair;

[[nodiscard]] std::string end_of(const TaskEnd* task) {
  if (task == nullptr) return "-";
  return task->outcome == core::Outcome::kNone ? "not over"
                                               : std::string(core::name(task->outcome));
}

// How long before its deadline it succeeded, or by how much its loss missed the target.
[[nodiscard]] std::string margin_of(const TaskEnd* task) {
  if (task == nullptr || task->ended_at == 0) return "-";
  if (task->outcome == core::Outcome::kSucceeded) {
    return spoken(task->deadline_at - task->ended_at) + " early";
  }
  if (!task->loss) return "no loss";
  return "loss +" + short_number(*task->loss - task->target, 3);
}

[[nodiscard]] std::string joules(std::int64_t uj) {
  return uj < 0 ? "-" : fixed(static_cast<double>(uj) * 1e-6, 0) + " J";
}

[[nodiscard]] std::string joules(const TaskEnd* task) {
  return task == nullptr ? "-" : joules(task->energy_uj);
}

[[nodiscard]] std::string name_of(const whatif::TaskId& id) {
  return id.nth == 0 ? id.name : id.name + " (" + std::to_string(id.nth + 1) + ")";
}

[[nodiscard]] std::string part(double value) { return fixed(100.0 * value, 1) + "%"; }

[[nodiscard]] bool was_forecast(const BoardAnswer& answer, const TaskPair& pair) {
  return pair.now != nullptr && answer.median.beyond.count(pair.now->id) != 0;
}

// "succeeded", or "succeeded or missed" where the forecasts' ends disagree.
[[nodiscard]] std::string ends_of(const BoardAnswer& answer, const TaskPair& pair) {
  std::string out = end_of(pair.now);
  if (!was_forecast(answer, pair)) return out;
  for (const auto* other : {&answer.low, &answer.high}) {
    if (!*other) continue;
    const std::string end = end_of((*other)->tally.find(pair.now->id));
    if (out.find(end) == std::string::npos) out += " or " + end;
  }
  return out + " ~";
}

[[nodiscard]] std::string sums_text(const Sums& sums) {
  std::string out =
      std::to_string(sums.succeeded) + " of " + std::to_string(sums.tasks) + " tasks succeeded";
  if (sums.metered) out += ", " + fixed(sums.energy_j, 0) + " J";
  return out + ", " + std::to_string(sums.switches) + " switches";
}

[[nodiscard]] json::Value end_json(const TaskEnd* task) {
  json::Value out;
  if (task == nullptr) return out;
  out = json::Value::object();
  out.set("end", std::string(core::name(task->outcome)));
  out.set("took_s", task->ended_at == 0 ? json::Value()
                                        : json::Value(seconds(task->ended_at - task->accepted_at)));
  out.set("margin_s", task->ended_at == 0
                          ? json::Value()
                          : json::Value(seconds(task->deadline_at - task->ended_at)));
  out.set("loss", task->loss ? json::Value(*task->loss) : json::Value());
  out.set("target", task->target);
  out.set("energy_j", task->energy_uj < 0
                          ? json::Value()
                          : json::Value(static_cast<double>(task->energy_uj) * 1e-6));
  out.set("busy_s", seconds(task->busy_ns));
  out.set("switches", task->switches);
  out.set("samples", task->samples);
  return out;
}

[[nodiscard]] json::Value sums_json(const Sums& sums) {
  json::Value out = json::Value::object();
  out.set("tasks", sums.tasks);
  out.set("succeeded", sums.succeeded);
  out.set("energy_j", sums.metered ? json::Value(sums.energy_j) : json::Value());
  out.set("switches", sums.switches);
  return out;
}

[[nodiscard]] json::Value fidelity_json(const RecordedBoard& board) {
  const whatif::Fidelity& f = board.fidelity;
  json::Value out = json::Value::object();
  out.set("good", f.good());
  out.set("tasks", f.tasks);
  out.set("same_end", f.same_end);
  out.set("end_moved_most", f.end_moved_most);
  out.set("energy_off", f.metered ? json::Value(f.energy_off) : json::Value());
  return out;
}

[[nodiscard]] json::Value board_json(const AnsweredBoard& one) {
  json::Value out = json::Value::object();
  out.set("node", one.board.recording.node);
  out.set("fidelity", fidelity_json(one.board));
  Sums was;
  was.add(one.board.recording.was);
  Sums now;
  now.add(one.answer.median.tally);
  out.set("was", sums_json(was));
  out.set("what_if", sums_json(now));
  json::Value tasks = json::Value::array();
  for (const TaskPair& pair : whatif::pairs_of(one.board.recording.was, one.answer.median.tally)) {
    const whatif::TaskId& id = pair.was != nullptr ? pair.was->id : pair.now->id;
    json::Value task = json::Value::object();
    task.set("task", id.name);
    task.set("nth", id.nth + 1);
    task.set("was", end_json(pair.was));
    task.set("what_if", end_json(pair.now));
    task.set("forecast", was_forecast(one.answer, pair));
    if (was_forecast(one.answer, pair) && one.answer.low && one.answer.high) {
      task.set("low", end_json(one.answer.low->tally.find(id)));
      task.set("high", end_json(one.answer.high->tally.find(id)));
    }
    tasks.add(std::move(task));
  }
  out.set("tasks", std::move(tasks));
  json::Value refused = json::Value::array();
  for (const std::string& text : one.answer.median.refused) refused.add(text);
  out.set("refused", std::move(refused));
  return out;
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> successes(const BoardAnswer& answer) {
  std::uint64_t fewest = answer.median.tally.succeeded();
  std::uint64_t most = fewest;
  for (const auto* other : {&answer.low, &answer.high}) {
    if (!*other) continue;
    fewest = std::min(fewest, (*other)->tally.succeeded());
    most = std::max(most, (*other)->tally.succeeded());
  }
  return {fewest, most};
}

std::string fidelity_text(const RecordedBoard& board) {
  const whatif::Fidelity& f = board.fidelity;
  std::string out = board.recording.node +
                    ", run again with nothing changed: " + std::to_string(f.same_end) + " of " +
                    std::to_string(f.tasks) + " tasks end as they did, their ends move by " +
                    part(f.end_moved_most) + " at most";
  if (f.metered) {
    out += std::string(", the energy by ") + (f.energy_off < 0 ? "-" : "+") +
           part(std::fabs(f.energy_off));
  }
  if (!f.good()) out += ". That is too far off: take what follows as a hint only";
  return out;
}

std::vector<std::vector<std::string>> answer_rows(std::span<const AnsweredBoard> boards) {
  std::vector<std::vector<std::string>> rows;
  for (const AnsweredBoard& one : boards) {
    for (const TaskPair& pair :
         whatif::pairs_of(one.board.recording.was, one.answer.median.tally)) {
      std::vector<std::string> row;
      if (boards.size() > 1) row.push_back(one.board.recording.node);
      row.push_back(name_of(pair.was != nullptr ? pair.was->id : pair.now->id));
      for (std::string cell : {end_of(pair.was), margin_of(pair.was), joules(pair.was),
                               ends_of(one.answer, pair), margin_of(pair.now), joules(pair.now)}) {
        row.push_back(std::move(cell));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string answer_text(std::span<const AnsweredBoard> boards) {
  std::vector<Column> columns;
  if (boards.size() > 1) columns.push_back({"BOARD"});
  for (const char* head : {"TASK", "AS IT WAS"}) columns.push_back({head});
  columns.push_back({"MARGIN", true});
  columns.push_back({"ENERGY", true});
  columns.push_back({"WHAT IF"});
  columns.push_back({"MARGIN", true});
  columns.push_back({"ENERGY", true});
  Table table(std::move(columns));
  for (std::vector<std::string>& row : answer_rows(boards)) table.add(std::move(row));
  std::string out = table.text();
  Sums was;
  Sums now;
  std::uint64_t fewest = 0;
  std::uint64_t most = 0;
  std::size_t beyond = 0;
  for (const AnsweredBoard& one : boards) {
    was.add(one.board.recording.was);
    now.add(one.answer.median.tally);
    const auto [low, high] = successes(one.answer);
    fewest += low;
    most += high;
    beyond += one.answer.median.beyond.size();
  }
  out += "as it was: " + sums_text(was) + "\nwhat if:   " + sums_text(now) + "\n";
  if (beyond > 0) {
    out += "~ " + std::to_string(beyond) + (beyond == 1 ? " task gets" : " tasks get") +
           " further than then, with losses by the median of the last forecast; with the ends of "
           "its band " +
           std::to_string(fewest) + " to " + std::to_string(most) + " tasks succeed\n";
  }
  for (const AnsweredBoard& one : boards) {
    for (const std::string& text : one.answer.median.refused) {
      out += "refused on " + one.board.recording.node + ": " + text + "\n";
    }
  }
  return out;
}

std::string policies_text(std::span<const PolicyRow> rows) {
  Table table({{"POLICY"},
               {"SUCCEEDED", true},
               {"BY FORECAST", true},
               {"ENERGY", true},
               {"SWITCHES", true}});
  for (const PolicyRow& row : rows) {
    const bool sure = row.succeeded_low == row.succeeded_high;
    table.add(
        {row.name, std::to_string(row.sums.succeeded) + " of " + std::to_string(row.sums.tasks),
         row.beyond == 0 ? "-"
         : sure          ? std::to_string(row.succeeded_low)
                : std::to_string(row.succeeded_low) + " to " + std::to_string(row.succeeded_high),
         row.sums.metered ? fixed(row.sums.energy_j, 0) + " J" : "-",
         std::to_string(row.sums.switches)});
  }
  return table.text() +
         "BY FORECAST: successes with the ends of the forecasts' bands, where tasks got further "
         "than they did\n";
}

json::Value answer_json(std::span<const AnsweredBoard> boards,
                        std::span<const std::string> changes) {
  json::Value out = json::Value::object();
  out.set("s", "laird.what-if/1.0");
  json::Value words = json::Value::array();
  for (const std::string& word : changes) words.add(word);
  out.set("changes", std::move(words));
  json::Value list = json::Value::array();
  for (const AnsweredBoard& one : boards) list.add(board_json(one));
  out.set("boards", std::move(list));
  return out;
}

json::Value policies_json(std::span<const RecordedBoard> boards, std::span<const PolicyRow> rows) {
  json::Value out = json::Value::object();
  out.set("s", "laird.what-if/1.0");
  json::Value fidelities = json::Value::array();
  for (const RecordedBoard& board : boards) {
    json::Value one = json::Value::object();
    one.set("node", board.recording.node);
    one.set("fidelity", fidelity_json(board));
    fidelities.add(std::move(one));
  }
  out.set("boards", std::move(fidelities));
  json::Value list = json::Value::array();
  for (const PolicyRow& row : rows) {
    json::Value one = sums_json(row.sums);
    one.set("policy", row.name);
    one.set("succeeded_low", row.succeeded_low);
    one.set("succeeded_high", row.succeeded_high);
    one.set("forecast_tasks", row.beyond);
    list.add(std::move(one));
  }
  out.set("policies", std::move(list));
  return out;
}

}  // namespace laird::control
