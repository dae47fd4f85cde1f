// cancel, pause, resume, explain, rm, edit: one task, on one board or on all that have it.
#include <cstdio>

#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

Value with(const Value& more, Value body) {
  for (const auto& [key, value] : more.members()) body.set(key, value);
  return body;
}

// Every board that has the task: a co-training task is on many.
int on_task_everywhere(FleetClient& client, const Reach& reach, const std::string& verb,
                       const Value& body, const std::string& task, DurationNs timeout) {
  std::set<std::string> boards;
  for (const auto& [at, shown] : client.view().tasks()) {
    if (at.second == task && shown.is_ended() == (verb == "rm")) boards.insert(at.first);
  }
  if (boards.empty()) return complain({Code::kNotFound, "no board has a task '" + task + "'"});
  if (verb == "cancel" &&
      !confirmed("End task '" + task + "' on " + std::to_string(boards.size()) + " boards?",
                 reach.yes)) {
    say("nothing was done");
    return kFailed;
  }
  const auto replies = client.ask_each(verb, body, boards, timeout);
  if (!replies) return complain(replies.error());
  return show_all(*replies, boards, false);
}

int on_task(const Reach& reach, const std::string& verb, const std::string& task,
            const Value& more = Value::object()) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) {
    if (verb == "cancel" && !confirmed("End task '" + task + "'?", reach.yes)) return kFailed;
    const Value request = with(more, Value::object().set("op", verb).set("task", task));
    return show_text(ask(where->socket, request, where->timeout));
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  if (reach.all)
    return on_task_everywhere(**client, reach, verb, with(more, Value::object().set("task", task)),
                              task, where->timeout);
  const FleetView& view = (*client)->view();
  std::string board = reach.node;
  if (board.empty()) {
    const auto found = board_of_task(view, task);
    if (!found) return complain(found.error());
    board = *found;
  } else if (const Status ok = check_board(view, board); !ok) {
    return complain(ok.error());
  }
  if (verb == "cancel" && !confirmed("End task '" + task + "' on " + board + "?", reach.yes)) {
    say("nothing was done");
    return kFailed;
  }
  const Value body = with(more, Value::object().set("task", task));
  const auto reply = (*client)->ask(board, verb, body, where->timeout);
  if (!reply) return complain(reply.error());
  if (verb == "explain" && exit_code_of(*reply) == 0) {
    print("%s\n", harmless(reply->text).c_str());
    return 0;
  }
  return show(*reply);
}

struct Edits {
  std::string deadline;
  double weight = 0.0;  // 0: as it is
  std::string every;
};

int edit(const Reach& reach, const std::string& task, const Edits& edits) {
  Value body = Value::object();
  if (!edits.deadline.empty()) body.set("deadline", edits.deadline);
  if (edits.weight > 0.0) body.set("weight", edits.weight);
  if (!edits.every.empty()) body.set("every", edits.every);
  if (body.members().empty()) {
    return complain({Code::kInvalid, "nothing to change; give --deadline, --weight or --every"});
  }
  return on_task(reach, "edit", task, body);
}

void add_edit(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto task = std::make_shared<std::string>();
  const auto edits = std::make_shared<Edits>();
  cli::Command* command =
      app.add_subcommand("edit",
                         "Give a task that is not over another deadline or weight.\n"
                         "Example: lairctl edit night-run --deadline +2h --weight 3");
  command->add_option("task", *task, "The task's name")->required();
  command->add_option("--deadline", edits->deadline,
                      "+2h: later by that; 2h: from now; or 2027-01-31T18:00:00Z");
  command->add_option("--weight", edits->weight, "What its success is worth, 0.1 to 100")
      ->check(cli::range(0.1, 100.0));
  command->add_option("--every", edits->every,
                      "Other windows for a task that recurs: \"22:00-06:00 daily\"");
  command->add_option("--node", reach->node,
                      "The board that has it (default: the one whose topics name it)");
  command->add_flag("--all", reach->all,
                    "Every board that has it, as boards have a co-training task");
  add_access(command, *reach);
  command->callback([reach, task, edits, &code] { code = edit(*reach, *task, *edits); });
}

}  // namespace

void add_task_verbs(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto task = std::make_shared<std::string>();
  const auto for_task = [&](const std::string& verb, const char* help) {
    cli::Command* command = app.add_subcommand(verb, help);
    command->add_option("task", *task, "The task's name")->required();
    command->add_option("--node", reach->node,
                        "The board that has it (default: the one whose topics name it)");
    if (verb == "cancel") command->add_flag("-y,--yes", reach->yes, "Do not ask");
    if (verb != "explain") {
      command->add_flag("--all", reach->all,
                        "Every board that has it, as boards have a co-training task");
    }
    add_access(command, *reach);
    command->callback([reach, task, verb, &code] { code = on_task(*reach, verb, *task); });
  };
  for_task("cancel", "End a task now.\nExample: lairctl cancel night-run");
  for_task("pause", "Checkpoint a task and free its memory until it is resumed");
  for_task("resume", "Let a paused task go on");
  for_task(
      "rm",
      "Put a task away that is over, so that its name is free.\nExample: lairctl rm night-run");
  add_edit(app, code);
  for_task("explain", "Why a task has the share it has.\nExample: lairctl explain night-run");
}

}  // namespace laird::control
