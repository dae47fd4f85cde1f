#include "control/commands/models/targets.hpp"

#include <algorithm>

#include "control/fleet/local_client.hpp"
#include "control/plan/fleet_facts.hpp"

namespace laird::control {
namespace {

using json::Value;

std::set<std::string> named(const std::string& names) {
  std::set<std::string> out;
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    if (comma > from) out.insert(names.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

Result<std::set<std::string>> of_kind(const FleetView& view, const std::string& kind,
                                      const std::string& fleet) {
  std::set<std::string> out;
  std::set<std::string> kinds;
  const std::set<std::string> live = live_boards(view);
  for (const placement::BoardFact& board : fleet_facts(view, fleet).boards) {
    if (!live.contains(board.name) || board.module.empty()) continue;
    kinds.insert(board.module);
    if (board.module == kind) out.insert(board.name);
  }
  if (!out.empty()) return out;
  std::string there;
  for (const std::string& known : kinds) there += (there.empty() ? "" : ", ") + known;
  return fail(Code::kNotFound, "no live board is a " + kind + "; there are " +
                                   (there.empty() ? "none that say what they are" : there));
}

Result<std::set<std::string>> chosen(const FleetView& view, const TargetOptions& options,
                                     const std::string& fleet) {
  const Reach& reach = options.reach;
  if (reach.all + !reach.node.empty() + !options.kind.empty() > 1) {
    return fail(Code::kInvalid, "--node, --kind and --all exclude each other");
  }
  if (!options.kind.empty()) return of_kind(view, options.kind, fleet);
  std::set<std::string> out = reach.all ? live_boards(view) : named(reach.node);
  if (out.empty() && !reach.all && view.boards().size() == 1) {
    out = {view.boards().begin()->first};
  }
  if (out.empty()) {
    return fail(Code::kInvalid, reach.all ? "no board of the fleet is live"
                                          : "which boards? --node A,B or --kind MODULE or --all");
  }
  for (const std::string& board : out) LAIRD_TRY(check_board(view, board));
  return out;
}

Target local_target(const Where& where) {
  return {"", [where](const std::string& verb, const Value& body) -> Result<Value> {
            Value request = local_request(verb.c_str());
            for (const auto& [key, value] : body.members()) request.set(key, value);
            return ask(where.socket, request, where.timeout);
          }};
}

}  // namespace

void add_targets(cli::Command& command, TargetOptions& options) {
  command.add_option("--node", options.reach.node, "These boards, with commas between");
  command.add_option("--kind", options.kind, "All live boards of a module: orin-nano-8gb");
  command.add_flag("--all", options.reach.all, "All live boards");
  add_access(&command, options.reach);
}

Result<Targets> open_targets(const TargetOptions& options) {
  const auto where = options.reach.where(!options.kind.empty());
  LAIRD_TRY(where);
  Targets out;
  if (where->local) {
    out.boards.push_back(local_target(*where));
    return out;
  }
  auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  LAIRD_TRY(client);
  out.client = std::move(*client);
  const auto boards = chosen(out.client->view(), options, where->fleet.fleet);
  LAIRD_TRY(boards);
  FleetClient* const fleet = out.client.get();
  for (const std::string& board : *boards) {
    out.boards.push_back({board,
                          [fleet, board, timeout = where->timeout](
                              const std::string& verb, const Value& body) -> Result<Value> {
                            const auto reply = fleet->ask(board, verb, body, timeout);
                            LAIRD_TRY(reply);
                            if (exit_code_of(*reply) != 0) {
                              return fail(Code::kRefused, reply->text);
                            }
                            return reply->data;
                          }});
  }
  return out;
}

}  // namespace laird::control
