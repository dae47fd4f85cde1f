// provision: laird in a board's root folder, before the board is flashed.
#include <unistd.h>

#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/provision/rootfs_install.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

struct ProvisionOptions {
  std::string rootfs;
  std::string package;
  std::string join;
  bool power_control = false;
  bool upgrades = false;
  bool dry_run = false;
  bool verify = false;
  bool undo = false;
};

// What the person at the flashing machine has to know besides.
void tell_what_else(const Rootfs& rootfs) {
  if (rootfs.first_boot_dialogue) {
    say("note: the first boot waits in NVIDIA's set-up dialogue (default.target is "
        "nv-oem-config.target);\n"
        "      laird and ssh start after it. For boards without a screen, in Linux_for_Tegra:\n"
        "      sudo tools/l4t_create_default_user.sh -u USER -p PASSWORD -n HOST -a "
        "--accept-license");
  }
  if (rootfs.holds_identity) {
    say("note: " + rootfs.path +
        "/etc/laird holds a board's config or key: every board flashed from it\n"
        "      would claim to be that one. For more than one board remove laird.json and tls/, "
        "and\n"
        "      let them ask for their own: --join.");
  }
}

int provision(const ProvisionOptions& options, const Rootfs& rootfs) {
  const auto package = read_board_package(options.package);
  if (!package) return complain(package.error());
  if (const Status fits = check_fits(rootfs, *package); !fits) return complain(fits.error());
  std::vector<std::string> units = {"laird.service", "laird-cell.socket"};
  if (options.power_control) units.emplace_back("laird-priv.socket");
  if (options.upgrades) {
    units.insert(units.end(), std::begin(kUpgradeUnits), std::end(kUpgradeUnits));
  }
  if (!options.join.empty()) {
    if (const Status may = check_join(rootfs, options.join); !may) return complain(may.error());
    units.insert(units.end(), std::begin(kJoinUnits), std::end(kJoinUnits));
  }
  const auto plan = plan_install(rootfs, *package, units, options.join);
  if (!plan) return complain(plan.error());
  const char* would = options.dry_run ? "would " : "";
  if (plan->install) {
    print("%sinstall laird %s for %s into %s\n", would, package->version.c_str(),
          package->architecture.c_str(), rootfs.path.c_str());
  }
  for (const std::string& unit : plan->enable) {
    print("%senable %s\n", would, unit.c_str());
  }
  if (!plan->join.empty()) {
    print("%scopy %s to /etc/laird/join: its boards ask for their place\n", would,
          plan->join.c_str());
  }
  if (plan->empty())
    print("%s has laird %s; nothing to do\n", rootfs.path.c_str(), package->version.c_str());
  tell_what_else(rootfs);
  if (options.dry_run || plan->empty()) return 0;
  if (const Status done = apply_plan(rootfs, *package, *plan); !done) return complain(done.error());
  return 0;
}

int verify(const Rootfs& rootfs) {
  const auto findings = verify_rootfs(rootfs);
  if (!findings) return complain(findings.error());
  for (const std::string& finding : *findings) print("%s\n", finding.c_str());
  tell_what_else(rootfs);
  if (!findings->empty()) return kFailed;
  print("%s is as the package left it\n", rootfs.path.c_str());
  return 0;
}

int undo(const ProvisionOptions& options, const Rootfs& rootfs) {
  if (options.dry_run) {
    print("would purge laird from %s\n", rootfs.path.c_str());
    return 0;
  }
  if (const Status done = undo_install(rootfs); !done) return complain(done.error());
  print("%s has no laird any more; its users stay\n", rootfs.path.c_str());
  return 0;
}

int run(const ProvisionOptions& options) {
  if (options.verify && options.undo) {
    return complain({Code::kInvalid, "give --verify or --undo, not both"});
  }
  if (options.package.empty() && !options.verify && !options.undo) {
    return complain({Code::kInvalid, "name the package: --package laird_VERSION_arm64.deb"});
  }
  const auto rootfs = open_rootfs(options.rootfs);
  if (!rootfs) return complain(rootfs.error());
  if (options.verify) return verify(*rootfs);
  if (::geteuid() != 0 && !options.dry_run) {
    return complain({Code::kPermission, "a board's root folder belongs to root: use sudo"});
  }
  return options.undo ? undo(options, *rootfs) : provision(options, *rootfs);
}

}  // namespace

void add_provision(cli::Command& app, int& code) {
  const auto options = std::make_shared<ProvisionOptions>();
  cli::Command* command = app.add_subcommand(
      "provision",
      "Put laird into a board's root folder before it is flashed; this machine is not changed.\n"
      "Example: sudo lairctl provision Linux_for_Tegra/rootfs --package laird_0.1.0_arm64.deb");
  command->add_option("rootfs", options->rootfs, "The board's root folder")->required();
  command->add_option("--package", options->package, "The Debian package for the board");
  command->add_flag("--power-control", options->power_control,
                    "Also enable laird-priv.socket, by which the agent may lower clocks");
  command->add_flag("--upgrades", options->upgrades,
                    "Also enable laird-upgrade.path: the board upgrades itself when told");
  command->add_option("--join", options->join,
                      "A folder of `lairctl join image`: the boards ask for their place");
  command->add_flag("--dry-run", options->dry_run, "Say what would be done");
  command->add_flag("--verify", options->verify, "Say what differs from the installed package");
  command->add_flag("--undo", options->undo, "Remove laird; its users stay");
  command->callback([options, &code] { code = run(*options); });
}

}  // namespace laird::control
