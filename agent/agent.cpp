#include "agent/agent.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "agent/settings/cotrain_task.hpp"
#include "agent/settings/promote_task.hpp"
#include "agent/trainer_host/task_meter.hpp"
#include "base/require.hpp"

namespace laird::agent {
namespace {

constexpr std::size_t kBatchMax = 64;
constexpr std::size_t kQueueMax = 4096;
constexpr DurationNs kStoreRetryEvery = kSecond;
constexpr DurationNs kClockCheckEvery = 10 * kSecond;
// Less than this is no standing still, and far less than a board's fence is ahead of its peers'.
constexpr DurationNs kStoodStillMin = kMillisecond;
constexpr DurationNs kClockStepMin = 2 * kSecond;
constexpr DurationNs kClockApartMax = 20 * kMicrosecond;  // two readings taken as one
constexpr int kClockTriesMax = 16;
// Below these a trainer hardly moves: it could not even write its checkpoint in time.
constexpr std::int32_t kQuotaFloorPermille = 250;

constexpr std::int32_t kDutyFloorPermille = 250;

std::string read_text(const char* path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// An outcome, once decided, must outlive a power cut before the trainer is told to go, and so must
// what is said of a title before another board hears it.
bool must_last(const core::Effects& commands) {
  for (const core::Effect& command : commands) {
    if (std::holds_alternative<core::SendTitle>(command.body)) return true;
    const auto* changed = std::get_if<core::TaskChanged>(&command.body);
    if (changed != nullptr && changed->outcome != core::Outcome::kNone) return true;
  }
  return false;
}

constexpr const char* kBlockedText =
    "the journal cannot be written, so nothing new is accepted; free some disk space or check the "
    "disk";

// The number of an operator's request, 0 for other events.
std::uint64_t request_of(const core::EventBody& body) {
  return std::visit(
      [](const auto& event) -> std::uint64_t {
        if constexpr (requires { event.request; }) return event.request;
        return 0;
      },
      body);
}

// A later report of the same kind by the same process takes the place of the one that waits.
template <class Report>
bool replace_report(const core::EventBody& body, core::EventBody& waiting) {
  const auto* next = std::get_if<Report>(&body);
  auto* held = std::get_if<Report>(&waiting);
  if (next == nullptr || held == nullptr) return false;
  if (held->key != next->key || held->attempt != next->attempt) return false;
  *held = *next;
  return true;
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::create(Loop& loop, Machine& machine, const Settings& settings,
                                             Log log) {
  std::unique_ptr<Agent> agent(new Agent(loop, machine.clock, std::move(log)));
  journal::Recovery recovery;
  Result<std::unique_ptr<journal::Journal>> journal =
      journal::Journal::open(settings.state_dir + "/journal", settings.journal,
                             machine.clock.wall_ns(), settings.core.node, recovery);
  LAIRD_TRY(journal);
  agent->journal_ = std::move(*journal);
  agent->state_ = std::move(recovery.state);
  mark_cotrain_tasks(agent->state_);
  for (const std::string& note : recovery.notes)
    agent->log_(LogLevel::kWarning, "journal: " + note);
  if (recovery.events_replayed > 0) {
    agent->log_(LogLevel::kInfo,
                "journal: brought back " + std::to_string(agent->state_.live.size()) +
                    " unfinished and " + std::to_string(agent->state_.ended.size()) +
                    " ended tasks from " + std::to_string(recovery.events_replayed) + " events");
  }
  if (settings.use_cgroups) {
    // Not by the node's name alone: another agent that has the same must keep its trainers.
    char folder[17];
    std::snprintf(folder, sizeof folder, "%016llx",
                  static_cast<unsigned long long>(digest_of(settings.state_dir)));
    agent->groups_ = CgroupTree::find("/sys/fs/cgroup", read_text("/proc/self/cgroup"),
                                      settings.core.node + "-" + folder);
    if (agent->groups_ != nullptr) agent->groups_->clear_leftovers();
  }
  agent->log_(LogLevel::kInfo,
              agent->groups_ != nullptr
                  ? agent->groups_->describe()
                  : "no writable cgroup: trainers are held by the protocol and SIGSTOP alone");
  agent->trainers_ = settings.trainers;
  agent->tasks_folder_ = settings.state_dir + "/tasks";
  agent->in_fleet_ = !settings.fleet.name.empty();
  Agent* self = agent.get();
  agent->pool_ = std::make_unique<TrainerPool>(
      loop, machine.processes, settings.trainers, settings.state_dir, agent->groups_.get(),
      settings.cell.processes, [self](core::EventBody body) { self->post(std::move(body)); },
      [self](const std::string& text) { self->log_(LogLevel::kDebug, text); });
  agent->pool_->on_meter([self](core::TaskKey key) { return metered(self->state_, key); });
  agent->door_ = std::make_unique<DoorCheck>(loop, machine.processes, settings.state_dir + "/tasks",
                                             settings.cell.check_for);
  const auto promoter = settings.trainers.find(std::string(core::kPromoter));
  agent->models_ = std::make_unique<ModelStore>(
      loop, settings.state_dir,
      promoter == settings.trainers.end() ? "" : promoter->second.argv.front(), agent->log_);
  agent->models_->take_all(agent->state_);
  agent->pushed_ =
      std::make_unique<PushedFiles>(loop, settings.push_folder, settings.push_bytes_max);
  Result<std::unique_ptr<PowerFeed>> power = PowerFeed::open(
      loop, settings.power, settings.board, agent->state_,
      [self](core::EventBody body) {
        const auto* sampled = std::get_if<core::PowerSampled>(&body);
        if (sampled != nullptr) self->reading_ = sampled->reading;
        self->post(std::move(body));
      },
      agent->log_);
  LAIRD_TRY(power);
  agent->power_ = std::move(*power);
  agent->log_(LogLevel::kInfo,
              "board: " + settings.board.title + "; power: " + agent->power_->describe());
  agent->knobs_ = PowerKnobs::open(
      loop, settings.power_helper, settings.board,
      [self](core::EventBody body) { self->post(std::move(body)); }, agent->log_);
  agent->log_(LogLevel::kInfo, "power: " + agent->knobs_->describe());
  core::CoreConfig core_config = settings.core;
  agent->offer_rungs(core_config.power.governor);
  agent->boot(core_config, machine);
  loop.after(kClockCheckEvery, [self] { self->watch_clock(); });
  return agent;
}

Agent::~Agent() = default;

// What this machine has to throttle with, beside the gate that every board has.
void Agent::offer_rungs(power::GovernorConfig& governor) const {
  const auto rung = [&governor](power::Rung which) -> power::RungConfig& {
    return governor.rungs[which];
  };
  rung(power::Rung::kCpuQuota).available = groups_ != nullptr && groups_->limits_cpu();
  rung(power::Rung::kCpuQuota).floor_permille = kQuotaFloorPermille;
  rung(power::Rung::kFreezer).available = true;  // by signals where there is no group
  rung(power::Rung::kFreezer).floor_permille = kDutyFloorPermille;
  knobs_->offer(governor);
}

void Agent::boot(const core::CoreConfig& config, const Machine& machine) {
  core::Booted booted;
  booted.config = config;
  booted.machine_boot = machine.boot;
  booted.program = machine.program;
  const auto [wall, since_boot] = read_clocks();
  // Agent time starts from the wall clock and from then on only counts; a clock set back while
  // the board was off does not take it back before what is journalled. While the machine stayed
  // up, at least the time its own clock counted has passed, whatever the wall clock says.
  base_ns_ = std::max(wall, state_.now + 1) - since_boot;
  if (booted.machine_boot == state_.fleet.machine_boot) {
    base_ns_ = std::max(base_ns_, state_.agent_minus_machine);
  }
  booted.wall_ns = wall;
  booted.machine_ns = since_boot;
  booted.zone = zone_at(wall);
  post_at(base_ns_ + since_boot, std::move(booted));
}

// Both clocks at one instant. What passes between the two readings, by load or a frozen process, is
// an error of every wall-clock time the journal tells from then on.
Agent::Clocks Agent::read_clocks() const {
  Clocks best;
  DurationNs least = INT64_MAX;
  for (int tries = 0; tries < kClockTriesMax && least > kClockApartMax; ++tries) {
    const TimeNs before = clock_.boot_ns();
    const TimeNs wall = clock_.wall_ns();
    const TimeNs after = clock_.boot_ns();
    if (after - before >= least) continue;
    least = after - before;
    best = {wall, before + least / 2};
  }
  return best;
}

core::Zone Agent::zone_at(TimeNs wall) const {
  const LocalTime local = clock_.local_time(wall);
  return {local.offset, local.change_wall, local.offset_after};
}

TimeNs Agent::now() const { return std::max(base_ns_ + clock_.boot_ns(), state_.now); }

Agent::Instant Agent::instant() const {
  const auto [wall, machine] = read_clocks();
  return {wall, std::max(base_ns_ + machine, state_.now)};
}

void Agent::post(core::EventBody body) {
  if (!merge_into_queue(body)) post_at(now(), std::move(body));
}

void Agent::post_at(TimeNs at, core::EventBody body) {
  // Trainers are bounded by their grants and requests by their refusal, so this is a bug, not load.
  LAIRD_REQUIRE(queue_.size() < kQueueMax, "the event queue is full");
  Pending pending;
  pending.event.at = at;
  pending.event.body = std::move(body);
  queue_.push_back(std::move(pending));
}

// While the journal is blocked, later reports of a task and of the meter replace earlier ones and
// one tick stands for all: the queue stays bounded however long the disk is full.
bool Agent::merge_into_queue(const core::EventBody& body) {
  if (!blocked_) return false;
  for (std::size_t i = written_; i < queue_.size(); ++i) {
    Pending& pending = queue_[i];
    if (pending.event.body.index() != body.index()) continue;
    if (std::holds_alternative<core::Ticked>(body)) return true;
    // The next look at the clocks sees what is still off.
    if (std::holds_alternative<core::ClockStepped>(body)) return true;
    if (std::holds_alternative<core::PowerSampled>(body)) {
      pending.event.body = body;
      return true;
    }
    if (replace_report<core::TrainerProgressed>(body, pending.event.body) ||
        replace_report<core::TrainerCheckpointed>(body, pending.event.body)) {
      return true;
    }
  }
  return false;
}

std::uint64_t Agent::expect(Reply reply) {
  const std::uint64_t request = next_request_++;
  replies_[request] = std::move(reply);
  return request;
}

bool Agent::refuse_if_blocked(const Reply& reply) {
  if (!blocked_ && queue_.size() < kQueueMax / 2) return false;
  core::Answer answer;
  answer.code = blocked_ ? Code::kFull : Code::kUnavailable;
  answer.text = blocked_ ? kBlockedText : "too many requests at once; try again";
  if (reply) reply(answer);
  return true;
}

// Requests that met the full disk are not in the journal: whoever asked is told now, rather than
// left waiting for an answer that may come in a week.
void Agent::refuse_waiting() {
  core::Answer answer;
  answer.code = Code::kFull;
  answer.text = kBlockedText;
  std::vector<Reply> refused;
  const auto waiting = queue_.begin() + static_cast<std::ptrdiff_t>(written_);
  const auto gone = std::remove_if(waiting, queue_.end(), [&](const Pending& pending) {
    const std::uint64_t request = request_of(pending.event.body);
    if (request == 0) return false;
    const auto found = replies_.find(request);
    if (found != replies_.end()) {
      refused.push_back(std::move(found->second));
      replies_.erase(found);
    }
    return true;
  });
  queue_.erase(gone, queue_.end());
  for (const Reply& reply : refused) {
    if (reply) reply(answer);
  }
}

std::string Agent::task_problem(const core::TaskSpec& spec) const {
  const std::string problem = cotrain_task_problem(spec, trainers_, in_fleet_);
  return problem.empty() ? promote_task_problem(spec, trainers_) : problem;
}

void Agent::check_task(const core::TaskSpec& spec, bool replace, DoorCheck::Done then) {
  std::string problem = task_problem(spec);
  const auto program = trainers_.find(spec.trainer);
  const bool is_known = !replace && state_.find_named(spec.name) != nullptr;
  // What the core refuses anyway, or has already, needs no trainer's word.
  if (!problem.empty() || is_known || program == trainers_.end() || !core::admits(state_, spec)) {
    then(std::move(problem));
    return;
  }
  door_->check(spec, program->second, std::move(then));
}

void Agent::submit(core::TaskSpec spec, Reply reply, bool replace) {
  if (refuse_if_blocked(reply)) return;
  auto hand_in = [this, spec, reply, replace](const std::string& problem) mutable {
    if (problem.empty()) {
      const std::uint64_t request = expect(std::move(reply));
      post(core::Submitted{request, std::move(spec), replace});
      return;
    }
    core::Answer answer;
    answer.code = Code::kRefused;
    answer.text = problem;
    if (reply) reply(answer);
  };
  // Those of the board's own file were checked by whoever wrote it, and wait for nobody.
  if (!reply) return hand_in(task_problem(spec));
  check_task(spec, replace, hand_in);
}

void Agent::edit(core::EditRequested edit, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  edit.request = expect(std::move(reply));
  post(std::move(edit));
}

void Agent::remove(std::string task, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::RemoveRequested{request, std::move(task)});
}

void Agent::cancel(std::string task, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::CancelRequested{request, std::move(task)});
}

void Agent::pause(std::string task, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::PauseRequested{request, std::move(task)});
}

void Agent::resume(std::string task, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::ResumeRequested{request, std::move(task)});
}

void Agent::move(std::string task, std::string to, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::MoveRequested{request, std::move(task), std::move(to)});
}

void Agent::drain(bool drain, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::DrainRequested{request, drain});
}

void Agent::change_budget(core::FleetBudget budget, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::BudgetChanged{request, std::move(budget)});
}

void Agent::command(core::OperatorCommand command, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  command.request = expect(std::move(reply));
  std::visit([&](auto& body) { body.request = command.request; }, command.body);
  post(std::move(command));
}

void Agent::note_refused(core::CommandRefused refused) {
  if (blocked_ || queue_.size() >= kQueueMax / 2) return;
  post(std::move(refused));
}

void Agent::set_cap(std::optional<std::int64_t> cap_mw, DurationNs for_ns, Reply reply) {
  if (refuse_if_blocked(reply)) return;
  const std::uint64_t request = expect(std::move(reply));
  post(core::CapRequested{request, cap_mw, for_ns});
}

void Agent::shut_down() {
  if (blocked_) {
    // Nothing can be recorded any more, so there is nothing to wait for: checkpoints are safe.
    pool_->kill_everything();
    finished_ = true;
    return;
  }
  post(core::ShutdownRequested{});
}

void Agent::process() {
  while (!blocked_ && !finished_ && (!commands_.empty() || !queue_.empty())) {
    // All that is left are commands that came too late: the core has to hear what time it is.
    if (queue_.empty() && !unconfirmed_) post_at(now(), core::Ticked{});
    Status ok = unconfirmed_ ? confirm() : written_ > 0 ? sync_batch() : write_batch();
    if (ok) ok = step_batch();
    if (ok) ok = journal_->keep_up(state_, clock_.wall_ns());
    if (!ok) block(ok.error());
  }
}

// Until the commit has succeeded nothing of the batch is in the journal, and it is written again;
// from then on it is there for good, and only the disk's word may be missing.
Status Agent::write_batch() {
  const std::size_t count = std::min(queue_.size(), kBatchMax);
  durable_ = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t seq = journal_->append(queue_[i].event);
    if (i == 0) first_seq_ = seq;
    durable_ = durable_ || core::is_promise(queue_[i].event.body);
  }
  LAIRD_TRY(journal_->commit(false));
  written_ = count;
  return sync_batch();
}

Status Agent::sync_batch() { return durable_ ? journal_->commit(true) : Status{}; }

// Stops at an outcome that the disk does not confirm: what it asks for is done once it does.
Status Agent::step_batch() {
  while (written_ > 0) {
    const Pending pending = std::move(queue_.front());
    queue_.pop_front();
    --written_;
    core::Effects stepped;
    core::step(state_, pending.event, stepped);
    ++steps_;
    journal_->record(first_seq_++, stepped, state_.digest());
    unconfirmed_ = must_last(stepped);
    std::move(stepped.begin(), stepped.end(), std::back_inserter(commands_));
    if (unconfirmed_) {
      LAIRD_TRY(confirm());
    } else if (!overslept()) {
      carry_out_all();
    }
  }
  return {};
}

Status Agent::confirm() {
  LAIRD_TRY(journal_->commit(true));
  unconfirmed_ = false;
  if (!overslept()) carry_out_all();
  return {};
}

// Between an event and what follows from it the process may have stood still: a slow disk, a
// machine out of memory, a stopped process. If the board's fence has passed meanwhile its share may
// already be another's, and nothing decided before is done until the core knows the time.
bool Agent::overslept() const {
  const TimeNs at = now();
  if (at - state_.now < kStoodStillMin) return false;
  return !core::is_on_floor(state_, state_.now) && core::is_on_floor(state_, at);
}

void Agent::carry_out_all() {
  const core::Effects commands = std::exchange(commands_, {});
  for (const core::Effect& command : commands) carry_out(command);
  power_->on_stepped();
  cap_watch_.on_mean(state_.power.mean_at, state_.power.mean_mw,
                     state_.power.in_force(state_.config.power).mw);
}

void Agent::block(const Error& error) {
  if (!told_blocked_) {
    log_(LogLevel::kError,
         "journal cannot be written: " + error.context +
             "; running grants end, nothing new is accepted, retrying every second");
  }
  blocked_ = true;
  told_blocked_ = true;
  watch_fence();
  refuse_waiting();
  if (retry_ == 0) {
    retry_ = loop_.after(kStoreRetryEvery, [this] { unblock(); });
  }
}

// The fence does not wait for the journal. A grant ends before it by what is known of its trainer's
// speed; a trainer that is slower, or hangs, is stopped.
void Agent::watch_fence() {
  if (fence_ != 0 || !blocked_ || !state_.fleet.member()) return;
  if (core::is_on_floor(state_, now())) {
    pool_->hold(true);
    return;
  }
  const DurationNs margin = core::fence_margin(state_.config.slice, state_.config.fleet.lease);
  const core::Fleet& fleet = state_.fleet;
  const DurationNs left = fleet.ledger->fence_deadline() - margin - now();
  fence_ = loop_.after(std::clamp<DurationNs>(left, 1, core::kLeaseMax), [this] {
    fence_ = 0;
    watch_fence();
  });
}

void Agent::unblock() {
  retry_ = 0;
  blocked_ = false;
  process();
  if (blocked_) return;
  // Only now: the core has heard the time, and nobody goes on with what was granted before.
  pool_->hold(false);
  told_blocked_ = false;
  log_(LogLevel::kInfo, "journal: writing again");
}

void Agent::set_wake(TimeNs at) {
  if (wake_ != 0) loop_.cancel(wake_);
  wake_ = 0;
  if (at == kNever) return;
  wake_ = loop_.after(at - now(), [this] {
    wake_ = 0;
    std::vector<core::PeerMessage> heard;
    if (peers_.gather && !blocked_) heard = peers_.gather();
    if (heard.empty()) {
      post(core::Ticked{});
    } else {
      post(core::PeersHeard{std::move(heard)});
    }
    std::vector<core::PeerMessage> titles;
    if (peers_.gather_titles && !blocked_) titles = peers_.gather_titles();
    if (!titles.empty()) post(core::TitlesHeard{std::move(titles)});
    std::vector<core::PeerMessage> runs;
    if (peers_.gather_runs && !blocked_) runs = peers_.gather_runs();
    if (!runs.empty()) post(core::RunsHeard{std::move(runs)});
  });
}

void Agent::watch_clock() {
  look_at_clock();
  loop_.after(kClockCheckEvery, [this] { watch_clock(); });
}

void Agent::look_at_clock() {
  const auto [wall, machine] = read_clocks();
  const TimeNs at = std::max(base_ns_ + machine, state_.now);
  const DurationNs off = wall - at - state_.wall_minus_agent;
  const bool jumped = off > kClockStepMin || off < -kClockStepMin;
  if (jumped) {
    log_(LogLevel::kWarning, "the wall clock jumped by " + std::to_string(off / kSecond) + " s");
  }
  const core::Zone zone = zone_at(wall);
  // Another also when a change has passed, or has come into sight.
  if (jumped || zone != state_.zone) {
    const core::EventBody stepped = core::ClockStepped{wall, zone};
    if (!merge_into_queue(stepped)) post_at(at, stepped);
  }
}

}  // namespace laird::agent
