// Private to the rerun: one board's life in virtual time, divided over files by topic. The driver
// and what was asked of the board are in rerun.cpp, the trainers in life_trainers.cpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/whatif/lane_use.hpp"
#include "agent/whatif/rerun.hpp"

namespace laird::whatif {

// How long a life may go on after the recorded one ended.
inline constexpr DurationNs kLongestMore = 400 * kDay;

// A board's place in a fleet that is run again with it (fleet_rerun.cpp): its ledger runs too.
struct FleetPlace {
  // What is not in the board's own recording, at its own time: budgets, tasks from other boards.
  std::vector<Given> given;
  std::set<std::string> moved_away;                // tasks that another board gets
  std::map<TaskId, const TaskRecord*> moved_here;  // how they learn
  std::function<core::FleetBudget(const core::FleetBudget&, TimeNs at)> change_budget;
  std::function<void(const core::SendToPeer&, TimeNs at)> send;
  TimeNs ends_at = kNever;  // nothing of it happens any more: its agent was gone for good
};

class Life {
 public:
  // `place`: nothing for a board that is run again by itself.
  Life(const Recording& recording, const Changes& changes, Beyond beyond, const RerunWatch& watch,
       const FleetPlace* place = nullptr)
      : r_(recording), changes_(changes), beyond_(beyond), watch_(watch), place_(place) {}

  [[nodiscard]] Status begin();
  // When the next thing happens, by the agent's own time; kNever: nothing does.
  [[nodiscard]] TimeNs next_at();
  void do_next();
  // Whether every task that ended then has ended.
  [[nodiscard]] bool over() const;
  [[nodiscard]] Rerun finish(const RerunEnd& end);
  // A peer's message, there at that time.
  void deliver(TimeNs at, core::PeerMessage message);

 private:
  enum class Kind : std::uint8_t {
    kReady,
    kStartFails,
    kReport,
    kCrash,
    kIdleCrash,
    kPaused,
    kSaved,
    kExit,
    kYield,
    kPromoted,
    kWake,
    kKnob,
    kReading,
    kGoesOn
  };
  struct Happening {
    TimeNs at = 0;
    std::uint64_t order = 0;
    std::uint64_t generation = 0;
    core::TaskKey task = 0;
    Kind kind = Kind::kWake;
    std::int32_t value = 0;
    bool operator<(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  // A task's trainer, and what outlives it.
  struct Trainer {
    const TaskRecord* record = nullptr;  // nullptr: nothing is known of it, and it never gets ready
    bool is_of_another = false;          // the record is that of another run
    core::ProcessRef ref;
    bool alive = false;
    bool working = false;
    std::uint64_t samples = 0;   // as far as it came when it last said so
    std::uint64_t reported = 0;  // with a loss
    std::uint64_t begun = 0;     // when the grant in progress began
    std::uint64_t saved = 0;     // in its checkpoint
    std::uint64_t until = 0;
    std::uint64_t next = 0;        // samples of the next report
    std::uint64_t generation = 0;  // of the work in progress: outdates what was planned before
    std::uint64_t process = 0;     // the same of the process
    double work_from = 0.0;        // work done when the stretch in progress began
    TimeNs since = 0;
    double speed = 0.0;
    double share = 0.0;
    std::size_t crashes = 0;  // of the recorded ones that have come
    std::size_t yields = 0;
    std::size_t pauses = 0;
    std::size_t saves = 0;
  };

  void leave_out();
  void add_given();
  void resume(const core::Task& task);
  [[nodiscard]] bool given_is_next();
  [[nodiscard]] TimeNs tick_at() const;
  [[nodiscard]] const Stall* stall_at(TimeNs at);
  void go_on();
  void wake();
  [[nodiscard]] bool concerns_moved(const core::EventBody& body) const;
  void apply(TimeNs at, core::EventBody body);
  void give(const Given& given);
  void give_to_member(const Given& given);
  void submit(TimeNs at, core::EventBody body, core::TaskSpec spec);
  void command(TimeNs at, core::OperatorCommand command);
  void boot(TimeNs at, core::Booted booted);
  void limit(TimeNs at, const FleetLimits& limits);
  void set_limits(const FleetLimits& limits);
  void read(TimeNs at, power::PowerReading reading, const std::array<double, 2>& then);
  void carry_out(const core::Effect& effect);
  void happen(const Happening& h);
  void later(TimeNs at, Kind kind, core::TaskKey task, std::uint64_t generation,
             std::int32_t value = 0);

  void meet(const TaskId& id, const core::Task& task);
  [[nodiscard]] const TaskRecord* record_of(const TaskId& id) const;
  [[nodiscard]] const TaskRecord* another_run(const core::TaskSpec& spec) const;
  void expect_idle_crashes(core::TaskKey key, const Trainer& t);
  [[nodiscard]] Trainer* find(const core::ProcessRef& ref);
  void start(const core::StartTrainer& start, TimeNs told_at);
  void work(Trainer& t, const core::RunTrainer& run);
  void plan(Trainer& t);
  void stop_work(Trainer& t);
  void change_speed();
  void report(Trainer& t, std::uint64_t samples);
  void on_report(core::TaskKey key, Trainer& t);
  void on_crash(Trainer& t);
  void on_idle_crash(const Happening& h);
  void on_paused(Trainer& t);
  void stop(const core::StopTrainer& stop);
  void pause(Trainer& t, TimeNs told_at);
  void save(Trainer& t);
  void exit_after(Trainer& t, TimeNs told_at);
  void die();
  [[nodiscard]] double work_now(const Trainer& t) const;
  [[nodiscard]] std::uint64_t samples_now(const Trainer& t) const;
  [[nodiscard]] std::uint64_t next_report(const Trainer& t) const;
  [[nodiscard]] std::uint64_t end_of(const Trainer& t) const;
  [[nodiscard]] double work_at(const TaskRecord& record, double samples) const;
  [[nodiscard]] double loss_at(const Trainer& t, std::uint64_t samples);

  const Recording& r_;
  const Changes& changes_;
  const Beyond beyond_;
  const RerunWatch& watch_;
  const FleetPlace* const place_;
  core::State state_;
  core::Effects effects_;
  std::priority_queue<Happening> future_;
  std::vector<Given> given_;
  std::size_t next_given_ = 0;
  std::map<core::TaskKey, Trainer> trainers_;
  std::vector<core::EventBody> held_;  // while the agent stands still
  std::size_t next_stall_ = 0;
  std::size_t next_tick_ = 0;
  std::vector<std::pair<TimeNs, core::PeerMessage>> inbox_;
  bool readings_go_on_ = false;
  bool submitting_ = false;
  std::map<TaskId, TaskRecord> added_;
  std::set<TaskId> later_runs_;  // that began after the recorded life: nobody asks for them
  Names names_;
  Tallier tallier_;
  LaneUse lanes_;
  std::optional<double> energy_then_;  // when the recorded life ended
  double first_energy_j_ = 0.0;
  Rerun out_;
  TimeNs now_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t wake_generation_ = 0;
  double rungs_ = 1.0;
};

// The task that an event asks for or asks something of; nullptr: none.
[[nodiscard]] const std::string* task_named_by(const core::EventBody& body);

}  // namespace laird::whatif
