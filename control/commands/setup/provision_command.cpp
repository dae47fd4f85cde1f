// provision: laird in a board's root folder, before the board is flashed, or on a board that runs.
#include <unistd.h>

#include "base/sha256.hpp"
#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/commands/setup/over_ssh.hpp"
#include "control/fleet/exit.hpp"
#include "control/provision/rootfs_install.hpp"
#include "control/provision/running/running_board.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

struct ProvisionOptions {
  std::string rootfs;
  std::string ssh;
  std::string package;
  std::string join;
  bool power_control = false;
  bool upgrades = false;
  bool dry_run = false;
  bool verify = false;
  bool undo = false;
  bool yes = false;
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

// Those that start with the board.
std::vector<std::string> units_of(const ProvisionOptions& options) {
  std::vector<std::string> out(std::begin(kAlwaysUnits), std::end(kAlwaysUnits));
  if (options.power_control) out.emplace_back("laird-priv.socket");
  if (options.upgrades) {
    out.insert(out.end(), std::begin(kUpgradeUnits), std::end(kUpgradeUnits));
  }
  if (!options.join.empty()) out.insert(out.end(), std::begin(kJoinUnits), std::end(kJoinUnits));
  return out;
}

int provision(const ProvisionOptions& options, const Rootfs& rootfs) {
  const auto package = read_board_package(options.package);
  if (!package) return complain(package.error());
  if (const Status fits = check_fits(rootfs, *package); !fits) return complain(fits.error());
  if (!options.join.empty()) {
    if (const Status may = check_join(rootfs, options.join); !may) return complain(may.error());
  }
  const auto plan = plan_install(rootfs, *package, units_of(options), options.join);
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

bool may_undo(const ProvisionOptions& options, const std::string& where) {
  if (options.dry_run || confirmed("Remove laird from " + where +
                                       ", with the journal and every checkpoint in /var/lib/laird?",
                                   options.yes)) {
    return true;
  }
  say("nothing was done");
  return false;
}

int undo(const ProvisionOptions& options, const Rootfs& rootfs) {
  if (options.dry_run) {
    print("would purge laird from %s\n", rootfs.path.c_str());
    return 0;
  }
  if (!may_undo(options, rootfs.path)) return kFailed;
  if (const Status done = undo_install(rootfs); !done) return complain(done.error());
  print("%s has no laird any more; its users stay\n", rootfs.path.c_str());
  return 0;
}

Result<BoardWish> wish_of(const ProvisionOptions& options, const BoardPackage& package) {
  BoardWish out;
  const auto sums = control_file(package.file, "md5sums");
  LAIRD_TRY(sums);
  out.package_sums = sha256_of(*sums);
  out.units = units_of(options);
  if (!options.join.empty()) {
    const auto files = join_files(options.join);
    LAIRD_TRY(files);
    for (const auto& [name, content] : *files) out.join[name] = sha256_of(content);
  }
  return out;
}

Status carry_out(const ProvisionOptions& options, const BoardPlan& plan) {
  const std::string& at = options.ssh;
  const bool dry_run = options.dry_run;
  if (plan.install) {
    LAIRD_TRY(run_visibly({"scp", "--", options.package, at + ":laird-provision.deb"}, dry_run));
    LAIRD_TRY(run_visibly({"ssh", "--", at, install_package_script()}, dry_run));
  }
  if (plan.join) {
    // What was cut short has left there would be copied into.
    LAIRD_TRY(run_visibly({"ssh", "--", at, "rm -rf laird-provision-join"}, dry_run));
    LAIRD_TRY(
        run_visibly({"scp", "-rp", "--", options.join, at + ":laird-provision-join"}, dry_run));
    LAIRD_TRY(run_visibly({"ssh", "--", at, put_join_script()}, dry_run));
  }
  if (plan.enable.empty()) return {};
  return run_visibly({"ssh", "--", at, enable_script(plan.enable)}, dry_run);
}

Result<RunningBoard> look_at(const std::string& at) {
  const auto answer = ask_over_ssh(at, probe_script());
  LAIRD_TRY(answer);
  return parse_probe(*answer);
}

int provision_over_ssh(const ProvisionOptions& options, const RunningBoard& board) {
  const auto package = read_board_package(options.package);
  if (!package) return complain(package.error());
  const auto wish = wish_of(options, *package);
  if (!wish) return complain(wish.error());
  if (const Status fits = check_fits(board, *package, *wish); !fits) return complain(fits.error());
  const BoardPlan plan = plan_for(board, *wish);
  if (plan.empty()) {
    print("%s has laird %s; nothing to do\n", options.ssh.c_str(), package->version.c_str());
    return 0;
  }
  if (const Status done = carry_out(options, plan); !done) return complain(done.error());
  if (options.dry_run) return 0;
  const auto after = look_at(options.ssh);
  if (!after) return complain(after.error());
  if (const auto findings = findings_of(*after, *wish); !findings.empty()) {
    for (const std::string& finding : findings) print("%s\n", finding.c_str());
    return complain({Code::kIo, options.ssh + " is still not as it should be"});
  }
  print("%s has laird %s\n", options.ssh.c_str(), package->version.c_str());
  if (!after->configured && options.join.empty()) {
    say("Next: its config and keys: lairctl enroll, then lairctl fleet push; or --join");
  }
  return 0;
}

int over_ssh(const ProvisionOptions& options) {
  if (!options.rootfs.empty()) {
    return complain({Code::kInvalid, "give a root folder or --ssh, not both"});
  }
  if (!is_destination(options.ssh)) {
    return complain({Code::kInvalid,
                     "--ssh: write where the board is, as ssh takes it: "
                     "user@192.0.2.7"});
  }
  const auto board = look_at(options.ssh);
  if (!board) return complain(board.error());
  if (options.verify) {
    BoardWish wish;
    wish.units = units_of(options);
    const std::vector<std::string> findings = findings_of(*board, wish);
    for (const std::string& finding : findings) print("%s\n", finding.c_str());
    if (!findings.empty()) return kFailed;
    print("%s is as the package left it\n", options.ssh.c_str());
    return 0;
  }
  if (!options.undo) return provision_over_ssh(options, *board);
  if (board->installed.empty()) {
    print("%s has no laird; nothing to do\n", options.ssh.c_str());
    return 0;
  }
  if (!may_undo(options, options.ssh)) return kFailed;
  const Status done = run_visibly({"ssh", "--", options.ssh, purge_script()}, options.dry_run);
  if (!done) return complain(done.error());
  if (!options.dry_run) print("%s has no laird any more; its users stay\n", options.ssh.c_str());
  return 0;
}

int run(const ProvisionOptions& options) {
  if (options.verify && options.undo) {
    return complain({Code::kInvalid, "give --verify or --undo, not both"});
  }
  if (options.package.empty() && !options.verify && !options.undo) {
    return complain({Code::kInvalid, "name the package: --package laird_VERSION_arm64.deb"});
  }
  if (!options.ssh.empty()) return over_ssh(options);
  if (options.rootfs.empty()) {
    return complain({Code::kInvalid, "name the board's root folder, or a board that runs: --ssh"});
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
      "Put laird into a board's root folder before it is flashed, or on a board that runs; this "
      "machine is not changed.\n"
      "Examples:\n"
      "  sudo lairctl provision Linux_for_Tegra/rootfs --package laird_0.1.0_arm64.deb\n"
      "  lairctl provision --ssh user@192.0.2.7 --package laird_0.1.0_arm64.deb --dry-run");
  command->add_option("rootfs", options->rootfs, "The board's root folder");
  command->add_option("--ssh", options->ssh,
                      "A board that runs, where its user may use sudo without a password: "
                      "user@192.0.2.7");
  command->add_option("--package", options->package, "The Debian package for the board");
  command->add_flag("--power-control", options->power_control,
                    "Also enable laird-priv.socket, by which the agent may lower clocks");
  command->add_flag("--upgrades", options->upgrades,
                    "Also enable laird-upgrade.path: the board upgrades itself when told");
  command->add_option("--join", options->join,
                      "A folder of `lairctl join image`: the boards ask for their place");
  command->add_flag("--dry-run", options->dry_run, "Say what would be done");
  command->add_flag("--verify", options->verify, "Say what differs from the installed package");
  command->add_flag(
      "--undo", options->undo,
      "Remove laird, with the journal and every checkpoint; its users, config and keys stay");
  command->add_flag("-y,--yes", options->yes, "Do not ask before --undo");
  command->callback([options, &code] { code = run(*options); });
}

}  // namespace laird::control
