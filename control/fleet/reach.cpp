#include "control/fleet/reach.hpp"

#include <algorithm>
#include <cstdio>

#include "config/nearest.hpp"
#include "control/fleet/local_client.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;
using mqtt::ReplyCode;

}  // namespace

Result<Where> Reach::where(bool board_named) const {
  return decide(flags, process_environment(), board_named || !node.empty() || all);
}

void add_access(cli::Command* command, Reach& reach) {
  AccessFlags& flags = reach.flags;
  command->add_flag("--local", flags.local, "This machine's agent, not the fleet")
      ->group(kWhereGroup);
  command
      ->add_option("--socket", flags.socket,
                   std::string("This machine's agent at this socket (or LAIRD_SOCKET; default ") +
                       kSocketDefault + ")")
      ->group(kWhereGroup);
  command
      ->add_option("--config", flags.config,
                   "How to reach the fleet (or LAIRCTL_CONFIG; default "
                   "~/.config/laird/lairctl.json)")
      ->group(kWhereGroup);
  command->add_option("--fleet", flags.fleet, "The fleet's name (or LAIRD_FLEET)")
      ->group(kWhereGroup);
  command
      ->add_option("--broker", flags.broker, "Its brokers, with commas between (or LAIRD_BROKERS)")
      ->group(kWhereGroup);
  command
      ->add_option("--credentials", flags.credentials,
                   "A folder that `lairctl pki issue operator` made (or LAIRD_CREDENTIALS)")
      ->group(kWhereGroup);
  command->add_option("--timeout", flags.timeout, "How long to wait for answers")
      ->show_default()
      ->group(kWhereGroup);
}

void add_output(cli::Command* command, Reach& reach, bool wide, bool csv) {
  std::vector<std::string> choices = {"text", "json"};
  if (wide) choices.emplace_back("wide");
  if (csv) choices.emplace_back("csv");
  command
      ->add_option("-o,--output", reach.output,
                   csv    ? "text, wide, json or csv"
                   : wide ? "text, wide or json"
                          : "text or json")
      ->check(cli::one_of(choices))
      ->show_default();
}

int exit_code_of(const mqtt::Reply& reply) {
  switch (reply.code) {
    case ReplyCode::kOk:
    case ReplyCode::kReplayed: return 0;
    case ReplyCode::kRefused:
    case ReplyCode::kExists:
    case ReplyCode::kFull:
    case ReplyCode::kUnauthorised: return kRefused;
    case ReplyCode::kNotFound: return kNotFound;
    case ReplyCode::kInvalid: return kUsage;
    case ReplyCode::kExpired:
    case ReplyCode::kUnavailable: return kFailed;
  }
  return kFailed;
}

int show(const mqtt::Reply& reply) {
  const int code = exit_code_of(reply);
  const std::string text = harmless(reply.text);
  if (code == 0) {
    print("%s: %s\n", reply.node.c_str(), text.c_str());
  } else {
    say(reply.node + ": " + std::string(mqtt::name(reply.code)) + ": " + text);
  }
  return code;
}

int show_all(const Replies& replies, const std::set<std::string>& asked, bool json) {
  std::size_t good = 0;
  int worst = 0;
  std::size_t answered = 0;
  Value rows = Value::array();
  std::set<std::string, NaturalLess> names(asked.begin(), asked.end());
  for (const auto& [board, reply] : replies) names.insert(board);
  for (const std::string& board : names) {
    const auto found = replies.find(board);
    Value row = Value::object().set("node", board);
    if (found == replies.end()) {
      row.set("ok", false).set("code", "no-answer");
      if (!json) say(board + ": no answer");
    } else {
      ++answered;
      const int code = json ? exit_code_of(found->second) : show(found->second);
      if (code == 0) ++good;
      worst = std::max(worst, code);
      row.set("ok", code == 0)
          .set("code", mqtt::name(found->second.code))
          .set("text", found->second.text);
      if (!found->second.data.is(Kind::kNull)) row.set("data", found->second.data);
    }
    rows.add(std::move(row));
  }
  if (json) print_json(rows);
  say("answered " + std::to_string(answered) + " of " + std::to_string(names.size()));
  if (names.empty()) return kTimedOut;
  if (good == names.size()) return 0;
  if (good > 0) return kPartial;
  return answered == 0 ? kTimedOut : worst;
}

int show_text(const Result<Value>& answer) {
  if (!answer) return complain(answer.error());
  const Value* text = answer->find("text", Kind::kString);
  print("%s\n", text == nullptr ? "done" : harmless(text->as_string()).c_str());
  return 0;
}

int show_local_power(const Where& where, bool json) {
  const auto answer = ask(where.socket, Value::object().set("op", "power"), where.timeout);
  if (!answer) return complain(answer.error());
  const Value* power = answer->find("power", Kind::kObject);
  const Value* text = power == nullptr ? nullptr : power->find("text", Kind::kString);
  if (text == nullptr) return complain({Code::kCorrupt, "the agent's answer has no power"});
  if (json) {
    print_json(*power);
  } else {
    print("%s\n", harmless(text->as_string()).c_str());
  }
  return 0;
}

std::set<std::string> live_boards(const FleetView& view) {
  std::set<std::string> out;
  for (const auto& [id, board] : view.boards()) {
    if (board.is_live()) out.insert(id);
  }
  return out;
}

Status check_board(const FleetView& view, const std::string& name) {
  if (view.boards().count(name) != 0) return {};
  if (view.boards().empty()) {
    return fail(Code::kNotFound, "no board '" + name + "': the broker knows of no board at all");
  }
  std::string known;
  for (const auto& [id, board] : view.boards()) known += (known.empty() ? "" : ", ") + id;
  return fail(Code::kNotFound, "no board '" + name + "'; there are " + known);
}

Result<std::string> board_of_task(const FleetView& view, const std::string& task) {
  std::vector<std::string> live;
  std::string ended;
  for (const auto& [key, row] : view.tasks()) {
    if (key.second != task) continue;
    if (row.is_ended()) {
      ended = key.first;
    } else {
      live.push_back(key.first);
    }
  }
  // What a dead board said last stays at the broker; the board that took the task over is there.
  if (live.size() > 1) {
    const auto is_gone = [&view](const std::string& board) {
      const auto found = view.boards().find(board);
      return found == view.boards().end() || !found->second.is_live();
    };
    if (!std::all_of(live.begin(), live.end(), is_gone)) std::erase_if(live, is_gone);
  }
  if (live.size() > 1) {
    std::string where;
    for (const std::string& board : live) where += (where.empty() ? "" : " and ") + board;
    return fail(Code::kInvalid, "'" + task + "' is on " + where + ": say which with --node");
  }
  if (live.size() == 1) return live.front();
  if (!ended.empty()) return ended;
  return fail(Code::kNotFound, "no board has a task '" + task +
                                   "' (ended ones are forgotten after ten minutes); `lairctl get "
                                   "tasks` lists them");
}

}  // namespace laird::control
