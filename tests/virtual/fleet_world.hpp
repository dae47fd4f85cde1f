// A whole fleet in virtual time, in two phases. First boards are killed, cut from power, frozen and
// cut off, disks fill, clocks are set, trainers crash and hang, the broker goes and comes back with
// or without its memory, links lose, delay and repeat. Then all of it stops, and everything must
// come back.
//
// Checked after every turn of every board: what all boards use together stays within the budget. At
// every start: every accepted task is there, with one outcome at most. At the end: all boards are
// in, hold the whole budget between them, every task is over, every journal replays to the bit, and
// by the journals no command was carried out twice. Of tasks that may move: at every turn at most
// one board works on each, and at most one that is part of its fleet holds it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/virtual/board.hpp"
#include "tests/virtual/operator.hpp"

namespace laird::test {

// One fault of one board's disk, which begins before the write of that number to its journal.
struct DiskTrial {
  FakeDisk::Fault fault = FakeDisk::Fault::kNone;
  std::size_t board = 0;
  std::uint64_t at_write = 1;
  DurationNs lasts = 8 * kMinute;  // longer than a lease: the others take over its share
};

struct WorldOptions {
  std::uint64_t seed = 1;
  std::size_t boards = 6;
  DurationNs faults_for = 2 * kHour;
  std::string folder;             // of all boards
  std::optional<DiskTrial> disk;  // in the place of all other faults
  bool movable = false;           // tasks may move, and are moved
  bool titles_alone = false;      // what boards use of the budget is not looked at
  bool calm = false;              // without any fault
};

struct WorldCounts {
  std::uint64_t turns = 0;
  std::uint64_t kills = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t freezes = 0;
  std::uint64_t cuts = 0;
  std::uint64_t broker_stops = 0;
  std::uint64_t bad_disks = 0;  // full, failing, read-only or slow
  std::uint64_t clock_jumps = 0;
  std::uint64_t trainer_faults = 0;
  std::uint64_t commands = 0;
  std::uint64_t commands_done = 0;
  std::uint64_t commands_repeated = 0;  // and known to have been done
  std::uint64_t accepted = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t moved = 0;    // to other boards, by operators and by backups
  std::uint64_t at_work = 0;  // looks at a task that some board worked on
  std::uint64_t replayed_events = 0;
  std::uint64_t trial_writes = 0;  // of the board whose disk is on trial, until faults end
  DurationNs board_time = 0;       // lived by all boards together
};

class FleetWorld {
 public:
  explicit FleetWorld(const WorldOptions& options);
  ~FleetWorld();

  // Both phases and the last checks; false as soon as something is wrong, failure() says what.
  [[nodiscard]] bool run();
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const WorldCounts& counts() const { return counts_; }

 private:
  struct Promised {
    std::string board;
    int outcomes = 0;
  };

  [[nodiscard]] std::string config_of(std::size_t index) const;
  void run_until(TimeNs end);
  void watch(Board& board);
  void check_use(Board& board);
  void check_titles();
  void check_promises(Board& board);
  void check_end();
  void check_replay();
  void fail(const std::string& what);

  // faults.cpp: what happens to the fleet in the first phase.
  void plan_fault();
  void plan_trial(const DiskTrial& trial);
  void do_fault();
  void kill_some(bool power);
  void lose_clock();
  void freeze_some();
  void stop_broker();
  void worsen_link();
  void heal();
  void plan_work();
  void submit();
  void steer();
  [[nodiscard]] Board& some() { return *boards_[chance_.below(boards_.size())]; }

  const WorldOptions options_;
  Timeline time_;
  Chance chance_;
  FakeBroker broker_;
  Operator operator_;
  std::vector<std::unique_ptr<Board>> boards_;
  std::map<const Board*, std::int64_t> uses_mw_;
  std::int64_t uses_all_mw_ = 0;
  std::map<std::string, Promised> promised_;  // by task
  bool faults_ = true;
  std::uint64_t next_task_ = 1;
  std::uint64_t budget_rev_ = 0;
  std::int64_t budget_mw_ = 0;
  std::int64_t budget_before_mw_ = 0;  // still in force where the newer one is not known
  std::string failure_;
  WorldCounts counts_;
};

}  // namespace laird::test
