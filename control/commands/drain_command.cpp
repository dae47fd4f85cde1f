// drain, undrain: boards that take no new tasks, so that they can be switched off.
#include <cstdio>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

struct DrainOptions {
  std::vector<std::string> boards;
  std::string wait;  // how long until they have nothing left; empty: not at all
};

// Tells of each board when it is drained; what a board still has is in its report.
int wait_until_drained(FleetClient& client, std::set<std::string> boards, DurationNs limit) {
  const auto all_drained = [&] {
    for (auto at = boards.begin(); at != boards.end();) {
      const auto seen = client.view().boards().find(*at);
      if (seen == client.view().boards().end() || seen->second.state != "drained") {
        ++at;
        continue;
      }
      say(*at + " is drained: it can be switched off");
      at = boards.erase(at);
    }
    return boards.empty();
  };
  if (client.wait(after(limit), all_drained)) return 0;
  std::string left;
  for (const std::string& id : boards) {
    const BoardView& board = client.view().boards().at(id);
    const double tasks =
        board.number("tasks/running").value_or(0) + board.number("tasks/queued").value_or(0);
    left += (left.empty() ? "" : ", ") + id + " is " + board.state + " with " +
            std::to_string(static_cast<int>(tasks)) + " tasks";
  }
  return complain({Code::kUnavailable, "not drained in time: " + left +
                                           "; wait longer, or `lairctl cancel` what is left"});
}

int drain(const Reach& reach, const std::string& verb, const DrainOptions& options) {
  const std::vector<std::string>& boards = options.boards;
  const auto where = reach.where(!boards.empty());
  if (!where) return complain(where.error());
  DurationNs wait = 0;
  if (!options.wait.empty()) {
    const auto parsed = config::parse_duration(options.wait);
    if (!parsed) return complain({Code::kInvalid, "--wait: " + parsed.error().context});
    wait = *parsed;
    if (where->local) {
      return complain({Code::kInvalid,
                       "--wait watches the fleet: name the board as --all or "
                       "`lairctl drain NODE` do, without --local"});
    }
  }
  if (reach.all && !boards.empty()) {
    return complain({Code::kInvalid, "name boards or say --all, not both"});
  }
  if (where->local) {
    return show_text(ask(where->socket, Value::object().set("op", verb), where->timeout));
  }
  if (!reach.all && boards.empty()) {
    return complain({Code::kInvalid, "which board? name it, or say --all"});
  }
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (reach.all) {
    std::set<std::string> asked;
    for (const auto& [id, board] : view.boards()) asked.insert(id);
    const auto live = live_boards(view);
    if (!confirmed((verb == "drain" ? "Drain all " : "Undrain all ") +
                       std::to_string(asked.size()) + " boards?",
                   reach.yes)) {
      say("nothing was done");
      return kFailed;
    }
    const auto replies = (*client)->ask_all(verb, Value::object(), live, where->timeout);
    if (!replies) return complain(replies.error());
    const int code = show_all(*replies, asked, reach.json());
    return code != 0 || wait == 0 ? code : wait_until_drained(**client, asked, wait);
  }
  const std::set<std::string> asked(boards.begin(), boards.end());
  for (const std::string& board : asked) {
    if (const Status ok = check_board(view, board); !ok) return complain(ok.error());
  }
  const auto replies = (*client)->ask_each(verb, Value::object(), asked, where->timeout);
  if (!replies) return complain(replies.error());
  const int code = asked.size() == 1 && replies->size() == 1 && !reach.json()
                       ? show(replies->begin()->second)
                       : show_all(*replies, asked, reach.json());
  return code != 0 || wait == 0 ? code : wait_until_drained(**client, asked, wait);
}

}  // namespace

void add_drain(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<DrainOptions>();
  const auto for_board = [&](const std::string& verb, const char* help) {
    cli::Command* command = app.add_subcommand(verb, help);
    command->add_option("node", options->boards, "Boards; none with --local: this machine");
    command->add_flag("--all", reach->all, "Every board of the fleet");
    command->add_flag("-y,--yes", reach->yes, "Do not ask");
    if (verb == "drain") {
      command->add_option("--wait", options->wait,
                          "Until they are drained, so long at most, such as 2h");
    }
    add_output(command, *reach, false);
    add_access(command, *reach);
    command->callback([reach, options, verb, &code] { code = drain(*reach, verb, *options); });
  };
  for_board(
      "drain",
      "Let boards finish what they have and take nothing new. When nothing is left they hand\n"
      "over their shares and are `drained`: any number of them can be switched off then.\n"
      "Example: lairctl drain n-3 n-4 --wait 2h");
  for_board("undrain", "Let drained boards take tasks again");
}

}  // namespace laird::control
