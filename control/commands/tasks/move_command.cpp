// move: a task that may move goes to another board.
#include <memory>

#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/plan/move_task.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

int move(const Reach& reach, const std::string& task, const std::string& to) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  const auto from =
      reach.node.empty() ? board_of_task(view, task) : Result<std::string>(reach.node);
  if (!from) return complain(from.error());
  for (const std::string& board : {*from, to}) {
    if (const Status ok = check_board(view, board); !ok) return complain(ok.error());
  }
  return move_task(**client, {task, *from, to}, where->timeout);
}

}  // namespace

void add_move(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto task = std::make_shared<std::string>();
  const auto to = std::make_shared<std::string>();
  cli::Command* command = app.add_subcommand(
      "move",
      "Move a task to another board. It has to be one that may move: submitted with --any, or "
      "with \"movable\": true.\n"
      "Its trainer writes a checkpoint and leaves; a checkpoint of up to 32 KB goes with the task, "
      "with a larger one it begins anew.\n"
      "Example: lairctl move night-run n-3");
  command->add_option("task", *task, "The task's name")->required();
  command->add_option("board", *to, "Where it is to go")->required();
  command->add_option("--node", reach->node,
                      "The board that has it (default: the one whose topics name it)");
  add_access(command, *reach);
  command->callback([reach, task, to, &code] { code = move(*reach, *task, *to); });
}

}  // namespace laird::control
