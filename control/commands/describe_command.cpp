// describe: everything about one board or one task.
#include <cstdio>

#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

int describe_node(const Reach& reach, const std::string& name) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (const Status ok = check_board(view, name); !ok) return complain(ok.error());
  const BoardView& board = view.boards().at(name);
  const auto tasks = view.tasks_of(name);
  if (reach.json()) {
    Value all = Value::array();
    for (const TaskView& task : tasks) all.add(task_json(task));
    const Value out = board_json(name, board, unix_ms_now()).set("tasks", std::move(all));
    print_json(out, true);
    return 0;
  }
  print_text(describe_board(name, board, unix_ms_now()));
  if (!tasks.empty()) print("\n%s", tasks_table(tasks, false, false).c_str());
  return 0;
}

int describe_one_task(const Reach& reach, const std::string& name) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  TaskView found;
  std::string why;
  const Value question = local_request("explain").set("task", name);
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
      const Value body = Value::object().set("task", name);
      const auto reply = (*client)->ask(*board, "explain", body, where->timeout);
      if (reply && exit_code_of(*reply) == 0) why = reply->text;
    } else {
      say(*board + " is not live: this is its last word");
    }
  }
  if (reach.json()) {
    print_json(task_json(found).set("why", why), true);
    return 0;
  }
  print_text(describe_task(found));
  if (!why.empty()) print("why           %s\n", harmless(why).c_str());
  return 0;
}

}  // namespace

void add_describe(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto name = std::make_shared<std::string>();
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
  add_output(task, *reach, false);
  task->add_option("--node", reach->node, "Of this board only");
  add_access(task, *reach);
  task->callback([reach, name, &code] { code = describe_one_task(*reach, *name); });
}

}  // namespace laird::control
