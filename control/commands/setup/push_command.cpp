// fleet push: brings the boards' files to boards that run, over ssh.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "control/commands/commands.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/enroll.hpp"
#include "control/screen/output.hpp"
#include "mqtt/codec/topics.hpp"
#include "os/child_process.hpp"

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

// Plain characters only, and none in front that ssh would take for an option.
bool is_destination(const std::string& text) {
  return !text.empty() && text.size() <= 255 && text.front() != '-' &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@") ==
             std::string::npos;
}

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

// With our terminal, environment and agent of keys, for passwords and host keys.
Status run(const std::vector<std::string>& argv, bool dry_run) {
  std::string all;
  for (const std::string& word : argv) all += (all.empty() ? "" : " ") + word;
  if (dry_run) {
    print("would run: %s\n", all.c_str());
    return {};
  }
  ChildSpec spec;
  spec.argv = argv;
  spec.input = spec.output = spec.error = ChildSpec::kInherit;
  spec.dies_with_parent = true;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(Code::kUnavailable, all + " failed");
}

Status push_one(const Target& target, const PushOptions& options) {
  const std::string folder = "laird-" + target.id;
  if (!options.package.empty()) {
    const std::string deb = folder + ".deb";
    LAIRD_TRY(run({"scp", "--", options.package, target.at + ":" + deb}, options.dry_run));
    LAIRD_TRY(run({"ssh", "--", target.at, "sudo apt-get install -y ./" + deb + " && rm " + deb},
                  options.dry_run));
  }
  // What a push that was cut short has left there would be copied into.
  LAIRD_TRY(run({"ssh", "--", target.at, "rm -rf " + folder}, options.dry_run));
  LAIRD_TRY(run({"scp", "-rp", "--", options.out + "/" + target.id, target.at + ":" + folder},
                options.dry_run));
  return run({"ssh", "--", target.at, install_script(target.id)}, options.dry_run);
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
