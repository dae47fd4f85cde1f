// The live driver: events from the outside go to the journal, then through the core, and what the
// core asks for is done. One thread; everything here runs on it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/board_power/cap_watch.hpp"
#include "agent/board_power/power_feed.hpp"
#include "agent/board_power/power_knobs.hpp"
#include "agent/core/step/step.hpp"
#include "agent/journal/journal.hpp"
#include "agent/machine.hpp"
#include "agent/models/model_store.hpp"
#include "agent/models/pushed_files.hpp"
#include "agent/trainer_host/door_check.hpp"
#include "agent/os/cgroup.hpp"
#include "agent/os/log.hpp"
#include "agent/os/loop.hpp"
#include "agent/settings/settings.hpp"
#include "agent/trainer_host/trainer_pool.hpp"

namespace laird::agent {

class Agent {
 public:
  // How a request ended: called once, after the core decided.
  using Reply = std::function<void(const core::Answer&)>;
  using Changed = std::function<void(const core::Task&, const core::TaskChanged&)>;

  // The caller holds the lock of the state folder (folder_lock.hpp).
  [[nodiscard]] static Result<std::unique_ptr<Agent>> create(Loop& loop, Machine& machine,
                                                             const Settings& settings, Log log);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Requests of an operator. Refused at once while the journal cannot be written.
  // `replace`: takes the name of the task that has it.
  void submit(core::TaskSpec spec, Reply reply, bool replace = false);
  void edit(core::EditRequested edit, Reply reply);
  void remove(std::string task, Reply reply);
  void cancel(std::string task, Reply reply);
  void pause(std::string task, Reply reply);
  void resume(std::string task, Reply reply);
  void move(std::string task, std::string to, Reply reply);
  void drain(bool drain, Reply reply);
  // A power cap of the operator's for `for_ns` (0: until it is taken back); none takes it back.
  void set_cap(std::optional<std::int64_t> cap_mw, DurationNs for_ns, Reply reply);
  void shut_down();

  // The fleet's side: what a link has to say, and what it is asked to send.
  struct Peers {
    std::function<std::vector<core::PeerMessage>()> gather;  // what was heard since the last tick
    std::function<void(const core::SendToPeer&)> send;
    std::function<std::vector<core::PeerMessage>()> gather_titles;  // the same of titles
    std::function<void(const core::SendTitle&)> send_title;
    std::function<std::vector<core::PeerMessage>()> gather_runs;  // of earlier runs
    std::function<void(const core::SendRun&)> send_run;
    std::function<void(const core::Notice&)> notice;
  };
  void set_peers(Peers peers) { peers_ = std::move(peers); }
  void join_fleet(bool seen_before) { post(core::FleetJoined{seen_before}); }
  // Another agent has this board's name.
  void leave_fleet() { post(core::Displaced{}); }
  void change_budget(core::FleetBudget budget, Reply reply);
  // A signed command of an operator who may give it.
  void command(core::OperatorCommand command, Reply reply);
  void note_refused(core::CommandRefused refused);
  // What became of a change of the settings.
  void note_config(std::string text) { post(core::ConfigNoted{core::clipped(std::move(text))}); }

  // Works through everything queued; call after each round of the loop.
  void process();
  void on_child_signal() { pool_->reap(); }
  // Co-training tasks: what their trainers say to other boards, and what they are told.
  void on_to_peers(TrainerPool::ToPeers shared) { pool_->on_to_peers(std::move(shared)); }
  void on_group(TrainerPool::Group told) { pool_->on_group(std::move(told)); }
  void tell_trainer(core::TaskKey key, const std::string& line, bool may_drop) {
    pool_->tell(key, line, may_drop);
  }
  // Why this board cannot run a co-training task, or promote the task's model; empty when it can.
  [[nodiscard]] std::string task_problem(const core::TaskSpec& spec) const;
  // Calls `then` with the task's problem, after its trainer has had its say about a new one.
  void check_task(const core::TaskSpec& spec, bool replace, DoorCheck::Done then);
  void on_changed(Changed changed) { changed_ = std::move(changed); }

  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] bool idle() const { return state_.live.empty() && queue_.empty(); }
  [[nodiscard]] const core::State& state() const { return state_; }
  // Events stepped since the start: while it stands still, so does the state.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // Tells the core if the wall clock was set; done every few seconds by itself.
  void look_at_clock();
  [[nodiscard]] TimeNs now() const;
  // The same moment by the wall clock and in agent time.
  struct Instant {
    TimeNs wall = 0;
    TimeNs agent = 0;
  };
  [[nodiscard]] Instant instant() const;
  [[nodiscard]] const std::string& journal_path() const { return journal_->path(); }
  // The newest reading of the board's power, if there was one.
  [[nodiscard]] const std::optional<power::PowerReading>& last_reading() const { return reading_; }
  // Since the start: how long the mean power was above the cap.
  [[nodiscard]] DurationNs over_cap_ns() const { return cap_watch_.over_ns(); }
  [[nodiscard]] bool journal_blocked() const { return blocked_; }
  // The file with what the task's trainer printed, if it has printed anything.
  [[nodiscard]] std::string trainer_log(const std::string& task) const {
    return pool_->log_of(task);
  }
  // The models that stand on this board.
  [[nodiscard]] ModelStore& models() const { return *models_; }
  [[nodiscard]] PushedFiles& pushed() const { return *pushed_; }
  // What keeps trainers apart from this agent, once it is known.
  [[nodiscard]] std::optional<cell::Guards> guards() const { return pool_->guards(); }

 private:
  Agent(Loop& loop, Clock& clock, Log log) : loop_(loop), clock_(clock), log_(std::move(log)) {}

  struct Pending {
    core::Event event;
  };

  struct Clocks {
    TimeNs wall = 0;
    TimeNs machine = 0;
  };
  [[nodiscard]] Clocks read_clocks() const;
  [[nodiscard]] core::Zone zone_at(TimeNs wall) const;
  void boot(const core::CoreConfig& config, const Machine& machine);
  void offer_rungs(power::GovernorConfig& governor) const;
  void post(core::EventBody body);
  void post_at(TimeNs at, core::EventBody body);
  std::uint64_t expect(Reply reply);
  [[nodiscard]] bool refuse_if_blocked(const Reply& reply);
  [[nodiscard]] Status write_batch();
  [[nodiscard]] Status sync_batch();
  [[nodiscard]] Status step_batch();
  [[nodiscard]] Status confirm();
  [[nodiscard]] bool overslept() const;
  void carry_out_all();
  void block(const Error& error);
  void refuse_waiting();
  void watch_fence();
  void unblock();
  void carry_out(const core::Effect& command);
  void set_wake(TimeNs at);
  void watch_clock();
  [[nodiscard]] bool merge_into_queue(const core::EventBody& body);

  Loop& loop_;
  Clock& clock_;
  Log log_;
  Changed changed_;
  Peers peers_;
  core::State state_;
  std::uint64_t steps_ = 0;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<CgroupTree> groups_;
  std::map<std::string, TrainerProgram> trainers_;
  bool in_fleet_ = false;
  std::string tasks_folder_;
  std::unique_ptr<TrainerPool> pool_;
  std::unique_ptr<ModelStore> models_;
  std::unique_ptr<PushedFiles> pushed_;
  std::unique_ptr<DoorCheck> door_;
  std::unique_ptr<PowerFeed> power_;
  std::unique_ptr<PowerKnobs> knobs_;
  std::optional<power::PowerReading> reading_;
  CapWatch cap_watch_;
  std::deque<Pending> queue_;
  // The batch at the front of the queue that is in the journal and waits to be stepped.
  std::size_t written_ = 0;
  std::uint64_t first_seq_ = 0;
  bool durable_ = false;
  core::Effects commands_;    // still to be carried out, in this order
  bool unconfirmed_ = false;  // the last of them only once the disk has what they follow from
  std::map<std::uint64_t, Reply> replies_;
  std::uint64_t next_request_ = 1;
  TimeNs base_ns_ = 0;  // agent time = base + CLOCK_BOOTTIME
  Loop::TimerId wake_ = 0;
  bool blocked_ = false;
  bool told_blocked_ = false;  // in the log: once, not at every retry
  Loop::TimerId retry_ = 0;
  Loop::TimerId fence_ = 0;  // set while the journal is blocked and a share is in use
  bool finished_ = false;
};

}  // namespace laird::agent
