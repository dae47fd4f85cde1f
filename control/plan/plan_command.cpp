// plan: which board should run which task, by what the fleet publishes now.
#include "control/plan/plan_command.hpp"

#include <csignal>
#include <memory>

#include "agent/placement/search/solve.hpp"
#include "agent/settings/settings.hpp"
#include "config/schema.hpp"
#include "config/units.hpp"
#include "control/fleet/reach.hpp"
#include "control/plan/fleet_facts.hpp"
#include "control/plan/move_task.hpp"
#include "control/plan/plan_answer.hpp"
#include "control/screen/output.hpp"
#include "control/screen/screen.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::control {
namespace {

struct PlanOptions {
  std::string time = "1s";
  std::uint64_t seed = 1;
  std::vector<std::string> without;
  std::vector<std::string> with;
  std::vector<std::string> deadlines;
  std::string why;
  std::string page;
  bool json = false;
  bool apply = false;
};

volatile std::sig_atomic_t g_interrupted = 0;

// While this lives, Ctrl-C ends the search and not the program.
class Interruptible {
 public:
  Interruptible() : before_(std::signal(SIGINT, [](int) { g_interrupted = 1; })) {}
  ~Interruptible() { std::signal(SIGINT, before_); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  void (*before_)(int);
};

// "T=+1h": an hour later; "T=1h": an hour from now; "T=2027-01-31T18:00:00Z".
Status change_deadline(placement::FleetFacts& facts, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(Code::kInvalid, "--deadline " + text + ": write TASK=+1h, TASK=1h or TASK=TIME");
  }
  const std::string task = text.substr(0, equals);
  const std::string to = text.substr(equals + 1);
  const bool moves = to.front() == '+' || to.front() == '-';
  if (const auto by = config::parse_duration(moves ? to.substr(1) : to)) {
    double in_s = static_cast<double>(*by) * 1e-9 * (to.front() == '-' ? -1.0 : 1.0);
    for (const placement::TaskFact& fact : facts.tasks) {
      if (moves && placement::planned_name(facts, fact) == task) in_s += fact.deadline_in_s;
    }
    return placement::with_deadline(facts, task, in_s);
  }
  const Result<TimeNs> at = agent::parse_wall_time(to);
  if (!at) return fail(Code::kInvalid, "--deadline " + text + ": " + at.error().context);
  const std::int64_t after_ms = *at / kMillisecond - unix_ms_now();
  return placement::with_deadline(facts, task, static_cast<double>(after_ms) * 1e-3);
}

Status change(FleetPlan& plan, const PlanOptions& options) {
  for (const std::string& board : options.without) {
    LAIRD_TRY(placement::without_board(plan.facts, board));
    plan.changes.push_back("without " + board);
  }
  for (const std::string& name : options.with) {
    const auto module = power::find_board(name, "");
    LAIRD_TRY(module);
    LAIRD_TRY(placement::with_board(plan.facts, board_of_module(*module)));
    plan.changes.push_back("with " + plan.facts.boards.back().name + ", of module " + name);
  }
  for (const std::string& text : options.deadlines) {
    LAIRD_TRY(change_deadline(plan.facts, text));
    plan.changes.push_back("with the deadline " + text);
  }
  return {};
}

Status solve(FleetPlan& plan, const PlanOptions& options, DurationNs time) {
  auto of = placement::fleet_instance(plan.facts);
  LAIRD_TRY(of);
  plan.of = std::move(*of);
  if (plan.of.tasks.empty()) return {};
  const Interruptible guard;
  const SteadyTime end = after(time);
  const bool shows = colours_on(stderr);
  SteadyTime next = after(kSecond);
  placement::SolveLimits limits;
  limits.seed = options.seed;
  limits.steps_max = UINT64_MAX / 2;
  limits.go_on = [&](const placement::Progress& p) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (shows && now >= next && p.best.makespan_s < placement::kForever) {
      next = after(kSecond);
      say("planning: all done in " + span_text(static_cast<double>(p.best.makespan_s)) +
          "; Ctrl-C takes the best so far");
    }
    return now < end && g_interrupted == 0;
  };
  auto solved = placement::solve(plan.of.instance, limits);
  LAIRD_TRY(solved);
  plan.plan = std::move(*solved);
  plan.stopped = g_interrupted != 0;
  return {};
}

int plan_fleet(const Reach& reach, const PlanOptions& options) {
  const auto where = reach.where(true);
  if (!where) return complain(where.error());
  const Result<DurationNs> time = config::parse_duration(options.time);
  if (!time) return complain(time.error());
  const auto client = FleetClient::open(where->fleet, Listen::kStates, where->timeout);
  if (!client) return complain(client.error());
  FleetPlan plan;
  if (options.apply) {
    const bool asks = !options.without.empty() || !options.with.empty() ||
                      !options.deadlines.empty() || !options.why.empty();
    if (asks) {
      return complain({Code::kInvalid,
                       "--apply carries out the plan of the fleet as it is; leave out --without, "
                       "--with, --deadline and --why"});
    }
  }
  plan.facts = fleet_facts((*client)->view(), where->fleet.fleet);
  if (options.apply) bind_what_stays(plan.facts);
  if (const Status ok = change(plan, options); !ok) return complain(ok.error());
  if (const Status ok = solve(plan, options, *time); !ok) return complain(ok.error());
  if (!options.page.empty()) {
    const Status written = config::write_file(options.page, plan_page(plan));
    if (!written) return complain(written.error());
    say("wrote " + options.page);
  }
  if (!options.why.empty()) {
    const auto told = why_there(plan, options.why);
    if (!told) return complain(told.error());
    print_text(*told);
    return 0;
  }
  if (options.apply) {
    print_text(headline(plan) + "\n");
    return carry_out(**client, moves_of(plan), where->timeout);
  }
  if (options.json || reach.json()) {
    print_json(plan_answer_json(plan));
    return 0;
  }
  print_text(plan_text(plan, Screen::size().columns));
  return 0;
}

}  // namespace

void add_plan(cli::Command& app, int& code) {
  const auto reach = std::make_shared<Reach>();
  const auto options = std::make_shared<PlanOptions>();
  cli::Command* command = app.add_subcommand(
      "plan",
      "Which board should run which task, and when: planned over all boards, with a bound.\n"
      "It changes nothing, unless --apply is given. What has begun stays where it is.\n"
      "Examples: lairctl plan --page plan.html\n"
      "          lairctl plan --without n-3 --with orin-nx-16gb --deadline night-run=+1h\n"
      "          lairctl plan --why night-run");
  command->add_option("--time", options->time, "How long to look for a better plan")
      ->show_default();
  command->add_option("--seed", options->seed, "Seed of the search")->show_default();
  command
      ->add_option("--without", options->without,
                   "As if this board were gone; its tasks begin anew elsewhere")
      ->take_all();
  command
      ->add_option("--with", options->with,
                   "As if there were one more board of this module, like orin-nx-16gb")
      ->take_all();
  command
      ->add_option("--deadline", options->deadlines,
                   "As if a task had another deadline: TASK=+1h, TASK=1h or TASK=TIME")
      ->take_all();
  command->add_option("--why", options->why,
                      "Say why this task is where it is, and what each other place would cost");
  command->add_option("--page", options->page, "Write the plan as a page to this file");
  command->add_flag("--apply", options->apply,
                    "Move the tasks that may move to where the plan has them, one after the other");
  command->add_flag("--json", options->json,
                    "The same as -o json: the answer, the instance and the plan");
  add_output(command, *reach, false);
  add_access(command, *reach);
  command->callback([reach, options, &code] { code = plan_fleet(*reach, *options); });
}

}  // namespace laird::control
