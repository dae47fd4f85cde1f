// fleet: the budget all boards share, and whether they keep to it.
#include <cmath>
#include <cstdio>

#include "agent/settings/fleet_budget_json.hpp"
#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/secure_files.hpp"
#include "control/screen/output.hpp"
#include "control/screen/rows.hpp"
#include "control/screen/undrawn.hpp"

namespace laird::control {
namespace {

using core::FleetBudget;
using json::Kind;
using json::Value;

constexpr std::size_t kBudgetFileMax = 1'000'000;
// Reports come one after the other, so a sum may be above the budget for a moment. It counts only
// when it stays there.
constexpr DurationNs kSettle = 4 * kSecond;

struct InitOptions {
  std::string file;
  std::string out;
  std::string budget;
  std::string floor;
  double cpu = -1.0;
  double gpus = -1.0;
  std::vector<std::string> members;
  bool dry_run = false;
  bool force = false;
};

Result<FleetBudget> budget_from_file(const std::string& path) {
  const auto text = config::read_file(path, kBudgetFileMax);
  LAIRD_TRY(text);
  json::ParseLimits limits;
  limits.comments = true;
  auto value = json::parse(*text, path, limits);
  LAIRD_TRY(value);
  if (value->find("rev") == nullptr) value->set("rev", 1);
  if (value->find("epoch") == nullptr) value->set("epoch", 1);
  if (value->find("founders") == nullptr && value->find("members", Kind::kObject) != nullptr) {
    Value founders = Value::array();
    for (const auto& member : value->find("members")->members()) {
      founders.add(member.first);
    }
    value->set("founders", std::move(founders));
  }
  auto budget = agent::parse_fleet_budget(*value);
  if (!budget) return fail(Code::kInvalid, path + ": " + budget.error().context);
  return budget;
}

// A first budget from what the boards say: the founders of their configs, and every live board.
Result<FleetBudget> budget_from_boards(FleetClient& client, const InitOptions& options,
                                       DurationNs timeout) {
  FleetBudget budget;
  if (auto told = budget_in_force(client, timeout)) budget = std::move(*told);
  if (budget.founding_epoch == 0) budget.founding_epoch = 1;
  std::vector<std::string> ids = options.members;
  if (ids.empty()) {
    for (const auto& [id, board] : client.view().boards()) {
      if (board.is_live()) ids.push_back(id);
    }
  }
  for (const std::string& id : ids) {
    if (!mqtt::is_node_id(id)) return fail(Code::kInvalid, "'" + id + "' is no board's name");
    add_member(budget, id);
  }
  if (budget.members.empty()) {
    return fail(Code::kUnavailable,
                "no board is live: start them, or name them with --members, or give a budget with "
                "-f");
  }
  if (budget.founders.empty()) {
    for (const core::FleetMember& member : budget.members) budget.founders.push_back(member.id);
  }
  return budget;
}

Status apply(const InitOptions& options, FleetBudget& budget) {
  if (!options.budget.empty()) {
    const auto mw = config::parse_power(options.budget);
    if (!mw) return fail(Code::kInvalid, "--budget: " + mw.error().context);
    budget.total[core::Resource::kPower] = *mw;
  }
  const auto amount = [&budget](double given, core::Resource resource, double scale) {
    if (given >= 0.0) {
      budget.total[resource] = std::llround(given * scale);
    }
  };
  amount(options.cpu, core::Resource::kCpu, 1e3);
  amount(options.gpus, core::Resource::kGpu, 1e6);
  if (!options.floor.empty()) {
    const auto mw = config::parse_power(options.floor);
    if (!mw) return fail(Code::kInvalid, "--floor: " + mw.error().context);
    for (core::FleetMember& member : budget.members) {
      member.floor[core::Resource::kPower] = *mw;
    }
  }
  return core::check_fleet_budget(budget);
}

int init(const Reach& reach, const InitOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto opened = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!opened) return complain(opened.error());
  FleetClient& client = **opened;
  auto budget = options.file.empty() ? budget_from_boards(client, options, where->timeout)
                                     : budget_from_file(options.file);
  if (!budget) return complain(budget.error());
  std::uint64_t rev = options.file.empty() ? budget->rev : budget->rev - 1;
  if (client.view().budget()) {
    const auto retained = static_cast<std::uint64_t>(client.view().budget()->rev);
    if (!options.force) {
      return complain({Code::kExists, "the fleet has a budget, revision " +
                                          std::to_string(retained) + " by '" +
                                          client.view().budget()->op +
                                          "'; change it with `lairctl cap set`, or give --force"});
    }
    rev = std::max(rev, retained);
  }
  budget->rev = rev + 1;
  if (const Status ok = apply(options, *budget); !ok) return complain(ok.error());
  const std::string text = json::to_pretty_text(agent::fleet_budget_json(*budget)) + "\n";
  if (!options.out.empty()) {
    const auto done = write_file(options.out, text, kPublicMode,
                                 options.force ? IfThere::kReplace : IfThere::kRefuse);
    if (!done) return complain(done.error());
    say("made " + options.out);
  }
  if (options.dry_run) {
    if (options.out.empty()) print_text(text);
    return 0;
  }
  return put_in_force(client, *budget, where->timeout);
}

Value sums_json(const FleetSums& sums, const Verdict& verdict, const FleetView& view,
                std::int64_t now_ms) {
  Value boards = Value::array();
  for (const auto& [id, board] : view.boards()) boards.add(board_json(id, board, now_ms));
  const auto count = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
  const std::optional<Undrawn> undrawn = undrawn_of(view);
  return Value::object()
      .set("ok", verdict.level == Verdict::Level::kOk)
      .set("verdict", verdict.text)
      .set("plan_rev", view.budget() ? Value::integer(view.budget()->rev) : Value())
      .set("boards", count(sums.boards))
      .set("live", count(sums.live))
      .set("fenced", count(sums.fenced))
      .set("budget_w", sums.budget_w ? Value::number(*sums.budget_w) : Value())
      .set("demand_w", sums.demand_w)
      .set("enforced_w", sums.enforced_w)
      .set("power_w", sums.power_w ? Value::number(*sums.power_w) : Value())
      .set("undrawn", undrawn ? json_of(*undrawn) : Value())
      .set("nodes", std::move(boards));
}

int status(const Reach& reach) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  const FleetView& view = (*client)->view();
  if (sums_of(view).over_budget()) {
    (*client)->wait(after(kSettle), [&] { return !sums_of(view).over_budget(); });
  }
  const FleetSums sums = sums_of(view);
  const Verdict verdict = verdict_of(view);
  const std::int64_t now = unix_ms_now();
  if (reach.json()) {
    print_json(sums_json(sums, verdict, view, now));
  } else {
    const bool colour = colours_on(stdout);
    print("fleet      %s\n", where->fleet.fleet.c_str());
    print("budget     %s, %s\n",
          sums.budget_w ? fixed(sums.budget_w, 1, " W").c_str() : "power not limited",
          view.budget() ? ("revision " + std::to_string(view.budget()->rev) + ", signed by " +
                           view.budget()->op)
                              .c_str()
                        : "none published: boards use their config files");
    print("asked for  %s\n", fixed(sums.demand_w, 1, " W").c_str());
    print("given out  %s (boards that are away count with their floor)\n",
          fixed(sums.enforced_w, 1, " W").c_str());
    print("drawn now  %s\n\n",
          sums.power_w ? fixed(sums.power_w, 1, " W").c_str() : "unknown: no board has a meter");
    Table table(board_columns(reach.wide()));
    for (const auto& [id, board] : view.boards()) {
      table.add(board_row(id, board, reach.wide(), now));
    }
    print_text(table.text());
    if (const auto undrawn = undrawn_of(view)) {
      print("\n%s\n", painted(text_of(*undrawn), Colour::kYellow, colour).c_str());
    }
    const Colour tone = verdict.level == Verdict::Level::kOk        ? Colour::kGreen
                        : verdict.level == Verdict::Level::kWarning ? Colour::kYellow
                                                                    : Colour::kRed;
    print("\n%s\n", painted(verdict.text, tone, colour).c_str());
  }
  if (verdict.level == Verdict::Level::kBroken) return kFailed;
  return verdict.level == Verdict::Level::kOk ? 0 : kPartial;
}

}  // namespace

void add_fleet(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<InitOptions>();
  cli::Command* fleet =
      app.add_subcommand("fleet",
                         "The fleet's budget, and whether the boards keep to it.\n"
                         "Example: lairctl fleet status");
  fleet->require_subcommand();

  add_fleet_create(*fleet, code);
  add_fleet_push(*fleet, code);

  cli::Command* init_command = fleet->add_subcommand(
      "init",
      "Publish the first budget: members, floors and amounts, signed and kept by the broker.\n"
      "Without -f it is made from what the boards' own configs say.\n"
      "Example: lairctl fleet init --budget 60W --floor 2W");
  init_command->add_option("-f,--file", options->file, "A budget, JSON with comments");
  init_command->add_option("--budget", options->budget, "Power of all boards together: 60W");
  init_command->add_option("--cpu", options->cpu, "Cores of all boards together")
      ->check(cli::non_negative());
  init_command->add_option("--gpus", options->gpus, "Gpus of all boards together")
      ->check(cli::non_negative());
  init_command->add_option("--floor", options->floor, "Power every board keeps whatever happens");
  init_command->add_option("--members", options->members, "Boards, with commas between")
      ->delimiter(',');
  init_command->add_option("--out", options->out, "Write the budget to this file too");
  init_command->add_flag("--dry-run", options->dry_run, "Show the budget, publish nothing");
  init_command->add_flag("--force", options->force, "Although there is a budget");
  add_access(init_command, *reach);
  init_command->callback([reach, options, &code] { code = init(*reach, *options); });

  cli::Command* status_command = fleet->add_subcommand(
      "status",
      "Budget, what is asked for, given out and drawn, who is fenced, and a verdict.\n"
      "It names who holds what nobody uses while tasks are throttled.\n"
      "Exits with 0 when all is well, 5 when boards are away or fenced, 1 when over budget.");
  add_output(status_command, *reach, true);
  add_access(status_command, *reach);
  status_command->callback([reach, &code] { code = status(*reach); });
}

}  // namespace laird::control
