// laird-lab ledger: the share ledger under a bad network and random faults, measured.
#include "lab/ledger/command.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/ledger/convergence.hpp"
#include "lab/ledger/explore.hpp"
#include "lab/ledger/page.hpp"
#include "lab/ledger/paper/paper_command.hpp"
#include "lab/ledger/reclaim.hpp"
#include "lab/ledger/schedule.hpp"

namespace laird::lab {
namespace {

struct Options {
  int nodes = 0;  // 0: 3 to 100 in schedules, 100 for convergence
  std::string graph = "overlay";
  double loss = 0.3;
  double dup = 0.15;
  std::string delay = "1-3";
  int crashes = 3;
  int partitions = 2;
  std::uint32_t drift_ppm = 10'000;
  std::uint64_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::uint64_t schedules = 0;
  std::string schedule_seed;
  int resources = 1;
  int lease = 30;
  unsigned threads = 2;
  bool own_network = false;  // --loss, --dup or --delay was given: schedules use it
  bool own_faults = false;   // --crashes, --partitions or --drift was given
  std::string broken;        // the safeguard that is switched off: fence, tags or trust
  int liars = 0;
  bool broker_lies = false;
  bool near_limits = false;
  bool json = false;
  bool paper = false;
  bool reclaim = false;
  bool explore = false;
  bool tiered = false;
  int changes_before = 0;
  std::string html;
};

// Runs body(seed) for every seed on a few threads. The results are stored by seed, so their order
// does not depend on the threads.
template <class Result, class Body>
std::vector<Result> for_each_seed(std::uint64_t first, std::uint64_t count, unsigned threads,
                                  bool progress, Body body) {
  std::vector<Result> results(count);
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::mutex printing;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < count; i = next++) {
      results[i] = body(first + i);
      const std::uint64_t finished = ++done;
      if (progress && finished % 500 == 0) {
        const std::lock_guard lock(printing);
        std::fprintf(stderr, "%llu of %llu\n", static_cast<unsigned long long>(finished),
                     static_cast<unsigned long long>(count));
      }
    }
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  return results;
}

json::Value spread(std::vector<int> ticks, bool tail = false) {
  std::sort(ticks.begin(), ticks.end());
  json::Value v = json::Value::object();
  if (ticks.empty()) return v;
  const auto permille = [&](std::size_t part) {
    return json::Value::integer(ticks[(ticks.size() * part + 999) / 1000 - 1]);
  };
  v.set("median", ticks[ticks.size() / 2]);
  v.set("p95", permille(950));
  if (tail) v.set("p99", permille(990)).set("p999", permille(999));
  return v;
}

struct Totals {
  std::vector<ConvergenceResult> converged;
  std::vector<ScheduleResult> scheduled;
  std::vector<ReclaimResult> reclaimed;
};

int tick_or_limit(int ticks) { return ticks < 0 ? INT32_MAX : ticks; }

// A board that stays down should be settled within this many ticks.
std::int64_t reclaim_limit(const Options& o) { return o.lease + consensus::kSettlementSlackTicks; }

// The schedules by the size of their fleets: where something fails tells much of why.
json::Value by_boards(const std::vector<ScheduleResult>& results) {
  json::Value out = json::Value::array();
  for (const int least : {3, 4, 5, 8, 16, 32, 64, 128}) {
    const int most = least <= 4 ? least : least == 5 ? 7 : 2 * least - 1;
    std::int64_t runs = 0;
    std::int64_t broken = 0;
    std::int64_t stuck = 0;
    std::int64_t operators = 0;
    std::int64_t fenced = 0;
    Parts excess = 0;
    for (const ScheduleResult& r : results) {
      if (r.nodes < least || r.nodes > most) continue;
      ++runs;
      broken += r.first_break.empty() ? 0 : 1;
      stuck += r.stuck() ? 1 : 0;
      operators += r.needs_operator.empty() ? 0 : 1;
      excess = std::max(excess, r.excess_max);
      if (r.needs_operator.empty()) fenced = std::max(fenced, r.fenced_ticks);
    }
    if (runs == 0) continue;
    json::Value row = json::Value::object();
    row.set("boards_min", least).set("boards_max", most).set("runs", runs);
    row.set("broken", broken).set("stuck", stuck).set("needs_operator", operators);
    row.set("excess_max_parts", excess).set("in_order_ticks_max", fenced);
    out.add(std::move(row));
  }
  return out;
}

json::Value summary(const Options& o, const Totals& totals) {
  Parts excess = 0;
  double stranded = 0;
  std::int64_t reclaim = -1;
  double payload = 0;
  double per_neighbour = 0;
  std::vector<int> t3;
  std::vector<int> t6;
  for (const ConvergenceResult& r : totals.converged) {
    excess = std::max(excess, r.excess_max);
    t3.push_back(tick_or_limit(r.ticks_1e3));
    t6.push_back(tick_or_limit(r.ticks_1e6));
    payload += r.payload_bytes_1e6 / static_cast<double>(totals.converged.size());
    per_neighbour += r.bytes_per_neighbour_tick / static_cast<double>(totals.converged.size());
  }
  std::int64_t operators = 0;
  std::int64_t late = 0;
  std::int64_t stuck = 0;
  std::int64_t guarded = 0;
  Parts overstated = 0;
  Parts owed = 0;
  double above = 0;  // in allowances
  std::vector<int> fenced;
  std::vector<int> waits;
  for (const ScheduleResult& r : totals.scheduled) {
    excess = std::max(excess, r.excess_max);
    if (r.needs_operator.empty()) {
      stranded = std::max(stranded, r.stranded);
    } else {
      ++operators;
    }
    stuck += r.stuck() ? 1 : 0;
    overstated = std::max(overstated, r.overstated_max);
    owed = std::max(owed, r.owed_max);
    guarded += r.guarded ? 1 : 0;
    if (r.bound > 0) {
      above = std::max(above, static_cast<double>(r.overstated_max) / static_cast<double>(r.bound));
    }
    if (r.needs_operator.empty()) fenced.push_back(static_cast<int>(r.fenced_ticks));
    reclaim = std::max(reclaim, r.reclaim_ticks);
    if (r.reclaim_ticks >= 0) waits.push_back(static_cast<int>(r.reclaim_ticks));
    late += r.reclaim_ticks > reclaim_limit(o) ? 1 : 0;
  }
  const auto settled = static_cast<std::int64_t>(waits.size());
  for (const ReclaimResult& r : totals.reclaimed) {
    excess = std::max(excess, r.excess_max);
    stranded = std::max(stranded, static_cast<double>(r.stranded) / consensus::kWhole);
    waits.push_back(tick_or_limit(static_cast<int>(r.ticks)));
    reclaim = std::max<std::int64_t>(reclaim, waits.back());
  }
  json::Value v = json::Value::object();
  v.set("runs", totals.converged.size() + totals.scheduled.size() + totals.reclaimed.size());
  v.set("excess_max_parts", excess);
  v.set("ticks_1e3", spread(t3));
  v.set("ticks_1e6", spread(t6));
  v.set("payload_bytes_per_node", payload);
  v.set("payload_bytes_per_neighbour_tick", per_neighbour);
  v.set("stranded_max", stranded);
  v.set("reclaim_ticks_max", reclaim);
  if (!waits.empty()) v.set("reclaim_ticks", spread(waits, true));
  if (!totals.scheduled.empty()) {
    v.set("needs_operator", operators);
    v.set("reclaims", settled);
    v.set("reclaims_late", late);
    v.set("stuck", stuck);
    if (totals.scheduled.size() > 1) v.set("by_boards", by_boards(totals.scheduled));
  }
  if (o.liars > 0) {
    v.set("guarded", guarded);
    v.set("honest_above_the_whole", static_cast<double>(overstated) / consensus::kWhole);
    v.set("honest_owe", static_cast<double>(owed) / consensus::kWhole);
    v.set("honest_above_of_allowance", above);
    const auto two_leases =
        std::count_if(fenced.begin(), fenced.end(), [&](int ticks) { return ticks > 2 * o.lease; });
    v.set("in_order_ticks", spread(fenced, true));
    v.set("in_order_after_two_leases", static_cast<std::int64_t>(two_leases));
  }
  return v;
}

ScheduleLimits limits_from(const Options& o, const NetworkConfig& network) {
  ScheduleLimits limits;
  if (o.nodes != 0) limits.nodes_min = limits.nodes_max = o.nodes;
  limits.crashes_max = o.crashes;
  limits.partitions_max = o.partitions;
  limits.drift_ppm = o.drift_ppm;
  limits.lease_ticks = o.lease;
  if (o.own_network) limits.network = network;
  limits.faults.no_fence = o.broken == "fence";
  limits.faults.untagged_closings = o.broken == "tags";
  limits.faults.trusting = o.broken == "trust";
  limits.liars = o.liars;
  limits.broker_lies = o.broker_lies;
  limits.near_limits = o.near_limits;
  if (o.near_limits && o.nodes == 0) limits.nodes_max = 200;
  return limits;
}

std::string replay_command(const Options& o, std::uint64_t seed) {
  std::string text = "laird-lab ledger --schedule-seed " + std::to_string(seed) + " --crashes " +
                     std::to_string(o.crashes) + " --partitions " + std::to_string(o.partitions) +
                     " --drift " + std::to_string(o.drift_ppm) + " --lease " +
                     std::to_string(o.lease);
  if (o.nodes != 0) text += " --nodes " + std::to_string(o.nodes);
  if (o.own_network) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, " --loss %g --dup %g --delay ", o.loss, o.dup);
    text += numbers + o.delay;
  }
  if (o.liars != 0) text += " --liars " + std::to_string(o.liars);
  if (o.broker_lies) text += " --broker-lies";
  if (o.near_limits) text += " --near-limits";
  if (!o.broken.empty()) text += " --break " + o.broken;
  return text;
}

// Prints the failures, each with the command that replays it alone, and returns their number.
int report_failures(const Options& o, const std::vector<ScheduleResult>& results) {
  int failures = 0;
  for (const ScheduleResult& r : results) {
    if (r.reclaim_ticks > reclaim_limit(o)) {
      std::fprintf(stderr, "seed %llu: settled only after %lld ticks, lease %d\n  replay: %s\n",
                   static_cast<unsigned long long>(r.seed), static_cast<long long>(r.reclaim_ticks),
                   o.lease, replay_command(o, r.seed).c_str());
    }
    const bool broken = !r.first_break.empty();
    if (!broken && !r.stuck()) continue;
    ++failures;
    if (failures > 20) continue;
    const std::string stuck = r.business.empty()
                                  ? "stranded " + std::to_string(r.stranded) + " of the whole"
                                  : r.business;
    std::fprintf(stderr, "seed %llu, %d nodes, %d crashes: %s\n  replay: %s\n",
                 static_cast<unsigned long long>(r.seed), r.nodes, r.crashes,
                 broken ? r.first_break.c_str() : stuck.c_str(), replay_command(o, r.seed).c_str());
  }
  return failures;
}

bool parse_delay(const std::string& text, NetworkConfig& network) {
  int a = 0;
  int b = 0;
  const int fields = std::sscanf(text.c_str(), "%d-%d", &a, &b);
  if (fields == 1) b = a;
  if (fields < 1 || a < 1 || b < a || b > 60) return false;
  network.delay_min = a;
  network.delay_max = b;
  return true;
}

json::Value told(const char* what, const ExploreResult& r) {
  json::Value v = json::Value::object();
  v.set("search", what);
  v.set("states", r.states);
  v.set("transitions", r.transitions);
  v.set("complete", r.complete);
  v.set("needs_operator", r.needs_operator);
  v.set("violation", r.violation);
  return v;
}

int run_explore() {
  AgreementBounds taken_over;
  taken_over.taken_over = true;
  taken_over.messages_max = 16;
  const ExploreResult results[] = {explore_agreement({}), explore_agreement(taken_over),
                                   explore_lives({3, 4}), explore_lives({4, 12})};
  const char* names[] = {"agreement of three keepers", "agreement, one finishes what another began",
                         "two crashes, three boards", "two crashes, four boards"};
  int code = 0;
  for (std::size_t i = 0; i < std::size(results); ++i) {
    std::printf("%s\n", json::to_text(told(names[i], results[i])).c_str());
    if (!results[i].violation.empty()) code = 1;
  }
  return code;
}

int run(const Options& o) {
  if (o.explore) return run_explore();
  if (o.paper) return run_paper_comparison(o.seeds, o.first_seed, o.json);
  ConvergenceConfig config;
  config.nodes = o.nodes == 0 ? 100 : o.nodes;
  config.network.loss = o.loss;
  config.network.duplicate = o.dup;
  config.resources = o.resources;
  config.tiered = o.tiered;
  config.changes_before = o.changes_before;
  config.graph = o.graph == "ring" ? Graph::kRing
                 : o.graph == "er" ? Graph::kErdosRenyi
                                   : Graph::kNeighbours;
  if (config.graph == Graph::kRing) config.ticks_max = 20'000;
  if (!parse_delay(o.delay, config.network)) {
    std::fprintf(stderr, "--delay wants A-B in ticks, 1 <= A <= B <= 60, not '%s'\n",
                 o.delay.c_str());
    return 2;
  }
  Totals totals;
  if (!o.schedule_seed.empty()) {
    ScheduleLimits limits = limits_from(o, config.network);
    limits.tell = !o.json;
    totals.scheduled.push_back(run_schedule(limits, std::stoull(o.schedule_seed)));
  } else if (o.reclaim) {
    const ReclaimConfig reclaim{config.nodes, o.lease, config.network};
    totals.reclaimed = for_each_seed<ReclaimResult>(
        o.first_seed, o.seeds, o.threads, false,
        [&](std::uint64_t seed) { return run_reclaim(reclaim, seed); });
  } else {
    if (o.schedules == 0) {
      config.trace = !o.html.empty();
      totals.converged = for_each_seed<ConvergenceResult>(
          o.first_seed, o.seeds, o.threads, false,
          [&](std::uint64_t seed) { return run_convergence(config, seed); });
    }
    // If faults are given without a number of schedules, each seed also runs one schedule.
    const std::size_t schedules = o.schedules > 0 ? o.schedules : o.own_faults ? o.seeds : 0;
    const ScheduleLimits limits = limits_from(o, config.network);
    totals.scheduled = for_each_seed<ScheduleResult>(
        o.first_seed, schedules, o.threads, o.schedules > 0,
        [&](std::uint64_t seed) { return run_schedule(limits, seed); });
  }
  const int failures = report_failures(o, totals.scheduled);
  if (!o.html.empty() && !totals.converged.empty()) {
    if (const Status ok = config::write_file(o.html, ledger_page(config, totals.converged)); !ok) {
      std::fprintf(stderr, "laird-lab ledger: %s\n", ok.error().text().c_str());
      return 1;
    }
  }
  const json::Value v = summary(o, totals);
  std::printf("%s\n", (o.json ? json::to_text(v) : json::to_pretty_text(v)).c_str());
  return failures > 0 || v.find("excess_max_parts")->as_integer() > 0 ? 1 : 0;
}

}  // namespace

void add_ledger(cli::Command& app, ExitCode& code) {
  auto o = std::make_shared<Options>();
  cli::Command* cmd = app.add_subcommand(
      "ledger", "Simulate the share ledger: convergence, or random fault schedules");
  cmd->footer(
      "Examples:\n"
      "  laird-lab ledger --nodes 100 --loss 0.3 --dup 0.15 --delay 1-3 --seeds 20 --json\n"
      "  laird-lab ledger --schedules 10000\n"
      "  laird-lab ledger --nodes 20 --crashes 2 --partitions 1 --seeds 50    (both, seed by "
      "seed)\n"
      "  laird-lab ledger --schedules 1000 --liars 1       (one member lies)\n"
      "  laird-lab ledger --schedules 1000 --broker-lies\n"
      "  laird-lab ledger --schedules 1000 --near-limits   (real incarnations, counters near "
      "2^31)\n"
      "  laird-lab ledger --seed 7 --liars 1               (replay one schedule)\n"
      "  laird-lab ledger --schedules 200 --break fence    (must fail: the checker's own test)\n"
      "  laird-lab ledger --schedules 200 --liars 1 --break trust    (must fail too)\n"
      "  laird-lab ledger --reclaim --nodes 100 --lease 60 --loss 0.3 --seeds 100 --json\n"
      "  laird-lab ledger --paper --seeds 10\n");
  cmd->add_option("--nodes", o->nodes, "boards (schedules: drawn from 3 to 100 when absent)")
      ->check(cli::range(2, 20'000));
  cmd->add_option("--graph", o->graph, "overlay, er or ring")
      ->check(cli::one_of({"overlay", "er", "ring"}));
  cmd->add_option("--loss", o->loss, "part of the messages lost (schedules: drawn when absent)")
      ->check(cli::range(0.0, 0.95));
  cmd->add_option("--dup", o->dup, "part of the messages repeated")->check(cli::range(0.0, 1.0));
  cmd->add_option("--delay", o->delay, "A-B, ticks");
  cmd->add_flag("--tiers", o->tiered,
                "convergence with the costs that boards make of their tasks: deadlines first, then "
                "what only ends work sooner");
  cmd->add_option("--changes-before", o->changes_before,
                  "convergence after the demands have changed so many times")
      ->check(cli::range(0, 1000));
  cmd->add_option("--resources", o->resources, "contested at once")->check(cli::range(1, 3));
  cmd->add_option("--seeds", o->seeds,
                  "convergence runs, and a schedule each where faults are given")
      ->check(cli::range(1, 1'000'000));
  cmd->add_option("--first-seed", o->first_seed, "the first seed");
  cmd->add_option("--schedules", o->schedules, "run that many fault schedules instead");
  cmd->add_option("--schedule-seed,--seed", o->schedule_seed,
                  "replay one schedule, told step by step")
      ->check(cli::non_negative());
  cmd->add_option("--liars", o->liars, "members that lie in every schedule; one is the claim")
      ->check(cli::range(0, 3));
  cmd->add_flag("--broker-lies", o->broker_lies,
                "the broker drops, keeps back and repeats, link by link");
  cmd->add_flag(
      "--near-limits", o->near_limits,
      "incarnations as real boards have them, counters that begin near 2^31 or their end");
  cmd->add_option("--crashes", o->crashes, "at most, per schedule")->check(cli::range(0, 10));
  cmd->add_option("--partitions", o->partitions, "at most, per schedule")->check(cli::range(0, 10));
  cmd->add_option("--drift", o->drift_ppm, "clocks run within this many ppm")
      ->check(cli::range(0, 50'000));
  cmd->add_option("--lease", o->lease, "ticks, in schedules and with --reclaim")
      ->check(cli::range(20, 1000));
  cmd->add_option("--threads", o->threads, "at once")->check(cli::range(1, 64));
  cmd->add_option("--break", o->broken, "run a ledger broken on purpose: fence, tags or trust")
      ->check(cli::one_of({"fence", "tags", "trust"}));
  cmd->add_flag("--reclaim", o->reclaim, "how long the share of a board that dies is out of use");
  cmd->add_flag("--explore", o->explore,
                "search exhaustively within bounds: keepers' agreement, and pairs of crashes");
  cmd->add_flag("--paper", o->paper, "compare with the paper's dynamics and the schemes it cites");
  cmd->add_option("--html", o->html, "write a page that draws gap, budget use and bytes");
  cmd->add_flag("--json", o->json, "one line of JSON");
  cmd->callback([o, cmd, &code] {
    const auto given = [cmd](std::initializer_list<const char*> names) {
      return std::any_of(names.begin(), names.end(),
                         [cmd](const char* name) { return cmd->given(name); });
    };
    o->own_network = given({"--loss", "--dup", "--delay"});
    o->own_faults = given({"--crashes", "--partitions", "--drift"});
    code.value = run(*o);
  });
}

}  // namespace laird::lab
