#include "tests/virtual/fleet_world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "agent/fleet/report.hpp"
#include "agent/replay/replay.hpp"
#include "mqtt/sign/authority.hpp"

namespace laird::test {
namespace {

constexpr std::int64_t kFloorMw = 2'000;
constexpr std::int64_t kBudgetPerBoardMw = 7'000;
constexpr std::size_t kPower = static_cast<std::size_t>(core::Resource::kPower);
// Deadlines are shorter than this, so after it every task is over.
constexpr DurationNs kComeBack = 45 * kMinute;
// The enforced watts are whole milliwatts, rounded down.
constexpr double kGivenOutMin = 0.97;

bool decides(Board& board) { return !board.frozen() && !board.agent().journal_blocked(); }

// Time has passed that no event has told the core of: the journal cannot be written, or was slow.
bool is_behind(Board& board) {
  return !decides(board) || board.agent().now() - board.state().now > kMinute;
}

std::string seconds_text(TimeNs at) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(at) * 1e-9);
  return text;
}

// Real certificates, so that boards believe each other. Keys differ from run to run, and nothing
// that a board does follows from their bytes.
void give_certificates(const std::string& folder, const std::vector<std::string>& boards) {
  constexpr std::int64_t kDays = 3'650;  // the world's clock starts in 2027
  const Result<mqtt::Authority> authority = mqtt::Authority::create("lab", kDays);
  if (!authority) std::abort();
  std::ofstream(folder + "/ca.crt") << authority->cert_pem().value();
  for (const std::string& board : boards) {
    const mqtt::Issued issued = authority->issue({board, mqtt::Role::kNode, {}, kDays}).value();
    std::ofstream(folder + "/" + board + "/node.crt") << issued.cert_pem;
    std::ofstream(folder + "/" + board + "/node.key") << issued.key_pem;
  }
}

}  // namespace

FleetWorld::FleetWorld(const WorldOptions& options)
    : options_(options), chance_(options.seed), broker_(time_, chance_), operator_(time_, broker_) {
  budget_mw_ = kBudgetPerBoardMw * static_cast<std::int64_t>(options.boards);
  budget_before_mw_ = budget_mw_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < options.boards; ++i) {
    const std::string name = "n-" + std::to_string(i + 1);
    const auto drift = static_cast<std::int64_t>(chance_.below(301)) - 150;
    boards_.push_back(std::make_unique<Board>(name, options.folder + "/" + name, config_of(i),
                                              time_, chance_, broker_, drift));
    names.push_back(name);
  }
  give_certificates(options.folder, names);
}

FleetWorld::~FleetWorld() = default;

std::string FleetWorld::config_of(std::size_t index) const {
  static constexpr const char* kPolicies[] = {"foresight", "round-robin", "laira"};
  static constexpr const char* kModels[] = {"nano-4gb", "xavier-nx-8gb", "orin-nx-16gb"};
  std::string members;
  for (std::size_t i = 0; i < options_.boards; ++i) {
    members += (i == 0 ? "\"n-" : ", \"n-") + std::to_string(i + 1) + "\": {\"power\": \"2W\"}";
  }
  return R"({"node": "n-)" + std::to_string(index + 1) +
         R"(", "state_dir": "state", "cgroups": false, "control_socket": "none",
  "policy": ")" +
         kPolicies[index % 3] + R"(", "slice": "60s",
  "board": {"name": ")" +
         kModels[index % 3] + R"(", "memory": "2GB",
            "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 2}]},
  "power": {"source": "modelled", "every": "60s"},
  "timing": {"checkpoint_every": "120s"},
  "journal": {"file_max": "4MB", "total_max": "40MB"},
  "trainers": {"curve": {"exec": ["/bin/true"]}},
  "fleet": {"name": "lab", "brokers": ["mqtt://localhost:1"], "insecure_lab": true,
    "tls": {"ca": "../ca.crt", "cert": "node.crt", "key": "node.key"},
    "tick": "15s", "lease": "300s", "publish_every": "15s", "members": {)" +
         members + R"(}, "budget": {"power": ")" + std::to_string(budget_mw_) + R"(mW"},
    "operators": [{"name": ")" +
         Operator::kName + R"(", "key": ")" + operator_.key() + R"("}]}})";
}

void FleetWorld::fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = "at " + seconds_text(time_.now()) + ": " + what;
}

bool FleetWorld::run() {
  for (auto& board : boards_) {
    board->on_started([this](Board& started) { watch(started); });
    board->start();
  }
  if (options_.disk) {
    plan_trial(*options_.disk);
  } else if (!options_.calm) {
    plan_fault();
  }
  plan_work();
  run_until(options_.faults_for);
  if (options_.disk) {
    counts_.trial_writes = FakeDisk::writes(boards_[options_.disk->board]->folder());
  }
  heal();
  run_until(options_.faults_for + kComeBack);
  if (failure_.empty()) check_end();
  if (failure_.empty()) check_replay();
  return failure_.empty();
}

void FleetWorld::run_until(TimeNs end) {
  const TimeNs from = time_.now();
  while (failure_.empty()) {
    TimeNs next = time_.next();
    for (auto& board : boards_) next = std::min(next, board->next_due());
    if (next > end) break;
    time_.advance_to(next);
    time_.run_due();
    for (auto& board : boards_) {
      if (board->next_due() > time_.now()) {
        // The trainers of an agent that does not decide go on until their grants end.
        if (board->running() && !decides(*board)) check_use(*board);
        continue;
      }
      board->turn();
      ++counts_.turns;
      check_use(*board);
      if (options_.movable) check_titles();
    }
  }
  time_.advance_to(end);
  counts_.board_time += static_cast<DurationNs>(boards_.size()) * (time_.now() - from);
}

void FleetWorld::watch(Board& board) {
  board.on_changed([this](const core::Task& task, const core::TaskChanged& change) {
    if (change.state != core::TaskState::kEnded) return;
    const auto found = promised_.find(task.spec.name);
    if (found == promised_.end()) return;
    if (change.outcome == core::Outcome::kSucceeded) ++counts_.succeeded;
    if (change.outcome == core::Outcome::kMoved) ++counts_.moved;
    // A board that died with the word of its end does not stop another from taking it over.
    if (options_.movable) return;
    if (++found->second.outcomes > 1) fail("task " + task.spec.name + " ended twice");
  });
  check_promises(board);
}

// What a board may use at this moment, and what it says of it. The trainers of a dead agent are
// dead; those of an agent that stands still work on to the end of their grants; those of one that
// cannot write its journal do too, but not beyond the fence.
void FleetWorld::check_use(Board& board) {
  std::int64_t uses = kFloorMw;
  if (board.running() && (!board.frozen() || board.trainers().any_working())) {
    const std::int64_t enforced = board.state().fleet.enforced[kPower];
    if (enforced != core::kUnlimited) uses = std::max(uses, enforced);
  }
  if (board.running() && !board.frozen() && is_behind(board)) {
    const std::int64_t told =
        agent::report_of(board.state(), board.agent().now()).power_mw.enforced;
    if (told < uses && board.trainers().any_working()) {
      fail(board.name() + " tells of " + std::to_string(told) + " mW, and its trainers work with " +
           std::to_string(uses));
    }
    uses = std::max(kFloorMw, told);
  }
  std::int64_t& before = uses_mw_[&board];
  uses_all_mw_ += uses - before;
  before = uses;
  const std::int64_t allowed = std::max(budget_mw_, budget_before_mw_);
  if (uses_all_mw_ <= allowed || options_.titles_alone) return;
  std::string parts;
  for (const auto& each : boards_) {
    parts += " " + each->name() + " " + std::to_string(uses_mw_[each.get()]);
  }
  fail("the boards use " + std::to_string(uses_all_mw_) + " of " + std::to_string(allowed) +
       " mW:" + parts);
}

// What trainers do is looked at from outside, whatever their agents know or say.
void FleetWorld::check_titles() {
  std::map<std::string, std::string> works;
  std::map<consensus::TitleId, std::string> holds;
  for (auto& board : boards_) {
    if (!board->running()) continue;
    for (const std::string& task : board->trainers().at_work()) {
      if (promised_.count(task) == 0) continue;
      ++counts_.at_work;
      const auto [other, first] = works.emplace(task, board->name());
      if (!first) fail(other->second + " and " + board->name() + " both work on " + task);
    }
    const core::Fleet& fleet = board->state().fleet;
    const auto& titles = std::as_const(fleet.titles);
    const auto& ledger = std::as_const(fleet.ledger);
    if (!titles || !ledger || board->frozen() || ledger->fenced(board->agent().now())) continue;
    for (const consensus::HeldTitle& title : titles->titles().held()) {
      if (title.state != consensus::TitleState::kHeld || title.as != ledger->account()) continue;
      const auto [other, first] = holds.emplace(title.id, board->name());
      if (!first) fail(other->second + " and " + board->name() + " both hold one title");
    }
  }
}

void FleetWorld::check_promises(Board& board) {
  if (options_.movable) return;  // another board may have it
  for (const auto& [task, promise] : promised_) {
    if (promise.board != board.name() || promise.outcomes > 0) continue;
    if (board.state().find_named(task) == nullptr) {
      fail(board.name() + " has lost the task " + task + ", which it had accepted");
    }
  }
}

void FleetWorld::check_end() {
  std::int64_t given_out = 0;
  for (auto& board : boards_) {
    const std::string& name = board->name();
    if (!board->running()) return fail(name + " did not come back: " + board->last_error());
    if (!board->connected()) return fail(name + " has no link");
    const core::State& state = board->state();
    if (board->agent().journal_blocked()) return fail(name + " cannot write its journal");
    if (!state.fleet.ledger) return fail(name + " has not joined the fleet");
    if (state.fleet.fenced(board->agent().now())) return fail(name + " is fenced");
    if (state.fleet.budget.rev != budget_rev_) {
      return fail(name + " has not heard of the newest budget");
    }
    if (!state.live.empty()) {
      return fail(name + " still has " + state.live.front().spec.name);
    }
    given_out += state.fleet.enforced[kPower];
    check_promises(*board);
  }
  if (static_cast<double>(given_out) < kGivenOutMin * static_cast<double>(budget_mw_)) {
    fail("of " + std::to_string(budget_mw_) + " mW only " + std::to_string(given_out) +
         " are given out");
  }
}

void FleetWorld::check_replay() {
  for (auto& board : boards_) {
    const std::string folder = board->folder() + "/state/journal";
    board->kill();
    std::map<std::string, int> done;
    std::uint64_t commands = 0;
    std::uint64_t repeated = 0;
    std::string twice;
    const auto watch = [&](const core::Event& event, const core::State& state,
                           const core::Effects&) {
      const bool carried_out = state.fleet.counters.commands > commands;
      commands = state.fleet.counters.commands;
      repeated = state.fleet.counters.commands_repeated;
      const auto* command = std::get_if<core::OperatorCommand>(&event.body);
      if (command == nullptr || !carried_out) return;
      ++counts_.commands_done;
      if (++done[command->id] > 1) twice = command->id;
    };
    const Result<lab::ReplayResult> replayed = lab::replay(
        folder, [](std::uint64_t) {}, watch);
    if (!twice.empty()) return fail(board->name() + " did the command " + twice + " twice");
    if (!replayed) return fail(board->name() + ": " + replayed.error().text());
    counts_.replayed_events += replayed->events;
    counts_.commands_repeated += repeated;
    if (replayed->difference) return fail(board->name() + ": " + lab::report(*replayed));
  }
}

}  // namespace laird::test
