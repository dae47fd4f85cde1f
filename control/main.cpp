#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/command.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/exit.hpp"
#include "control/plan/plan_command.hpp"
#include "os/process_end.hpp"

namespace {

constexpr const char* kAbout =
    "lairctl: the hand on a fleet of boards that train: submit, watch, steer, cap, provision.\n"
    "Example: lairctl submit -f task.json --any";

constexpr const char* kFooter =
    "Where a command goes:\n"
    "  --local or --socket: this machine's agent. --node, --all, --any, --config, --fleet,\n"
    "  --broker or --credentials: the fleet. Otherwise LAIRD_SOCKET: this machine's agent;\n"
    "  LAIRCTL_CONFIG, LAIRD_FLEET or ~/.config/laird/lairctl.json: the fleet; and without any of\n"
    "  them this machine's agent.\n"
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 partial, 70 a bug,\n"
    "  124 timed out or no answer.";

}  // namespace

int main(int argc, char** argv) {
  using namespace laird::control;
  std::signal(SIGPIPE, SIG_IGN);
  laird::cli::Command app{kAbout};
  app.set_version("lairctl " LAIRD_VERSION);
  app.require_subcommand();
  app.footer(kFooter);
  int code = 0;
  add_status(app, code);
  add_get(app, code);
  add_describe(app, code);
  add_submit(app, code);
  add_plan(app, code);
  add_task_verbs(app, code);
  add_move(app, code);
  add_models(app, code);
  add_pull(app, code);
  add_push(app, code);
  add_why(app, code);
  add_drain(app, code);
  add_cap(app, code);
  add_config(app, code);
  add_fleet(app, code);
  add_top(app, code);
  add_serve(app, code);
  add_replay(app, code);
  add_report(app, code);
  add_doctor(app, code);
  add_pki(app, code);
  add_broker(app, code);
  add_enroll(app, code);
  add_join(app, code);
  add_provision(app, code);
  add_upgrade(app, code);
  add_purge(app, code);
  add_version(app, code);
  add_completion(app, code);
  try {
    if (const std::optional<int> ended = app.parse(argc, argv)) code = *ended;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lairctl: a bug: %s\n", e.what());
    code = kBug;
  }
  laird::end_process(code);
}
