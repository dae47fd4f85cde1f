// cap: how much power the fleet, one board of it, or this board may draw.
#include <cstdio>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/local_client.hpp"
#include "control/fleet/reach.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;

struct CapOptions {
  std::string power;
  std::string duration;
  bool budget = false;
};

int local_cap(const Where& where, const char* op, const CapOptions& options) {
  Value request = Value::object().set("op", op);
  if (!options.power.empty()) request.set("cap", options.power);
  if (!options.duration.empty()) request.set("for", options.duration);
  return show_text(ask(where.socket, request, where.timeout));
}

int board_cap(FleetClient& client, const std::string& node, Value body, DurationNs timeout) {
  if (const Status ok = check_board(client.view(), node); !ok) return complain(ok.error());
  const auto reply = client.ask(node, "cap", std::move(body), timeout);
  return reply ? show(*reply) : complain(reply.error());
}

int set(const Reach& reach, const CapOptions& options) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  const auto power_mw = config::parse_power(options.power);
  if (!power_mw) return complain({Code::kInvalid, power_mw.error().context});
  DurationNs duration = 0;
  if (!options.duration.empty()) {
    const auto parsed = config::parse_duration(options.duration);
    if (!parsed) return complain({Code::kInvalid, "--for: " + parsed.error().context});
    if (*parsed < kSecond) return complain({Code::kInvalid, "--for: at least 1s"});
    duration = *parsed;
  }
  if (where->local) return local_cap(*where, "cap-set", options);
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  if (!reach.node.empty()) {
    Value body = Value::object().set("power_w", static_cast<double>(*power_mw) / 1e3);
    if (duration > 0) body.set("for_s", static_cast<double>(duration) / 1e9);
    return board_cap(**client, reach.node, std::move(body), where->timeout);
  }
  const auto budget = budget_in_force(**client, where->timeout);
  if (!budget) return complain(budget.error());
  const std::int64_t until = unix_ms_now() + duration / kMillisecond;
  return put_in_force(
      **client,
      duration > 0 ? with_power_until(*budget, *power_mw, until) : with_power(*budget, *power_mw),
      where->timeout);
}

int clear(const Reach& reach, const CapOptions& options) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) return local_cap(*where, "cap-clear", {});
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  if (!reach.node.empty()) {
    return board_cap(**client, reach.node, Value::object().set("power_w", Value()), where->timeout);
  }
  const auto budget = budget_in_force(**client, where->timeout);
  if (!budget) return complain(budget.error());
  const bool nothing = budget->power_mw_for_now == core::kUnlimited &&
                       (!options.budget || budget->total[2] == core::kUnlimited);
  if (nothing) {
    print("no %s is set; %s\n", options.budget ? "power budget" : "cap for a time",
          power_text(*budget, unix_ms_now()).c_str());
    return 0;
  }
  if (options.budget && !confirmed("Lift the power budget of the whole fleet?", reach.yes)) {
    say("nothing was done");
    return kFailed;
  }
  return put_in_force(**client, without_power_cap(*budget, options.budget), where->timeout);
}

int get(const Reach& reach) {
  const auto where = reach.where();
  if (!where) return complain(where.error());
  if (where->local) return show_local_power(*where, reach.json());
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (!reach.node.empty()) {
    if (const Status ok = check_board(view, reach.node); !ok) return complain(ok.error());
    const BoardView& board = view.boards().at(reach.node);
    print("%s: power %s, cap %s\n", reach.node.c_str(),
          fixed(board.number("power_w"), 1, " W").c_str(),
          fixed(board.number("cap_w"), 1, " W").c_str());
    return 0;
  }
  const auto budget = budget_in_force(**client, where->timeout);
  if (!budget) return complain(budget.error());
  const FleetSums sums = sums_of(view);
  if (reach.json()) {
    print("%s\n", json::to_text(
                      Value::object()
                          .set("rev", budget->rev)
                          .set("budget_w", sums.budget_w ? Value::number(*sums.budget_w) : Value())
                          .set("enforced_w", sums.enforced_w)
                          .set("power_w", sums.power_w ? Value::number(*sums.power_w) : Value()))
                      .c_str());
    return 0;
  }
  print("budget %llu: %s; %s given out, %s drawn\n", static_cast<unsigned long long>(budget->rev),
        power_text(*budget, unix_ms_now()).c_str(), fixed(sums.enforced_w, 1, " W").c_str(),
        sums.power_w ? fixed(sums.power_w, 1, " W").c_str() : "an unknown power");
  return 0;
}

}  // namespace

void add_cap(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<CapOptions>();
  cli::Command* cap = app.add_subcommand(
      "cap",
      "Hold the fleet, one board of it (--node), or this board (--local) to a mean power.\n"
      "Example: lairctl cap set 60W --for 1h");
  cap->require_subcommand();
  cli::Command* get_command =
      cap->add_subcommand("get", "What is in force, whose it is, and what holds it");
  add_output(get_command, *reach, false);
  get_command->add_option("--node", reach->node, "Of this board");
  add_access(get_command, *reach);
  get_command->callback([reach, &code] { code = get(*reach); });

  cli::Command* set_command = cap->add_subcommand(
      "set",
      "The fleet's power budget, or a board's own cap; a board holds the lowest of its config, "
      "its\noperator's cap and its share.\nExample: lairctl cap set 15W --node n-3");
  set_command->add_option("power", options->power, "With its unit: 60W, 7500mW")->required();
  set_command->add_option("--for", options->duration, "Only for so long: 90s, 1h");
  set_command->add_option("--node", reach->node, "Only this board");
  add_access(set_command, *reach);
  set_command->callback([reach, options, &code] { code = set(*reach, *options); });

  cli::Command* clear_command = cap->add_subcommand(
      "clear", "End a cap that was set for a time, or a board's own cap (--node)");
  clear_command->add_option("--node", reach->node, "Only this board's own cap");
  clear_command->add_flag("--budget", options->budget, "Lift the fleet's lasting budget too");
  clear_command->add_flag("-y,--yes", reach->yes, "Do not ask");
  add_access(clear_command, *reach);
  clear_command->callback([reach, options, &code] { code = clear(*reach, *options); });
}

}  // namespace laird::control
