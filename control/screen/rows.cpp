#include "control/screen/rows.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "mqtt/codec/messages.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

std::string text_at(const Value& value, std::string_view path) {
  const Value* at = at_path(value, path);
  return at != nullptr && at->is(Kind::kString) ? harmless(at->as_string()) : "-";
}

std::string list_at(const Value& value, std::string_view path) {
  const Value* at = at_path(value, path);
  std::string out;
  if (at == nullptr) return "-";
  for (const Value& item : at->items()) {
    if (item.is(Kind::kString)) out += (out.empty() ? "" : ",") + harmless(item.as_string());
  }
  return out.empty() ? "-" : out;
}

std::optional<double> age_s(const BoardView& board, std::int64_t now_ms) {
  const Value* ts = board.report.find("ts", Kind::kString);
  const auto at = ts == nullptr ? std::nullopt : mqtt::parse_time_ms(ts->as_string());
  if (!at) return std::nullopt;
  return std::max(0.0, static_cast<double>(now_ms - *at) / 1e3);
}

std::optional<double> scaled(std::optional<double> value, double by) {
  if (value) *value *= by;
  return value;
}

std::string whole(const std::optional<double>& value) { return fixed(value, 0); }

std::string share_word(const BoardView& board) {
  if (!board.is_live() || board.report.is(Kind::kNull)) return "-";
  if (!board.number("shares/power/budget_w")) return "unlimited";
  return board.flag("fenced") || board.state == "drained" ? "floor" : "shared";
}

}  // namespace

std::string throttled_words(const TaskView& task) {
  static constexpr std::pair<std::string_view, std::string_view> kWhose[] = {
      {"config", "the board's own cap"},
      {"operator", "the operator's cap"},
      {"fleet", "the board's share of the fleet's power,"},
      {"temperature", "the board's temperature, at"},
      {"fenced", "the board's floor, as it is cut off from its fleet,"},
      {"fleet-time", "the board's share of the fleet's lanes,"},
      {"none", "a cap that was just taken back,"}};
  const std::string by = text_at(task.task, "throttled/by");
  for (const auto& [name, words] : kWhose) {
    if (name != by) continue;
    std::string out = "by " + std::string(words);
    if (const auto watts = task.number("throttled/limit_w")) {
      out += (words.ends_with(',') || words.ends_with("at") ? " " : " of ") + fixed(watts, 1, " W");
    } else if (const auto part = task.number("throttled/limit_ratio")) {
      out += " " + percent(part) + " of its lane";
    }
    return out;
  }
  return {};
}

std::vector<Column> board_columns(bool wide) {
  std::vector<Column> out = {{"NODE"},          {"STATE"},         {"SHARE"},
                             {"POWER_W", true}, {"CAP_W", true},   {"FLOOR_W", true},
                             {"ASKS_W", true},  {"RUNNING", true}, {"THROTTLED", true},
                             {"QUEUED", true},  {"REV", true},     {"AGE", true}};
  if (wide) {
    for (const char* head : {"CPU_CORES", "GPUS", "ENERGY_KJ", "RSS_MB", "CPU_S", "DROPPED"}) {
      out.push_back({head, true});
    }
    out.push_back({"MODEL"});
    out.push_back({"VERSION"});
  }
  return out;
}

std::vector<std::string> board_row(const std::string& id, const BoardView& board, bool wide,
                                   std::int64_t now_ms) {
  std::vector<std::string> out = {
      id,
      board.state,
      share_word(board),
      fixed(board.is_live() ? board.number("power_w") : std::nullopt, 1),
      fixed(board.number("shares/power/enforced_w"), 1),
      fixed(board.number("shares/power/floor_w"), 1),
      fixed(board.is_live() ? board.number("shares/power/demand_w") : std::nullopt, 1),
      whole(board.number("tasks/running")),
      whole(board.number("tasks/throttled")),
      whole(board.number("tasks/queued")),
      whole(board.number("config_rev")),
      span_text(age_s(board, now_ms))};
  if (wide) {
    out.push_back(fixed(scaled(board.number("shares/cpu/enforced_milli"), 1e-3), 2));
    out.push_back(fixed(scaled(board.number("shares/gpu/enforced_ppm"), 1e-6), 2));
    out.push_back(fixed(scaled(board.number("energy_j"), 1e-3), 1));
    out.push_back(fixed(scaled(board.number("agent/rss_kb"), 1.0 / 1024), 1));
    out.push_back(fixed(board.number("agent/cpu_s"), 1));
    out.push_back(whole(board.number("link/dropped")));
    out.push_back(text_at(board.info, "model"));
    out.push_back(text_at(board.info, "version"));
  }
  return out;
}

Value board_json(const std::string& id, const BoardView& board, std::int64_t now_ms) {
  Value out = Value::object()
                  .set("node", id)
                  .set("state", board.state)
                  .set("live", board.is_live())
                  .set("since", board.since)
                  .set("epoch", board.epoch);
  const auto age = age_s(board, now_ms);
  out.set("report_age_s", age ? Value::number(*age) : Value());
  out.set("info", board.info);
  out.set("report", board.report);
  return out;
}

std::vector<Column> task_columns(bool with_board, bool wide) {
  std::vector<Column> out = {{"NAME"}};
  if (with_board) out.push_back({"NODE"});
  for (const Column& column : std::vector<Column>{{"LANE"},
                                                  {"STATE"},
                                                  {"SAMPLES", true},
                                                  {"LOSS", true},
                                                  {"TARGET", true},
                                                  {"FORECAST", true},
                                                  {"LIKELY", true},
                                                  {"DEADLINE", true},
                                                  {"SHARE", true}}) {
    out.push_back(column);
  }
  if (wide) {
    out.push_back({"BOARDS", true});
    out.push_back({"ROUND", true});
    out.push_back({"HELD_OUT", true});
    out.push_back({"ENERGY_J", true});
    out.push_back({"BUSY_S", true});
    out.push_back({"SWITCHES", true});
    out.push_back({"WHY"});
  }
  return out;
}

namespace {

// Of a co-training task: the boards that take part, also once it has ended.
std::optional<double> members_of(const TaskView& task) {
  const json::Value* members = at_path(task.task, "fleet/members");
  if (members == nullptr || !members->is(Kind::kArray) || members->items().empty()) return {};
  return static_cast<double>(members->items().size());
}

std::string round_words(const TaskView& task) {
  const auto round = task.number("fleet/round");
  if (!(round.value_or(0.0) > 0.0)) return "-";
  const auto planned = task.number("fleet/rounds");
  return whole(round) + (planned.value_or(0.0) > 0.0 ? "/" + whole(planned) : "");
}

// What part of the rows that this board holds out the group's model gets right.
std::optional<double> own_accuracy(const TaskView& task) {
  const json::Value* members = at_path(task.task, "fleet/members");
  if (members == nullptr || !members->is(Kind::kArray)) return {};
  for (const json::Value& member : members->items()) {
    const json::Value* node = member.find("node", Kind::kString);
    const json::Value* accuracy = member.find("accuracy");
    if (node == nullptr || node->as_string() != task.board) continue;
    if (accuracy != nullptr && accuracy->is_number()) return accuracy->as_double();
  }
  return {};
}

}  // namespace

std::vector<std::string> task_row(const TaskView& task, bool with_board, bool wide) {
  const bool ended = task.is_ended();
  std::vector<std::string> out = {harmless(task.text("name"))};
  if (with_board) out.push_back(task.board);
  out.push_back(harmless(task.text("lane")));
  out.push_back(harmless(task.text("state")));
  out.push_back(whole(task.number("samples")));
  out.push_back(short_number(task.number("loss")));
  out.push_back(short_number(task.number("target_loss")));
  out.push_back(short_number(task.number("forecast/loss")));
  out.push_back(percent(task.number("forecast/probability")));
  const auto next_run = task.number("recurs/next_in_s");
  out.push_back(next_run                ? "run in " + span_text(next_run)
                : ended || recurs(task) ? "-"
                                        : span_text(task.number("deadline_in_s")));
  out.push_back(percent(task.number("share")));
  if (wide) {
    const auto at_work = task.number("fleet/boards");
    out.push_back(whole(at_work ? at_work : members_of(task)));
    out.push_back(round_words(task));
    out.push_back(percent(own_accuracy(task)));
    out.push_back(fixed(task.number("energy_j"), 1));
    out.push_back(fixed(task.number("busy_s"), 1));
    out.push_back(whole(task.number("switches")));
    const std::string throttled = throttled_words(task);
    const std::string reason = harmless(task.text("reason"));
    out.push_back(throttled.empty() ? reason : throttled + (reason.empty() ? "" : "; " + reason));
  }
  return out;
}

std::string tasks_table(const std::vector<TaskView>& tasks, bool with_board, bool wide) {
  Table table(task_columns(with_board, wide));
  for (const TaskView& task : tasks) table.add(task_row(task, with_board, wide));
  return table.text();
}

Value task_json(const TaskView& task) {
  Value out = Value::object();
  if (!task.board.empty()) out.set("node", task.board);
  for (const Value::Member& member : task.task.members()) {
    if (member.first != "s") out.set(member.first, member.second);
  }
  return out;
}

std::string event_line(const EventView& event) {
  return text_at(event.event, "ts") + "  " + event.board + "  " + text_at(event.event, "kind") +
         "  " + text_at(event.event, "text");
}

Value event_json(const EventView& event) {
  Value out = Value::object().set("node", event.board);
  for (const Value::Member& member : event.event.members()) {
    if (member.first != "s") out.set(member.first, member.second);
  }
  return out;
}

std::string describe_board(const std::string& id, const BoardView& board, std::int64_t now_ms) {
  std::string out;
  const auto line = [&out](const char* head, const std::string& text) {
    std::string name(head);
    name.resize(14, ' ');
    out += name + text + "\n";
  };
  const auto share = [&board](const char* name, const char* unit, double by, const char* shown) {
    const std::string at = std::string("shares/") + name + "/";
    const auto amount = [&](const char* what) {
      return scaled(board.number(at + what + "_" + unit), by);
    };
    if (!amount("budget")) return std::string("not limited");
    return fixed(amount("enforced"), 2, shown) + ", of it " + fixed(amount("floor"), 2, shown) +
           " floor; it asks for " + fixed(amount("demand"), 2, shown) + "; the fleet has " +
           fixed(amount("budget"), 2, shown);
  };
  line("node", id);
  line("state", board.state + (board.since.empty() ? "" : " since " + board.since));
  line("model", text_at(board.info, "model"));
  line("version", text_at(board.info, "version"));
  line("lanes", list_at(board.info, "lanes"));
  line("trainers", list_at(board.info, "trainers"));
  line("memory", fixed(scaled(number_at(board.info, "memory_bytes"), 1e-9), 2, " GB for tasks"));
  if (board.report.is(Kind::kNull)) {
    line("report", "none yet");
    return out;
  }
  line("report", span_text(age_s(board, now_ms)) + " old, budget revision " +
                     whole(board.number("config_rev")));
  line("power", fixed(board.number("power_w"), 1, " W now") + " (" +
                    text_at(board.info, "power_source") + "), " +
                    fixed(scaled(board.number("energy_j"), 1e-3), 2, " kJ so far"));
  line("power share", share("power", "w", 1.0, " W"));
  line("cpu share", share("cpu", "milli", 1e-3, " cores"));
  line("gpu share", share("gpu", "ppm", 1e-6, " gpus"));
  const std::string fenced =
      board.flag("fenced")
          ? "yes: it has its floor only, until its peers hear it again"
          : "no; without its peers it would be in " + span_text(board.number("fence_in_s"));
  line("fenced", fenced);
  line("tasks", whole(board.number("tasks/running")) + " running, " +
                    whole(board.number("tasks/throttled")) + " of them throttled, " +
                    whole(board.number("tasks/queued")) + " queued, " +
                    whole(board.number("tasks/ended")) + " ended");
  line("agent", fixed(scaled(board.number("agent/rss_kb"), 1.0 / 1024), 1, " MB") + ", " +
                    fixed(board.number("agent/cpu_s"), 1, " s of CPU") + ", " +
                    whole(board.number("link/connects")) + " connects, " +
                    whole(board.number("link/dropped")) + " messages dropped");
  return out;
}

std::string group_words(const TaskView& task) {
  if (!(task.number("fleet/round").value_or(0.0) > 0.0)) return {};
  std::string out = "round " + whole(task.number("fleet/round"));
  const double rounds = task.number("fleet/rounds").value_or(0.0);
  if (rounds > 0.0) out += " of " + whole(rounds);
  std::string names;
  const json::Value* waits = at_path(task.task, "fleet/waits_for");
  if (waits != nullptr && waits->is(Kind::kArray)) {
    for (const json::Value& node : waits->items()) {
      if (node.is(Kind::kString)) names += (names.empty() ? "" : ", ") + harmless(node.as_string());
    }
  }
  if (!names.empty()) out += "; waits for " + names;
  if (task.number("fleet/epsilon")) {
    out += "; this board has told of its rows: epsilon " + fixed(task.number("fleet/epsilon"), 2) +
           " at delta " + short_number(task.number("fleet/delta"));
  }
  if (!task.number("fleet/accuracy")) return out;
  out += "; right on rows held out: " + percent(task.number("fleet/accuracy"));
  std::string each;
  const json::Value* members = at_path(task.task, "fleet/members");
  if (members != nullptr && members->is(Kind::kArray)) {
    for (const json::Value& member : members->items()) {
      const json::Value* node = member.find("node", Kind::kString);
      const json::Value* accuracy = member.find("accuracy");
      if (node == nullptr || accuracy == nullptr || !accuracy->is_number()) continue;
      each += (each.empty() ? "" : ", ") + harmless(node->as_string()) + " " +
              percent(accuracy->as_double());
    }
  }
  return each.empty() ? out : out + " (" + each + ")";
}

namespace {

// Of a task that recurs.
void describe_schedule(const TaskView& task,
                       const std::function<void(const char*, const std::string&)>& line) {
  const auto text = [&](const char* key) { return text_at(task.task, key); };
  const Value* warm = at_path(task.task, "recurs/warm_start");
  const bool is_warm = warm != nullptr && warm->is(Kind::kBool) && warm->as_bool();
  line("every", text("recurs/every") +
                    (is_warm ? ", each run begins with the model of the run before" : ""));
  const auto in = task.number("recurs/next_in_s");
  line("next run", in ? text("recurs/next") + ", in " + span_text(in) : "-");
  line("runs", whole(task.number("recurs/runs")) + (task.number("recurs/runs").value_or(0.0) > 0.0
                                                        ? ", the last " + text("recurs/last_run")
                                                        : ""));
  line("missed", whole(task.number("recurs/missed")) +
                     (at_path(task.task, "recurs/last_missed") == nullptr
                          ? ""
                          : ", the last " + text("recurs/last_missed/begin") + ": " +
                                text("recurs/last_missed/why")));
}

}  // namespace

std::string describe_task(const TaskView& task) {
  std::string out;
  const auto line = [&out](const char* head, const std::string& text) {
    std::string name(head);
    name.resize(14, ' ');
    out += name + text + "\n";
  };
  line("task", harmless(task.text("name")));
  if (!task.board.empty()) line("node", task.board);
  line("state",
       harmless(task.text("state")) +
           (at_path(task.task, "throttled") == nullptr ? "" : " " + throttled_words(task)) +
           (task.text("reason").empty() ? "" : ": " + harmless(task.text("reason"))));
  line("lane", harmless(task.text("lane")));
  if (recurs(task)) {
    describe_schedule(task, line);
    return out;
  }
  if (!task.text("run_of").empty()) line("run of", harmless(task.text("run_of")));
  if (!task.text("promotes").empty()) line("promotes", harmless(task.text("promotes")));
  if (!task.text("promotion_task").empty()) {
    line("then", harmless(task.text("promotion_task")) + " promotes its model");
  }
  if (task.number("weight").value_or(1.0) != 1.0) {
    line("weight", short_number(task.number("weight")) + " times an ordinary task");
  }
  if (at_path(task.task, "fleet") != nullptr) {
    const auto boards = task.number("fleet/boards");
    line("co-trained", boards ? "with " + whole(*boards - 1) + " other boards" : "not now");
    if (const std::string group = group_words(task); !group.empty()) line("group", group);
  }
  line("samples", whole(task.number("samples")) +
                      (task.number("planned_samples").value_or(0.0) > 0.0
                           ? " of " + whole(task.number("planned_samples")) + " planned"
                           : ""));
  line("loss",
       short_number(task.number("loss")) + ", target " + short_number(task.number("target_loss")));
  if (task.number("forecast/loss")) {
    line("forecast", short_number(task.number("forecast/loss")) + " at the deadline, between " +
                         short_number(task.number("forecast/low")) + " and " +
                         short_number(task.number("forecast/high")) +
                         "; met by its deadline with " +
                         percent(task.number("forecast/probability")));
  }
  if (task.number("need/seconds/median")) {
    line("needs", span_text(task.number("need/seconds/median")) + " of its lane, between " +
                      span_text(task.number("need/seconds/low")) + " and " +
                      span_text(task.number("need/seconds/high")));
  }
  if (!task.is_ended()) line("deadline", "in " + span_text(task.number("deadline_in_s")));
  line("share", percent(task.number("share")) + " of its lane, " +
                    fixed(task.number("busy_s"), 1, " s busy") + ", " +
                    whole(task.number("switches")) + " switches");
  line("energy", fixed(task.number("energy_j"), 1, " J"));
  if (task.text("state") == "failed") line("output", "lairctl logs " + harmless(task.text("name")));
  return out;
}

bool recurs(const TaskView& task) { return at_path(task.task, "recurs") != nullptr; }

bool is_live(const TaskView& task) { return !task.is_ended() && !recurs(task); }

bool is_at_risk(const TaskView& task) {
  if (!is_live(task)) return false;
  if (task.number("deadline_in_s").value_or(1.0) <= 0.0) return true;
  return task.number("forecast/probability").value_or(1.0) < 0.5;
}

std::string sweeps_text(const std::vector<TaskView>& tasks) {
  struct Sweep {
    const TaskView* best = nullptr;
    double loss = 0.0;
    int members = 0;
    int over = 0;
  };
  std::map<std::string, Sweep> sweeps;
  for (const TaskView& task : tasks) {
    const std::string name = task.text("sweep");
    if (name.empty()) continue;
    Sweep& sweep = sweeps[name];
    ++sweep.members;
    sweep.over += task.is_ended();
    const std::optional<double> loss = task.number("best_loss");
    if (!loss || (sweep.best != nullptr && *loss >= sweep.loss)) continue;
    sweep.best = &task;
    sweep.loss = *loss;
  }
  std::string out;
  for (const auto& [name, sweep] : sweeps) {
    out += "sweep " + harmless(name) + ": ";
    out += sweep.best == nullptr
               ? "nothing learnt yet"
               : "best is " + harmless(sweep.best->text("name")) + ", loss " +
                     short_number(sweep.loss) + " (" + harmless(sweep.best->text("state")) + ")";
    out += "; " + std::to_string(sweep.members - sweep.over) + " of " +
           std::to_string(sweep.members) + " go on\n";
  }
  return out;
}

Verdict verdict_of(const FleetView& view) {
  const FleetSums sums = sums_of(view);
  Verdict out;
  const std::string live =
      std::to_string(sums.live) + " of " + std::to_string(sums.boards) + " boards live";
  const std::string held = sums.budget_w ? fixed(sums.enforced_w, 1, " W") + " given out of " +
                                               fixed(sums.budget_w, 1, " W")
                                         : "no power budget";
  if (sums.boards == 0) {
    return {Verdict::Level::kWarning, "no board has ever spoken to this broker"};
  }
  if (sums.over_budget()) {
    out.level = Verdict::Level::kBroken;
    out.text =
        "OVER BUDGET: " +
        (sums.unlimited > 0 ? std::to_string(sums.unlimited) + " boards hold no cap" : held) +
        "; " + live;
    return out;
  }
  std::string why;
  if (sums.live < sums.boards) {
    for (const auto& [id, board] : view.boards()) {
      if (!board.is_live()) why += (why.empty() ? "" : ", ") + id + " is " + board.state;
    }
  }
  if (sums.fenced > 0) {
    why += (why.empty() ? "" : ", ") + std::to_string(sums.fenced) + " fenced";
  }
  if (sums.rev_lowest < sums.rev_highest) {
    why += (why.empty() ? "" : ", ") + std::string("some boards still have budget revision ") +
           std::to_string(sums.rev_lowest);
  }
  out.level = why.empty() ? Verdict::Level::kOk : Verdict::Level::kWarning;
  out.text =
      (why.empty() ? "ok: " : "warning: ") + live + ", " + held + (why.empty() ? "" : "; " + why);
  return out;
}

}  // namespace laird::control
