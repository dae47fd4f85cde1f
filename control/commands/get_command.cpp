// get nodes, get tasks, get power: lists. The events are in events_command.cpp.
#include <cstdio>
#include <cstdlib>

#include "control/commands/commands.hpp"
#include "control/commands/tasks/ended_tasks.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/screen/row_watcher.hpp"
#include "control/screen/rows.hpp"

namespace laird::control {
namespace {

using json::Value;

constexpr DurationNs kWatchEvery = 500 * kMillisecond;

// Runs until the reader of the output goes away or a signal ends the program.
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
    RowWatcher watcher(columns, reach.json());
    watch(**client, [&] {
      RowWatcher::Rows rows;
      for (const auto& [id, board] : view.boards()) {
        if (!wanted(id)) continue;
        auto cells = board_row(id, board, reach.wide(), unix_ms_now());
        cells[kAgeColumn] = "-";  // an age always changes, and would show every row again
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
  if (reach.json()) {
    print_json(all);
  } else {
    print_text(table.text());
  }
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
      RowWatcher watcher(task_columns(true, reach.wide()), reach.json());
      watch(**client, [&] {
        RowWatcher::Rows rows;
        for (const TaskView& task : view.tasks_of(reach.node)) {
          rows[task.board + "/" + task.text("name")] = {task_row(task, true, reach.wide()),
                                                        task_json(task)};
        }
        watcher.show(rows, 3);
      });
    }
    tasks = view.tasks_of(reach.node);
  }
  if (reach.json()) {
    Value all = Value::array();
    for (const TaskView& task : tasks) all.add(task_json(task));
    print_json(all);
    return 0;
  }
  print_text(tasks_table(tasks, !where->local, reach.wide()));
  print_text(sweeps_text(tasks));
  return 0;
}

int show_tasks(const Reach& reach, const EndedOptions& ended) {
  if (ended.ended) return show_ended(reach, ended);
  if (!ended.since.empty() || reach.output == "csv") {
    return complain({Code::kInvalid, "--since and -o csv are for --ended"});
  }
  return get_tasks(reach);
}

int get_power(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (!where->local) {
    say("`get power` asks this machine's agent; for the fleet see `lairctl fleet status`");
  }
  return show_local_power(*where, reach.json());
}

}  // namespace

void add_get(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  cli::Command* get = app.add_subcommand("get",
                                         "List boards, tasks, events.\n"
                                         "Example: lairctl get tasks -o json");
  get->require_subcommand();
  const auto list = [&](const char* what, const char* help) {
    cli::Command* command = get->add_subcommand(what, help);
    add_output(command, *reach, true, std::string_view(what) == "tasks");
    command->add_flag("-w,--watch", reach->watch, "Go on, showing what changes");
    command->add_option("--node", reach->node, "Of this board only");
    add_access(command, *reach);
    return command;
  };
  list("nodes", "The boards: state, share, power, tasks, revision of the budget")
      ->callback([reach, &code] { code = get_nodes(*reach); });
  const auto ended = std::make_shared<EndedOptions>();
  cli::Command* tasks = list("tasks",
                             "The tasks of the fleet, or of this board.\n"
                             "Example: lairctl get tasks --ended --since 7d -o csv");
  tasks->add_flag("--ended", ended->ended,
                  "Those that are over, also long ago: boards keep the last 256");
  tasks->add_option("--since", ended->since, "With --ended: those that ended in the last 7d");
  tasks->callback([reach, ended, &code] { code = show_tasks(*reach, *ended); });
  add_events(*get, app, code);
  cli::Command* power = get->add_subcommand("power", "This board's power, cap, and what holds it");
  add_output(power, *reach, false);
  add_access(power, *reach);
  power->callback([reach, &code] { code = get_power(*reach); });
}

}  // namespace laird::control
