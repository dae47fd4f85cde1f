// status: what a fleet, or this board, does now.
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

int local_status(const Where& where, const Reach& reach) {
  const auto status = ask(where.socket, local_request("status"), where.timeout);
  if (!status) return complain(status.error());
  const auto power = ask(where.socket, local_request("power"), where.timeout);
  if (!power) return complain(power.error());
  const auto tasks = local_tasks(where);
  if (!tasks) return complain(tasks.error());
  if (reach.json()) {
    Value out = *status;
    Value all = Value::array();
    for (const TaskView& task : *tasks) all.add(task_json(task));
    const Value* details = power->find("power");
    out.set("power", details == nullptr ? Value() : *details).set("tasks", std::move(all));
    print_json(out);
    return 0;
  }
  const auto text = [](const Value& from, const char* path) {
    const Value* at = at_path(from, path);
    return at != nullptr && at->is(Kind::kString) ? harmless(at->as_string()) : std::string("-");
  };
  const Value* blocked = status->find("journal_blocked", Kind::kBool);
  print("%s, policy %s, %s\n", text(*status, "node").c_str(), text(*status, "policy").c_str(),
        text(*power, "power/text").c_str());
  if (blocked != nullptr && blocked->as_bool()) {
    print("%s\n", painted("the journal cannot be written: is the disk full?", Colour::kRed,
                          colours_on(stdout))
                      .c_str());
  }
  print_text(tasks_table(*tasks, false, reach.wide()));
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
  for (const TaskView& task : view.tasks_of(reach.node)) {
    if (is_live(task)) ++running;
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
    print_json(Value::object()
                   .set("fleet", where.fleet.fleet)
                   .set("verdict", verdict.text)
                   .set("live_tasks", running)
                   .set("at_risk", std::move(risky))
                   .set("nodes", std::move(all)));
    return 0;
  }
  print("fleet %s: %s\n", where.fleet.fleet.c_str(), verdict.text.c_str());
  print_text(boards.text());
  print("%zu live task%s", running, running == 1 ? "" : "s");
  if (at_risk.empty()) {
    print(", none at risk\n");
  } else {
    print("; more likely missed than met:\n%s", at_risk.text().c_str());
  }
  return 0;
}

int status(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  return where->local ? local_status(*where, reach) : fleet_status(*where, reach);
}

}  // namespace

void add_status(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  cli::Command* command =
      app.add_subcommand("status",
                         "What a fleet, or this board, does now, and what is at risk.\n"
                         "Example: lairctl status");
  add_output(command, *reach, true);
  command->add_option("--node", reach->node, "Of this board only");
  add_access(command, *reach);
  command->callback([reach, &code] { code = status(*reach); });
}

}  // namespace laird::control
