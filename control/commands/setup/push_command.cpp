// fleet push: brings the boards' files to boards that run, over ssh.
#include <filesystem>

#include "control/commands/commands.hpp"
#include "control/commands/setup/over_ssh.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/enroll.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::control {
namespace {

struct PushOptions {
  std::vector<std::string> boards;
  std::string out = "enroll";
  std::string package;
  bool dry_run = false;
};

struct Target {
  std::string id;
  std::string at;  // USER@ADDRESS, as ssh takes it
};

Result<Target> target_of(const std::string& text, const PushOptions& options) {
  const std::size_t equals = text.find('=');
  const Target out{text.substr(0, equals),
                   equals == std::string::npos ? "" : text.substr(equals + 1)};
  if (!mqtt::is_node_id(out.id) || !is_destination(out.at)) {
    return fail(Code::kInvalid, "'" + text +
                                    "': write the board and where it is, as ssh takes it: "
                                    "n-1=user@192.0.2.7");
  }
  std::error_code ignored;
  const std::string folder = options.out + "/" + out.id;
  if (!std::filesystem::is_regular_file(folder + "/laird.json", ignored)) {
    return fail(Code::kNotFound, folder + " holds no files of " + out.id +
                                     ": lairctl fleet create or enroll makes them");
  }
  return out;
}

Status push_one(const Target& target, const PushOptions& options) {
  const std::string folder = "laird-" + target.id;
  if (!options.package.empty()) {
    const std::string deb = folder + ".deb";
    LAIRD_TRY(run_visibly({"scp", "--", options.package, target.at + ":" + deb}, options.dry_run));
    LAIRD_TRY(
        run_visibly({"ssh", "--", target.at, "sudo apt-get install -y ./" + deb + " && rm " + deb},
                    options.dry_run));
  }
  // What a push that was cut short has left there would be copied into.
  LAIRD_TRY(run_visibly({"ssh", "--", target.at, "rm -rf " + folder}, options.dry_run));
  LAIRD_TRY(
      run_visibly({"scp", "-rp", "--", options.out + "/" + target.id, target.at + ":" + folder},
                  options.dry_run));
  return run_visibly({"ssh", "--", target.at, install_script(target.id)}, options.dry_run);
}

int push(const PushOptions& options) {
  std::vector<Target> targets;
  for (const std::string& text : options.boards) {
    const auto target = target_of(text, options);
    if (!target) return complain(target.error());
    targets.push_back(*target);
  }
  std::size_t done = 0;
  for (const Target& target : targets) {
    const Status pushed = push_one(target, options);
    if (pushed) {
      ++done;
      if (!options.dry_run) print("%s has its files and runs\n", target.id.c_str());
    } else {
      say(target.id + ": " + pushed.error().context);
    }
  }
  print("%zu of %zu boards\n", done, targets.size());
  if (done == targets.size()) return 0;
  say("Next: mend what failed and give the same command again; it harms no board that is done");
  return kPartial;
}

}  // namespace

void add_fleet_push(cli::Command& fleet, int& code) {
  const auto options = std::make_shared<PushOptions>();
  cli::Command* command = fleet.add_subcommand(
      "push",
      "Bring the boards' files to boards that run, over ssh, and start the agents there.\n"
      "Example: lairctl fleet push n-1=user@192.0.2.7 n-2=user@192.0.2.8");
  command
      ->add_option("board", options->boards, "A board and where ssh finds it: n-1=user@192.0.2.7")
      ->required();
  command->add_option("--out", options->out, "Where the boards' folders are")->show_default();
  command->add_option("--package", options->package,
                      "Install this Debian package first: laird_VERSION_arm64.deb");
  command->add_flag("--dry-run", options->dry_run, "Say which commands would be run");
  command->callback([options, &code] { code = push(*options); });
}

}  // namespace laird::control
