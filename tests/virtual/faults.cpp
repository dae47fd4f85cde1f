// What happens to a virtual fleet: its faults, and the work it is given.
#include <algorithm>

#include "tests/virtual/fleet_world.hpp"

namespace laird::test {
namespace {

using json::Value;

constexpr DurationNs kFaultEveryMin = kMinute;
constexpr DurationNs kFaultEveryMax = 15 * kMinute;
constexpr DurationNs kWorkEveryMin = kMinute;
constexpr DurationNs kWorkEveryMax = 12 * kMinute;
constexpr std::int64_t kFloorMw = 2'000;

}  // namespace

void FleetWorld::plan_fault() {
  time_.after(chance_.between(kFaultEveryMin, kFaultEveryMax), [this] {
    if (!faults_) return;
    do_fault();
    plan_fault();
  });
}

void FleetWorld::plan_trial(const DiskTrial& trial) {
  Board& board = *boards_[trial.board];
  if (trial.fault == FakeDisk::Fault::kSlow) board.expect_slow_disk(trial.lasts);
  FakeDisk::before_write(board.folder(), trial.at_write, [this, &board, trial] {
    ++counts_.bad_disks;
    board.set_disk_fault(trial.fault);
    time_.after(trial.lasts, [&board] { board.set_disk_fault(FakeDisk::Fault::kNone); });
  });
}

void FleetWorld::do_fault() {
  switch (chance_.below(11)) {
    case 0:
    case 1: kill_some(false); break;
    case 2: kill_some(true); break;
    case 3: freeze_some(); break;
    case 4: stop_broker(); break;
    case 5: {
      ++counts_.cuts;
      broker_.cut(some().name(), chance_.between(kSecond, 8 * kMinute));
      break;
    }
    case 6: worsen_link(); break;
    case 7: {
      ++counts_.bad_disks;
      Board& board = some();
      board.expect_slow_disk(chance_.between(kSecond, 8 * kMinute));
      board.set_disk_fault(static_cast<FakeDisk::Fault>(1 + chance_.below(4)));
      time_.after(chance_.between(kSecond, 6 * kMinute),
                  [&board] { board.set_disk_fault(FakeDisk::Fault::kNone); });
      break;
    }
    case 8: {
      ++counts_.clock_jumps;
      // Beyond half a minute commands and budgets are refused, until the clock is right again.
      some().set_wall_off(chance_.between(-50 * kSecond, 50 * kSecond));
      break;
    }
    case 9: lose_clock(); break;
    default: {
      ++counts_.trainer_faults;
      Board& board = some();
      if (board.running() && chance_.happens(500)) {
        board.trainers().crash_one();
      } else {
        board.trainers().hang_one();
      }
    }
  }
}

// One board, or now and then several at once; each comes back after a while.
void FleetWorld::kill_some(bool power) {
  const std::uint64_t count = chance_.happens(150) ? 1 + chance_.below(boards_.size() / 2) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    Board& board = some();
    if (!board.running()) continue;
    ++(power ? counts_.power_cuts : counts_.kills);
    if (power) {
      board.cut_power();
    } else {
      board.kill();
    }
    check_use(board);
    time_.after(chance_.between(kSecond, 8 * kMinute), [&board] { board.start(); });
  }
}

// A board without a battery for its clock: after a power cut its time is of long ago, until it has
// heard the right one. Meanwhile it is sent what was signed for it then.
void FleetWorld::lose_clock() {
  Board& board = some();
  if (!board.running()) return;
  ++counts_.power_cuts;
  ++counts_.clock_jumps;
  board.cut_power();
  check_use(board);
  const DurationNs back = chance_.between(kMinute, std::max<TimeNs>(2 * kMinute, time_.now()));
  board.set_wall_off(-back);
  const DurationNs away = chance_.between(kSecond, 2 * kMinute);
  time_.after(away, [&board] { board.start(); });
  const DurationNs wrong_for = chance_.between(kMinute, 10 * kMinute);
  for (DurationNs at = away; at < wrong_for; at += 30 * kSecond) {
    time_.after(at, [this, &board, back] { operator_.repeat(board.name(), back); });
  }
  time_.after(wrong_for, [&board] { board.set_wall_off(0); });
}

void FleetWorld::freeze_some() {
  Board& board = some();
  if (!board.running() || board.frozen()) return;
  ++counts_.freezes;
  board.freeze();
  time_.after(chance_.between(kSecond, 8 * kMinute), [&board] { board.thaw(); });
}

void FleetWorld::stop_broker() {
  if (!broker_.running()) return;
  ++counts_.broker_stops;
  broker_.stop(chance_.happens(300));
  time_.after(chance_.between(kSecond, 6 * kMinute), [this] { broker_.start(); });
}

void FleetWorld::worsen_link() {
  LinkQuality quality;
  quality.delay_max = chance_.between(50 * kMillisecond, 8 * kSecond);
  quality.loss = static_cast<double>(chance_.below(400)) * 1e-3;
  quality.duplicate = static_cast<double>(chance_.below(300)) * 1e-3;
  const std::string name = some().name();
  broker_.set_link(name, quality);
  time_.after(chance_.between(10 * kSecond, 10 * kMinute),
              [this, name] { broker_.set_link(name, LinkQuality{}); });
}

// The second phase: what was broken is mended, and nothing breaks any more. Delays that are under
// way end by themselves.
void FleetWorld::heal() {
  faults_ = false;
  broker_.start();
  for (auto& board : boards_) {
    board->set_disk_fault(FakeDisk::Fault::kNone);
    board->set_wall_off(0);
    board->thaw();
    broker_.set_link(board->name(), LinkQuality{});
    board->start();
    operator_.command(board->name(), "undrain", Value::object(), [](const auto&, const auto&) {});
  }
}

void FleetWorld::plan_work() {
  const DurationNs most = options_.disk ? kWorkEveryMax / 4 : kWorkEveryMax;
  time_.after(chance_.between(kWorkEveryMin, most), [this] {
    if (!faults_) return;
    if (chance_.happens(650)) {
      submit();
    } else {
      steer();
    }
    plan_work();
  });
}

void FleetWorld::submit() {
  const std::string board = some().name();
  const std::string name = "t-" + std::to_string(next_task_++);
  const double speed = 500.0 + static_cast<double>(chance_.below(4'000));
  const double seconds = 20.0 + static_cast<double>(chance_.below(900));
  const double target = 0.2 + 0.001 * static_cast<double>(chance_.below(400));
  // The curve reaches 0.15 of the way to its end in the time that was drawn.
  Value params = Value::object()
                     .set("speed", Value::number(speed))
                     .set("start", Value::number(2.3))
                     .set("end", Value::number(0.1))
                     .set("scale", Value::number(speed * seconds / 2.0));
  Value task =
      Value::object()
          .set("name", Value::string(name))
          .set("trainer", Value::string("curve"))
          .set("lane", Value::string("cpu"))
          .set("deadline", Value::string(std::to_string(60 * (2 + chance_.below(38))) + "s"))
          .set("target_loss", Value::number(target))
          .set("memory", Value::string("300MB"))
          .set("report_every", Value::integer(static_cast<std::int64_t>(speed * 30.0)))
          .set("params", std::move(params));
  if (options_.movable) task.set("movable", true);
  ++counts_.commands;
  operator_.command(board, "submit", Value::object().set("task", std::move(task)),
                    [this, name, board](const std::string& code, const std::string&) {
                      if (code != "ok" && code != "replayed") return;
                      ++counts_.accepted;
                      promised_[name] = {board, 0};
                    });
}

// Pauses, resumes, cancels, drains, caps, and budgets for the whole fleet.
void FleetWorld::steer() {
  ++counts_.commands;
  const auto ignore = [](const std::string&, const std::string&) {};
  const std::string board = some().name();
  const std::string task = "t-" + std::to_string(1 + chance_.below(next_task_));
  if (options_.movable && chance_.happens(700)) {
    for (const auto& from : boards_) {
      operator_.command(from->name(), "move",
                        Value::object().set("task", task).set("to", some().name()), ignore);
    }
    return;
  }
  switch (chance_.below(7)) {
    case 0: {
      operator_.command(board, "pause", Value::object().set("task", Value::string(task)), ignore);
      time_.after(2 * kMinute, [this, board, task, ignore] {
        operator_.command(board, "resume", Value::object().set("task", Value::string(task)),
                          ignore);
      });
      break;
    }
    case 1:
      operator_.command(board, "cancel", Value::object().set("task", Value::string(task)), ignore);
      break;
    case 2:
      operator_.command(board, "drain", Value::object(), ignore);
      time_.after(chance_.between(kMinute, 10 * kMinute), [this, board, ignore] {
        operator_.command(board, "undrain", Value::object(), ignore);
      });
      break;
    case 3:
      operator_.command(board, "cap", Value::object().set("power_w", Value::number(8.0)), ignore);
      break;
    case 4: operator_.command(board, "cap", Value::object().set("power_w", Value()), ignore); break;
    default: {
      budget_before_mw_ = std::max(budget_before_mw_, budget_mw_);
      budget_mw_ = static_cast<std::int64_t>(boards_.size()) *
                   (4'000 + static_cast<std::int64_t>(chance_.below(3'500)));
      Value members = Value::object();
      Value founders = Value::array();
      for (const auto& member : boards_) {
        members.set(member->name(), Value::object().set("power_w", Value::number(2.0)));
        founders.add(Value::string(member->name()));
      }
      ++budget_rev_;
      operator_.set_budget(
          Value::object()
              .set("rev", Value::integer(static_cast<std::int64_t>(budget_rev_)))
              .set("epoch", Value::integer(1))
              .set("founders", std::move(founders))
              .set("members", std::move(members))
              .set("budget", Value::object().set(
                                 "power_w", Value::number(static_cast<double>(budget_mw_) / 1e3))));
      break;
    }
  }
}

}  // namespace laird::test
