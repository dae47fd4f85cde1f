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

// A task of one answer: as it was on whichever board, and as it would have been.
struct AnsweredTask {
  TaskPair pair;
  const RecordedBoard* from = nullptr;  // it came from there
};

[[nodiscard]] std::vector<AnsweredTask> tasks_of(const Answered& all, const BoardAnswer& answer) {
  std::vector<AnsweredTask> out;
  for (const TaskPair& pair : whatif::pairs_of(all.was(answer), answer.median.tally)) {
    const auto moved =
        pair.was == nullptr ? answer.moved_here.find(pair.now->id) : answer.moved_here.end();
    if (moved != answer.moved_here.end()) {
      const RecordedBoard& from = all.boards[moved->second];
      out.push_back({{from.recording.was.find(pair.now->id), pair.now}, &from});
      continue;
    }
    const bool went =
        pair.now == nullptr &&
        std::any_of(all.answers.begin(), all.answers.end(), [&](const BoardAnswer& b) {
          const auto found = b.moved_here.find(pair.was->id);
          return found != b.moved_here.end() && answer.recorded == found->second;
        });
    if (!went) out.push_back({pair, nullptr});
  }
  return out;
}

[[nodiscard]] json::Value board_json(const Answered& all, const BoardAnswer& answer) {
  json::Value out = json::Value::object();
  out.set("node", answer.node);
  if (answer.recorded) out.set("fidelity", fidelity_json(all.boards[*answer.recorded]));
  if (answer.left_out) out.set("left_out", true);
  if (!answer.recorded) out.set("added", true);
  Sums was;
  was.add(all.was(answer));
  Sums now;
  now.add(answer.median.tally);
  out.set("was", sums_json(was));
  out.set("what_if", sums_json(now));
  json::Value tasks = json::Value::array();
  for (const AnsweredTask& one : tasks_of(all, answer)) {
    const TaskPair& pair = one.pair;
    const whatif::TaskId& id = pair.was != nullptr ? pair.was->id : pair.now->id;
    json::Value task = json::Value::object();
    task.set("task", id.name);
    task.set("nth", id.nth + 1);
    if (one.from != nullptr) task.set("from", one.from->recording.node);
    task.set("was", end_json(pair.was));
    task.set("what_if", end_json(pair.now));
    task.set("forecast", was_forecast(answer, pair));
    if (was_forecast(answer, pair) && answer.low && answer.high) {
      task.set("low", end_json(answer.low->tally.find(id)));
      task.set("high", end_json(answer.high->tally.find(id)));
    }
    tasks.add(std::move(task));
  }
  out.set("tasks", std::move(tasks));
  json::Value refused = json::Value::array();
  for (const std::string& text : answer.median.refused) refused.add(text);
  out.set("refused", std::move(refused));
  return out;
}

}  // namespace

const whatif::Tally& Answered::was(const BoardAnswer& answer) const {
  static const whatif::Tally kNothing;
  return answer.recorded ? boards[*answer.recorded].recording.was : kNothing;
}

std::string together_text(const RecordedBoards& all) {
  if (all.carrier) {
    std::string out = "one fleet of " + std::to_string(all.boards.size()) +
                      " boards: their ledgers run again, with " +
                      std::to_string(all.carrier->messages()) + " messages between them";
    if (all.carrier->lost() > 0) {
      out += ", of which " +
             part(static_cast<double>(all.carrier->lost()) /
                  static_cast<double>(all.carrier->messages())) +
             " were lost";
    }
    return out;
  }
  if (all.boards.size() < 2) return "";
  return "each board runs again by itself, with what its fleet left it then" +
         (all.apart.empty() ? std::string() : ": " + all.apart);
}

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

std::vector<std::vector<std::string>> answer_rows(const Answered& all) {
  std::vector<std::vector<std::string>> rows;
  for (const BoardAnswer& answer : all.answers) {
    for (const AnsweredTask& one : tasks_of(all, answer)) {
      const TaskPair& pair = one.pair;
      std::vector<std::string> row;
      if (all.answers.size() > 1) {
        row.push_back(one.from == nullptr ? answer.node
                                          : one.from->recording.node + " > " + answer.node);
      }
      row.push_back(name_of(pair.was != nullptr ? pair.was->id : pair.now->id));
      for (std::string cell : {end_of(pair.was), margin_of(pair.was), joules(pair.was),
                               answer.left_out ? std::string("left out") : ends_of(answer, pair),
                               margin_of(pair.now), joules(pair.now)}) {
        row.push_back(std::move(cell));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string answer_text(const Answered& all) {
  std::vector<Column> columns;
  if (all.answers.size() > 1) columns.push_back({"BOARD"});
  for (const char* head : {"TASK", "AS IT WAS"}) columns.push_back({head});
  columns.push_back({"MARGIN", true});
  columns.push_back({"ENERGY", true});
  columns.push_back({"WHAT IF"});
  columns.push_back({"MARGIN", true});
  columns.push_back({"ENERGY", true});
  Table table(std::move(columns));
  for (std::vector<std::string>& row : answer_rows(all)) table.add(std::move(row));
  std::string out = table.text();
  Sums was;
  Sums now;
  std::uint64_t fewest = 0;
  std::uint64_t most = 0;
  std::size_t beyond = 0;
  for (const BoardAnswer& answer : all.answers) {
    was.add(all.was(answer));
    now.add(answer.median.tally);
    const auto [low, high] = successes(answer);
    fewest += low;
    most += high;
    beyond += answer.median.beyond.size();
  }
  out += "as it was: " + sums_text(was) + "\nwhat if:   " + sums_text(now) + "\n";
  if (beyond > 0) {
    out += "~ " + std::to_string(beyond) + (beyond == 1 ? " task gets" : " tasks get") +
           " further than then, with losses by the median of the last forecast; with the ends of "
           "its band " +
           (fewest == most ? std::to_string(most)
                           : std::to_string(fewest) + " to " + std::to_string(most)) +
           " tasks succeed\n";
  }
  for (const BoardAnswer& answer : all.answers) {
    for (const std::string& text : answer.median.refused) {
      out += "refused on " + answer.node + ": " + text + "\n";
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

json::Value answer_json(const Answered& all, std::span<const std::string> changes) {
  json::Value out = json::Value::object();
  out.set("s", "laird.what-if/1.0");
  json::Value words = json::Value::array();
  for (const std::string& word : changes) words.add(word);
  out.set("changes", std::move(words));
  out.set("as_fleet", all.as_fleet);
  json::Value list = json::Value::array();
  for (const BoardAnswer& answer : all.answers) list.add(board_json(all, answer));
  out.set("boards", std::move(list));
  return out;
}

json::Value policies_json(std::span<const RecordedBoard> boards, bool as_fleet,
                          std::span<const PolicyRow> rows) {
  json::Value out = json::Value::object();
  out.set("s", "laird.what-if/1.0");
  out.set("as_fleet", as_fleet);
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
