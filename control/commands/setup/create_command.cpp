// fleet create: a fleet from nothing, in one command that can be given again and again. It makes
// the files; once the broker answers it publishes the budget; and it always says what comes next.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "config/units.hpp"
#include "control/commands/commands.hpp"
#include "control/fleet/fleet_budget.hpp"
#include "control/fleet/reach.hpp"
#include "control/provision/founding/founding.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

constexpr DurationNs kBrokerWait = 5 * kSecond;

struct CreateOptions {
  std::string fleet;
  std::vector<std::string> hosts;
  std::vector<std::string> boards;
  std::string budget;
  std::string floor;
  std::string op;
  std::string pki = "pki";
  std::string enroll = "enroll";
  std::string mosquitto = "mosquitto";
  std::string broker_at = "/etc/mosquitto/laird";
  std::string access;
  int port = 0;
  bool dry_run = false;
};

// The person at the keyboard, as far as the name may be an operator's.
std::string own_operator() {
  const passwd* me = ::getpwuid(::getuid());
  std::string name;
  for (const char* c = me == nullptr ? "" : me->pw_name; *c != '\0'; ++c) {
    const bool plain = std::isalnum(static_cast<unsigned char>(*c)) != 0;
    name += plain ? static_cast<char>(std::tolower(static_cast<unsigned char>(*c))) : '-';
  }
  return "op-" + (name.empty() ? "operator" : name.substr(0, 29));
}

Result<FoundingPlan> plan_of(const CreateOptions& options) {
  FoundingPlan plan;
  plan.fleet = options.fleet;
  plan.hosts = options.hosts;
  plan.port = static_cast<std::uint16_t>(options.port == 0 ? 8883 : options.port);
  plan.op = options.op.empty() ? own_operator() : options.op;
  if (!options.budget.empty()) {
    const auto mw = config::parse_power(options.budget);
    if (!mw) return fail(Code::kInvalid, "--budget: " + mw.error().context);
    plan.budget_mw = *mw;
  }
  std::optional<std::int64_t> floor;
  if (!options.floor.empty()) {
    const auto mw = config::parse_power(options.floor);
    if (!mw) return fail(Code::kInvalid, "--floor: " + mw.error().context);
    floor = *mw;
  }
  if (floor && options.boards.empty()) {
    return fail(Code::kInvalid, "--floor is of boards that are named with --board");
  }
  for (const std::string& text : options.boards) {
    auto board = plan_board(text, floor);
    LAIRD_TRY(board);
    plan.boards.push_back(std::move(*board));
  }
  std::sort(plan.boards.begin(), plan.boards.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  LAIRD_TRY(check_plan(plan));
  return plan;
}

// What differs of a founding that has begun. Boards have the founders in their configs, and the
// broker's certificate its names, so neither changes by a flag.
std::string difference(const CreateOptions& options, const FoundingPlan& asked,
                       const FoundingPlan& begun) {
  if (!options.hosts.empty() && asked.hosts != begun.hosts) return "--host";
  if (options.port != 0 && asked.port != begun.port) return "--port";
  if (!options.op.empty() && asked.op != begun.op) return "--operator";
  if (!options.budget.empty() && asked.budget_mw != begun.budget_mw) return "--budget";
  if (!options.boards.empty() && asked.boards != begun.boards) return "--board or --floor";
  return {};
}

Result<FoundingPlan> plan_to_follow(const CreateOptions& options) {
  auto begun = read_plan(options.pki);
  if (!begun) {
    if (begun.error().code != Code::kNotFound) return begun;
    return plan_of(options);
  }
  CreateOptions all = options;
  if (all.hosts.empty()) all.hosts = begun->hosts;
  const auto asked = plan_of(all);
  LAIRD_TRY(asked);
  const std::string differs =
      begun->fleet != asked->fleet ? "the name" : difference(options, *asked, *begun);
  if (differs.empty()) return begun;
  return fail(Code::kRefused,
              "the fleet '" + begun->fleet + "' was begun with another plan (" + options.pki +
                  "/fleet.json): " + differs +
                  " differs. A board more: lairctl enroll; another budget: lairctl cap set; to "
                  "begin anew, move the folder " +
                  options.pki + " away");
}

void say_broker(const CreateOptions& options, const FoundingPlan& plan) {
  print(
      "\nNext: the broker. If it is this machine:\n"
      "      sudo lairctl broker install %s\n"
      "      else copy the folder %s to %s and give the command there, in its folder.\n"
      "      Then again: lairctl fleet create %s\n",
      options.mosquitto.c_str(), options.mosquitto.c_str(), plan.hosts.front().c_str(),
      plan.fleet.c_str());
}

void say_boards(const CreateOptions& options, const std::vector<std::string>& missing) {
  std::string list;
  for (const std::string& id : missing) list += " " + id + "=USER@ADDRESS";
  print(
      "\nNext: the boards that have not been seen yet. Each has laird installed; then\n"
      "      lairctl fleet push%s\n"
      "      or copy %s/ID by hand, and at the end: lairctl fleet status\n",
      list.c_str(), options.enroll.c_str());
}

// With a broker that answers: the budget, if there is none yet, and who is missing.
int publish(const CreateOptions& options, const FoundingPlan& plan, FleetClient& client) {
  const FleetView& view = client.view();
  if (!view.budget() && !plan.boards.empty()) {
    core::FleetBudget budget = plan.budget();
    budget.rev = 1;
    const int code = put_in_force(client, budget, kBrokerWait);
    // Boards that do not run yet cannot have taken it, all of them at first; that is no failure.
    if (code != 0 && code != kPartial && code != kTimedOut) return code;
    if (!client.budget_is_mine()) return code;
  } else if (view.budget()) {
    print("there already: the budget, revision %lld\n", static_cast<long long>(view.budget()->rev));
  }
  std::vector<std::string> missing;
  for (const PlannedBoard& board : plan.boards) {
    if (view.boards().count(board.id) == 0) missing.push_back(board.id);
  }
  if (!missing.empty()) {
    say_boards(options, missing);
    return 0;
  }
  if (plan.boards.empty() && !view.budget()) {
    print(
        "\nNext: boards. From one image: lairctl join image, and lairctl join approve when they "
        "ask\n");
    return 0;
  }
  print("\nNext: lairctl fleet status\n");
  return 0;
}

int create(const CreateOptions& options) {
  const auto plan = plan_to_follow(options);
  if (!plan) return complain(plan.error());
  Founding founding;
  founding.plan = *plan;
  founding.places = {options.pki, options.enroll, options.mosquitto, options.broker_at,
                     options.access};
  if (founding.places.access.empty()) {
    founding.places.access = usual_access_path(process_environment());
  }
  founding.dry_run = options.dry_run;
  founding.tell = [&](const FoundingStep& step) {
    const char* verb = step.there ? "there already" : options.dry_run ? "would make" : "made";
    print("%s: %s, %s\n", verb, step.what.c_str(), step.where.c_str());
  };
  if (const Status made = found_files(founding); !made) return complain(made.error());
  for (const PlannedBoard& board : plan->boards) {
    print("%s keeps %s whatever happens%s%s\n", board.id.c_str(),
          config::format_power(board.floor_mw).c_str(), board.type.empty() ? "" : ": ",
          board.type.c_str());
  }
  if (options.dry_run) return 0;
  AccessFlags flags;
  flags.config = founding.places.access;
  const auto where = decide(
      flags, [](const char*) { return std::nullopt; }, true);
  if (!where) return complain(where.error());
  const auto client = FleetClient::open(where->fleet, Listen::kEvents, kBrokerWait);
  if (!client) {
    print("\nNo broker answers yet: %s\n", client.error().context.c_str());
    say_broker(options, *plan);
    return 0;
  }
  return publish(options, *plan, **client);
}

}  // namespace

void add_fleet_create(cli::Command& fleet, int& code) {
  const auto options = std::make_shared<CreateOptions>();
  cli::Command* command = fleet.add_subcommand(
      "create",
      "Make a fleet from nothing: authority, operator, the boards' and the broker's files, "
      "lairctl's config.\n"
      "Given again it completes what is missing, publishes the budget, and says what comes next.\n"
      "Example: lairctl fleet create lab --host broker.local --budget 45W --board "
      "n-1=orin-nano-8gb --board n-2=orin-nx-16gb");
  command->add_option("name", options->fleet, "The fleet's name")->required();
  command->add_option(
      "--host", options->hosts,
      "A name or address the broker is reached by; once for each, the boards' first");
  command->add_option("--board", options->boards,
                      "A board and its module, n-1=orin-nano-8gb; once for each");
  command->add_option("--budget", options->budget, "Power of all boards together: 60W");
  command->add_option("--floor", options->floor,
                      "Power each board keeps whatever happens (default: by its module's file); "
                      "less than the module draws idle is refused");
  command->add_option("--operator", options->op, "Your name as an operator (default: op-USER)");
  command->add_option("--port", options->port, "The broker's port (default: 8883)")
      ->check(cli::range(0, 65'535));
  command->add_option("--pki", options->pki, "The folder of the fleet's certificates")
      ->show_default();
  command->add_option("--out", options->enroll, "Where to put a folder for each board")
      ->show_default();
  command->add_option("--broker-files", options->mosquitto, "Where to put the broker's folder")
      ->show_default();
  command
      ->add_option("--at", options->broker_at,
                   "Where the broker's folder will stand on its machine")
      ->show_default();
  command->add_option("--config", options->access,
                      "lairctl's config to write (default: ~/.config/laird/lairctl.json)");
  command->add_flag("--dry-run", options->dry_run, "Say what would be made, make nothing");
  command->callback([options, &code] { code = create(*options); });
}

}  // namespace laird::control
