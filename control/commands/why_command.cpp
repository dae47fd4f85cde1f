// why: what a task's whole time went to, and what made it meet or miss its deadline.
#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

int show_finding(const Value& finding, bool json) {
  if (json) {
    print_json(finding, true);
    return 0;
  }
  const Value* text = finding.find("text", Kind::kString);
  if (text == nullptr) return complain({Code::kInvalid, "the board's answer has no text"});
  print_text(text->as_string() + "\n");
  return 0;
}

int ask_locally(const Where& where, const std::string& task, bool json) {
  auto answer = ask(where.socket, local_request("why").set("task", task), where.timeout);
  if (!answer) return complain(answer.error());
  Value finding = Value::object();
  for (const Value::Member& member : answer->members()) {
    if (member.first != "ok") finding.set(member.first, member.second);
  }
  return show_finding(finding, json);
}

int why(const Reach& reach, const std::string& task) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) return ask_locally(*where, task, reach.json());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  const auto board =
      reach.node.empty() ? board_of_task(view, task) : Result<std::string>(reach.node);
  if (!board) return complain(board.error());
  if (const Status ok = check_board(view, *board); !ok) return complain(ok.error());
  const auto reply =
      (*client)->ask(*board, "why", Value::object().set("task", task), where->timeout);
  if (!reply) return complain(reply.error());
  if (exit_code_of(*reply) != 0) return show(*reply);
  return show_finding(reply->data, reach.json());
}

}  // namespace

void add_why(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto task = std::make_shared<std::string>();
  cli::Command* command = app.add_subcommand("why",
                                             "Why a task met or missed its deadline.\n"
                                             "The cause, what its whole time went to, what it "
                                             "still needed, and what would have saved it.\n"
                                             "Of a journal: lairctl replay JOURNAL --why TASK.\n"
                                             "Example: lairctl why night-run");
  command->add_option("task", *task, "The task's name")->required();
  command->add_option("--node", reach->node,
                      "The board that has it (default: the one whose topics name it)");
  add_output(command, *reach, false);
  add_access(command, *reach);
  command->callback([reach, task, &code] { code = why(*reach, *task); });
}

}  // namespace laird::control
