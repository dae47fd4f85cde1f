// enroll: a new board's certificate and config, and its place in the budget.
#include <algorithm>
#include <cstdio>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/enroll.hpp"
#include "control/provision/pki.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

struct EnrollOptions {
  std::vector<std::string> names;
  std::string pki = "pki";
  std::string out = "enroll";
  std::string floor;
  std::string budget;
  bool offline = false;
  bool force = false;
};

// The budget of a new fleet: the boards that are enrolled together are its founders.
Result<core::FleetBudget> founding_budget(const EnrollOptions& options, std::int64_t floor_mw) {
  core::FleetBudget budget;
  budget.founding_epoch = 1;
  for (const std::string& id : options.names) budget = with_member(std::move(budget), id, floor_mw);
  for (const core::FleetMember& member : budget.members) budget.founders.push_back(member.id);
  if (!options.budget.empty()) {
    const auto mw = config::parse_power(options.budget);
    if (!mw) return fail(Code::kInvalid, "--budget: " + mw.error().context);
    budget.total[core::Resource::kPower] = *mw;
  }
  budget.rev = 0;
  LAIRD_TRY(core::check_fleet_budget(budget));
  return budget;
}

// Refuses names that are malformed or taken, before any file is made.
Status check_names(const EnrollOptions& options) {
  const auto index = pki_index(options.pki);
  LAIRD_TRY(index);
  for (const std::string& id : options.names) {
    if (!mqtt::is_node_id(id)) {
      return fail(Code::kInvalid, "'" + id + "' is no board's name: 1 to 32 of a-z, 0-9 and -");
    }
    for (const PkiEntry& entry : index->entries) {
      if (entry.name != id || entry.revoked_at_s != 0 || options.force) continue;
      return fail(Code::kExists,
                  "'" + id + "' has a certificate; --force makes a new one and revokes it");
    }
  }
  return {};
}

Status make_files(const EnrollOptions& options, const std::vector<std::string>& brokers,
                  const core::FleetBudget& budget) {
  const auto operators = known_operators(options.pki);
  LAIRD_TRY(operators);
  const auto index = pki_index(options.pki);
  LAIRD_TRY(index);
  const IfThere if_there = options.force ? IfThere::kReplace : IfThere::kRefuse;
  for (const std::string& id : options.names) {
    const auto config = board_config({id, index->fleet, brokers, *operators, budget});
    LAIRD_TRY(config);
    const auto made =
        pki_issue(options.pki, mqtt::Subject{id, mqtt::Role::kNode, {}, 825}, if_there);
    LAIRD_TRY(made);
    const std::string folder = options.out + "/" + id;
    LAIRD_TRY(write_bundle(folder, *config, made->folder, if_there));
    print("made %s: laird.json, tls/ca.crt, tls/node.crt, tls/node.key\n%s", folder.c_str(),
          install_commands(folder, id).c_str());
  }
  return {};
}

int enroll(const Reach& reach, const EnrollOptions& options) {
  const auto floor = config::parse_power(options.floor.empty() ? "0W" : options.floor);
  if (!floor) return complain({Code::kInvalid, "--floor: " + floor.error().context});
  if (const Status ok = check_names(options); !ok) return complain(ok.error());
  // With --offline, the addresses of the brokers are all that is needed of lairctl's config.
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  if (options.offline) {
    const auto budget = founding_budget(options, *floor);
    if (!budget) return complain(budget.error());
    const Status made = make_files(options, where->fleet.brokers, *budget);
    if (!made) return complain(made.error());
    say("the broker needs nothing: its ACL goes by the certificate's name");
    return 0;
  }
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, where->timeout);
  if (!client) return complain(client.error());
  auto budget = budget_in_force(**client, where->timeout);
  if (!budget) {
    say("--offline founds a fleet: with every board that is enrolled in the same call");
    return complain(budget.error());
  }
  core::FleetBudget next = *budget;
  for (const std::string& id : options.names) {
    // A board that is enrolled again keeps its floor unless --floor gives another.
    if (next.member(id) != nullptr && options.floor.empty()) continue;
    next = with_member(std::move(next), id, *floor);
  }
  if (next != *budget) next.rev = budget->rev + 1;
  if (const Status ok = core::check_fleet_budget(next); !ok) return complain(ok.error());
  if (const Status made = make_files(options, where->fleet.brokers, next); !made) {
    return complain(made.error());
  }
  if (next == *budget) return 0;
  const int code = put_in_force(**client, next, where->timeout);
  // The new boards are not running yet, so they cannot have taken the budget: that is no failure.
  return code == kPartial ? 0 : code;
}

}  // namespace

void add_enroll(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<EnrollOptions>();
  cli::Command* command = app.add_subcommand("enroll",
                                             "Make a new board's certificate and config, ready to "
                                             "copy, and give it a place in the budget.\n"
                                             "Example: lairctl enroll n-9 --floor 2W");
  command->add_option("node", options->names, "The boards' names")->required();
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_option("--out", options->out, "Where to put a folder for each board")
      ->show_default();
  command->add_option("--floor", options->floor,
                      "Power the board keeps whatever happens: 2W (default: 0W)");
  command->add_flag("--offline", options->offline,
                    "Found a fleet: these boards are its members; nothing is published");
  command->add_option("--budget", options->budget, "With --offline: power of all boards together");
  command->add_flag("--force", options->force,
                    "Replace what is there; old certificates are revoked");
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = enroll(*reach, *options); });
}

}  // namespace laird::control
