// status, get, describe: what reads and changes nothing. Events: events_command.cpp.
#include <csignal>
#include <cstdio>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

constexpr DurationNs kWatchEvery = 500 * kMillisecond;

Value request(const char* op) { return Value::object().set("op", Value::string(op)); }

Result<std::vector<TaskView>> local_tasks(const Where& where) {
  auto answer = ask(where.socket, request("tasks"), where.timeout);
  if (!answer) return tl::make_unexpected(answer.error());
  const Value* tasks = answer->find("tasks", Kind::kArray);
  if (tasks == nullptr) return fail(Code::kCorrupt, "the agent's answer has no tasks");
  std::vector<TaskView> out;
  for (const Value& task : tasks->items()) out.push_back({"", task});
  return out;
}

std::string tasks_table(const std::vector<TaskView>& tasks, bool with_board, bool wide) {
  Table table(task_columns(with_board, wide));
  for (const TaskView& task : tasks) table.add(task_row(task, with_board, wide));
  return table.text();
}

std::vector<TaskView> fleet_tasks(const FleetView& view, const std::string& node) {
  std::vector<TaskView> out;
  for (const auto& [key, task] : view.tasks()) {
    if (node.empty() || key.first == node) out.push_back(task);
  }
  return out;
}

// Rows that change, as they change: the whole list first, then each row that differs. What was
// there and is not any more comes once more with the state "gone".
class Watcher {
 public:
  explicit Watcher(std::vector<Column> columns, bool json)
      : columns_(std::move(columns)), json_(json) {}

  // `rows`: key to (cells, object).
  using Rows = std::map<std::string, std::pair<std::vector<std::string>, Value>>;
  void show(const Rows& rows, std::size_t state_column) {
    Table table(columns_);
    table.set_widths(widths_);
    std::string lines;
    for (const auto& [key, row] : rows) {
      const std::string text = json_ ? json::to_text(row.second) : joined(row.first);
      if (const auto last = last_.find(key); last != last_.end() && last->second.first == text) {
        continue;
      }
      last_[key] = {text, row.first};
      table.add(row.first);
      lines += text + "\n";
    }
    for (auto known = last_.begin(); known != last_.end();) {
      if (rows.count(known->first) != 0) {
        ++known;
        continue;
      }
      std::vector<std::string> cells = known->second.second;
      if (state_column < cells.size()) cells[state_column] = "gone";
      table.add(cells);
      lines += json::to_text(Value::object()
                                 .set("key", Value::string(known->first))
                                 .set("state", Value::string("gone"))) +
               "\n";
      known = last_.erase(known);
    }
    if (json_) {
      std::fputs(lines.c_str(), stdout);
    } else if (!table.empty() || !told_) {
      widths_ = table.widths();
      std::fputs(table.text(!told_).c_str(), stdout);
    }
    told_ = true;
    std::fflush(stdout);
  }

 private:
  static std::string joined(const std::vector<std::string>& cells) {
    std::string out;
    for (const std::string& cell : cells) out += cell + '\t';
    return out;
  }

  std::vector<Column> columns_;
  bool json_;
  bool told_ = false;
  std::vector<std::size_t> widths_;
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> last_;
};

// Goes on until the reader of the output goes away or a signal ends the program.
[[noreturn]] void watch(FleetClient& client, const std::function<void()>& show) {
  for (;;) {
    show();
    if (std::ferror(stdout) != 0) std::exit(0);
    const SteadyTime next = after(kWatchEvery);
    client.wait(next, [] { return false; });
  }
}

int get_nodes(const Reach& reach) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  FleetView& view = (*client)->view();
  if (!reach.node.empty()) {
    if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
  }
  const auto wanted = [&](const std::string& id) { return reach.node.empty() || id == reach.node; };
  if (reach.watch) {
    auto columns = board_columns(reach.wide());
    Watcher watcher(columns, reach.json());
    watch(**client, [&] {
      Watcher::Rows rows;
      for (const auto& [id, board] : view.boards()) {
        if (!wanted(id)) continue;
        auto cells = board_row(id, board, reach.wide(), unix_ms_now());
        cells[9] = "-";  // an age changes by itself
        Value object = board_json(id, board, unix_ms_now()).set("report_age_s", Value());
        rows[id] = {std::move(cells), std::move(object)};
      }
      watcher.show(rows, 1);
    });
  }
  Value all = Value::array();
  Table table(board_columns(reach.wide()));
  for (const auto& [id, board] : view.boards()) {
    if (!wanted(id)) continue;
    all.add(board_json(id, board, unix_ms_now()));
    table.add(board_row(id, board, reach.wide(), unix_ms_now()));
  }
  std::fputs(reach.json() ? (json::to_text(all) + "\n").c_str() : table.text().c_str(), stdout);
  if (view.boards().empty()) say("no board has ever spoken to this broker");
  return 0;
}

int get_tasks(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local && reach.watch) {
    return complain({Code::kInvalid, "-w needs the fleet: a board's socket answers once"});
  }
  std::vector<TaskView> tasks;
  if (where->local) {
    auto found = local_tasks(*where);
    if (!found) return complain(found.error());
    tasks = std::move(*found);
  } else {
    const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
    if (!client) return complain(client.error());
    FleetView& view = (*client)->view();
    if (!reach.node.empty()) {
      if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
    }
    if (reach.watch) {
      Watcher watcher(task_columns(true, reach.wide()), reach.json());
      watch(**client, [&] {
        Watcher::Rows rows;
        for (const TaskView& task : fleet_tasks(view, reach.node)) {
          rows[task.board + "/" + task.text("name")] = {task_row(task, true, reach.wide()),
                                                        task_json(task)};
        }
        watcher.show(rows, 3);
      });
    }
    tasks = fleet_tasks(view, reach.node);
  }
  if (reach.json()) {
    Value all = Value::array();
    for (const TaskView& task : tasks) all.add(task_json(task));
    std::printf("%s\n", json::to_text(all).c_str());
    return 0;
  }
  std::fputs(tasks_table(tasks, !where->local, reach.wide()).c_str(), stdout);
  return 0;
}

int get_power(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (!where->local) {
    say("`get power` asks this machine's agent; for the fleet see `lairctl fleet status`");
  }
  return show_local_power(*where, reach.json());
}

int local_status(const Where& where, const Reach& reach) {
  const auto status = ask(where.socket, request("status"), where.timeout);
  if (!status) return complain(status.error());
  const auto power = ask(where.socket, request("power"), where.timeout);
  if (!power) return complain(power.error());
  const auto tasks = local_tasks(where);
  if (!tasks) return complain(tasks.error());
  if (reach.json()) {
    Value out = *status;
    Value all = Value::array();
    for (const TaskView& task : *tasks) all.add(task_json(task));
    const Value* details = power->find("power");
    out.set("power", details == nullptr ? Value() : *details).set("tasks", std::move(all));
    std::printf("%s\n", json::to_text(out).c_str());
    return 0;
  }
  const auto text = [](const Value& from, const char* path) {
    const Value* at = at_path(from, path);
    return at != nullptr && at->is(Kind::kString) ? at->as_string() : std::string("-");
  };
  const Value* blocked = status->find("journal_blocked", Kind::kBool);
  std::printf("%s, policy %s, %s\n", text(*status, "node").c_str(), text(*status, "policy").c_str(),
              text(*power, "power/text").c_str());
  if (blocked != nullptr && blocked->as_bool()) {
    std::printf("%s\n", painted("the journal cannot be written: is the disk full?", Colour::kRed,
                                colours_on(stdout))
                            .c_str());
  }
  std::fputs(tasks_table(*tasks, false, reach.wide()).c_str(), stdout);
  return 0;
}

int fleet_status(const Where& where, const Reach& reach) {
  const auto client = FleetClient::open(where.fleet, Listen::kStates, where.timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (!reach.node.empty()) {
    if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
  }
  const std::int64_t now = unix_ms_now();
  const Verdict verdict = verdict_of(view);
  std::size_t running = 0;
  Table at_risk(task_columns(true, reach.wide()));
  Value risky = Value::array();
  for (const TaskView& task : fleet_tasks(view, reach.node)) {
    if (!task.is_ended()) ++running;
    if (!is_at_risk(task)) continue;
    at_risk.add(task_row(task, true, reach.wide()));
    risky.add(task_json(task));
  }
  Table boards(board_columns(reach.wide()));
  Value all = Value::array();
  for (const auto& [id, board] : view.boards()) {
    if (!reach.node.empty() && id != reach.node) continue;
    boards.add(board_row(id, board, reach.wide(), now));
    all.add(board_json(id, board, now));
  }
  if (reach.json()) {
    std::printf("%s\n", json::to_text(Value::object()
                                          .set("fleet", Value::string(where.fleet.fleet))
                                          .set("verdict", Value::string(verdict.text))
                                          .set("live_tasks",
                                               Value::integer(static_cast<std::int64_t>(running)))
                                          .set("at_risk", std::move(risky))
                                          .set("nodes", std::move(all)))
                            .c_str());
    return 0;
  }
  std::printf("fleet %s: %s\n", where.fleet.fleet.c_str(), verdict.text.c_str());
  std::fputs(boards.text().c_str(), stdout);
  std::printf("%zu live task%s", running, running == 1 ? "" : "s");
  if (at_risk.empty()) {
    std::printf(", none at risk\n");
  } else {
    std::printf("; more likely missed than met:\n%s", at_risk.text().c_str());
  }
  return 0;
}

int status(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  return where->local ? local_status(*where, reach) : fleet_status(*where, reach);
}

int describe_node(const Reach& reach, const std::string& name) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (const Status ok = check_board(view, name); !ok) return complain(ok.error());
  const BoardView& board = view.boards().at(name);
  const auto tasks = fleet_tasks(view, name);
  if (reach.json()) {
    Value all = Value::array();
    for (const TaskView& task : tasks) all.add(task_json(task));
    const Value out = board_json(name, board, unix_ms_now()).set("tasks", std::move(all));
    std::printf("%s\n", json::to_pretty_text(out).c_str());
    return 0;
  }
  std::fputs(describe_board(name, board, unix_ms_now()).c_str(), stdout);
  if (!tasks.empty()) std::printf("\n%s", tasks_table(tasks, false, false).c_str());
  return 0;
}

int describe_one_task(const Reach& reach, const std::string& name) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  TaskView found;
  std::string why;
  const Value question = request("explain").set("task", Value::string(name));
  if (where->local) {
    auto tasks = local_tasks(*where);
    if (!tasks) return complain(tasks.error());
    for (const TaskView& task : *tasks) {
      if (task.text("name") == name) found = task;
    }
    if (found.task.is(Kind::kNull)) return complain({Code::kNotFound, "no task '" + name + "'"});
    const auto answer = ask(where->socket, question, where->timeout);
    if (answer && answer->find("text", Kind::kString) != nullptr) {
      why = answer->find("text")->as_string();
    }
  } else {
    const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
    if (!client) return complain(client.error());
    const FleetView& view = (*client)->view();
    const auto board =
        reach.node.empty() ? board_of_task(view, name) : Result<std::string>(reach.node);
    if (!board) return complain(board.error());
    const auto row = view.tasks().find({*board, name});
    if (row == view.tasks().end()) {
      return complain({Code::kNotFound, *board + " has no task '" + name + "'"});
    }
    found = row->second;
    if (view.boards().count(*board) != 0 && view.boards().at(*board).is_live()) {
      const Value body = Value::object().set("task", Value::string(name));
      const auto reply = (*client)->ask(*board, "explain", body, where->timeout);
      if (reply && exit_code_of(*reply) == 0) why = reply->text;
    } else {
      say(*board + " is not live: this is its last word");
    }
  }
  if (reach.json()) {
    std::printf("%s\n",
                json::to_pretty_text(task_json(found).set("why", Value::string(why))).c_str());
    return 0;
  }
  std::fputs(describe_task(found).c_str(), stdout);
  if (!why.empty()) std::printf("why           %s\n", why.c_str());
  return 0;
}

}  // namespace

void add_views(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto name = std::make_shared<std::string>();
  const auto common = [&](cli::Command* command, bool wide, bool watch) {
    add_output(command, *reach, wide);
    if (watch) {
      command->add_flag("-w,--watch", reach->watch, "Go on, showing what changes");
    }
    command->add_option("--node", reach->node, "Of this board only");
    add_access(command, *reach);
    return command;
  };

  cli::Command* status_command =
      common(app.add_subcommand("status",
                                "What a fleet, or this board, does now, and what is at risk.\n"
                                "Example: lairctl status"),
             true, false);
  status_command->callback([reach, &code] { code = status(*reach); });

  cli::Command* get = app.add_subcommand("get",
                                         "List boards, tasks, events.\n"
                                         "Example: lairctl get tasks -o json");
  get->require_subcommand();
  common(get->add_subcommand("nodes", "The boards: state, share, power, tasks, plan revision"),
         true, true)
      ->callback([reach, &code] { code = get_nodes(*reach); });
  common(get->add_subcommand("tasks", "The tasks of the fleet, or of this board"), true, true)
      ->callback([reach, &code] { code = get_tasks(*reach); });
  add_events(*get, app, code);
  cli::Command* power = get->add_subcommand("power", "This board's power, cap, and what holds it");
  add_output(power, *reach, false);
  add_access(power, *reach);
  power->callback([reach, &code] { code = get_power(*reach); });

  cli::Command* describe = app.add_subcommand("describe",
                                              "Everything about one board or task.\n"
                                              "Example: lairctl describe task night-run");
  describe->require_subcommand();
  cli::Command* node = describe->add_subcommand("node", "A board: shares, power, tasks, its agent");
  node->add_option("node", *name, "The board's name")->required();
  add_output(node, *reach, false);
  add_access(node, *reach);
  node->callback([reach, name, &code] { code = describe_node(*reach, *name); });
  cli::Command* task = describe->add_subcommand("task", "A task: curve, forecast, why this share");
  task->add_option("task", *name, "The task's name")->required();
  common(task, false, false)->callback([reach, name, &code] {
    code = describe_one_task(*reach, *name);
  });
}

}  // namespace laird::control
