#include "agent/placement/fleet/fleet_instance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace laird::placement {
namespace {

// Both what a task asks and what a board has are rounded down: what fits still fits.
constexpr std::int64_t kMegabyte = 1'000'000;
constexpr double kNeverPermille = 1e6;
// Without a forecast the need is anywhere in the time that is left, as in need.hpp.
constexpr NeedSeconds kUnknownParts = {0.1, 0.5, 0.9};

// No task lives longer, so none holds its lane longer.
constexpr Seconds kTaskSecondsMax = core::kDeadlineMax / kSecond;
static_assert(kTaskSecondsMax <= kSecondsMax);
static_assert(kTaskSecondsMax * static_cast<Seconds>(kPlannedTasksMax) < kForever,
              "the tasks of a lane end, however many they are");

// From 1 to kTaskSecondsMax, also for what is no number.
Seconds whole_seconds(double s) {
  if (!(s < static_cast<double>(kTaskSecondsMax))) return kTaskSecondsMax;
  return static_cast<Seconds>(std::ceil(std::max(s, 1.0)));
}

// Rounded up: 0 is kept for watts that are not known.
std::int64_t joules(double watts, Seconds time_s) {
  const double out = std::ceil(watts * static_cast<double>(time_s));
  return static_cast<std::int64_t>(std::min(out, static_cast<double>(kEnergyMax)));
}

int permille(double part, double of) {
  return static_cast<int>(std::clamp(1000.0 * part / std::max(of, 1e-9), 0.0, 1e6));
}

// Why the task may not be on a lane of that kind there; empty if it may, as far as its kind,
// trainer and standing go.
std::string why_barred(const TaskFact& task, const BoardFact& board, bool gpu_lane, bool is_home) {
  if (gpu_lane != task.gpu) return task.gpu ? "it has no GPU lane" : "it has no CPU lane";
  if (is_home) return {};
  if (task.stage != Stage::kWaiting) return "the task has begun elsewhere";
  if (task.bound) return "the task belongs to its board";
  if (board.standing != Standing::kReady) return "it takes no new task";
  if (std::find(board.trainers.begin(), board.trainers.end(), task.trainer) ==
      board.trainers.end()) {
    return "its allow-list has no trainer '" + task.trainer + "'";
  }
  return {};
}

// The slowest board of those that may take a task that none has; the first if none may.
std::size_t slowest_for(const FleetFacts& facts, const Speeds& speeds, const TaskFact& task) {
  std::size_t slowest = 0;
  double speed = 0.0;
  for (std::size_t b = 0; b < facts.boards.size(); ++b) {
    const BoardFact& board = facts.boards[b];
    const bool may = std::any_of(board.lanes.begin(), board.lanes.end(), [&](const LaneFact& lane) {
      return why_barred(task, board, lane.gpu, false).empty();
    });
    if (board.removed || !may) continue;
    const double here = speeds.of(task, b).speed;
    if (speed == 0.0 || here < speed) {
      speed = here;
      slowest = b;
    }
  }
  return slowest;
}

// A board's name and a task's name are without '@'.
std::string full_name(const TaskFact& task) {
  return task.name + "@" + (task.board.empty() ? task.removed : task.board);
}

// The lanes of one kind of one board, with some of the tasks.
struct Part {
  std::size_t board = 0;
  bool gpu = false;
  std::size_t slowest = 0;  // the slowest board that may take the task that none has
  std::vector<std::size_t> tasks;
};

class Builder {
 public:
  // `part`: nullptr for the whole fleet.
  Builder(const FleetFacts& facts, const Speeds& speeds, const Part* part = nullptr)
      : facts_(facts), speeds_(speeds), part_(part) {}

  Result<FleetInstance> build() {
    add_lanes();
    LAIRD_TRY(some_lane(facts_));
    taken_.assign(out_.lanes.size(), false);
    if (part_ == nullptr) {
      for (const TaskFact& task : facts_.tasks) ++named_[task.name];
      for (std::size_t t = 0; t < facts_.tasks.size(); ++t) add_task(t);
    } else {
      for (const std::size_t t : part_->tasks) ++named_[facts_.tasks[t].name];
      for (const std::size_t t : part_->tasks) add_task(t);
    }
    LAIRD_TRY(check(out_.instance));
    return std::move(out_);
  }

 private:
  void add_lanes() {
    out_.instance.name = facts_.fleet;
    out_.instance.mode = Mode::kSerial;
    for (std::size_t b = 0; b < facts_.boards.size(); ++b) {
      const BoardFact& board = facts_.boards[b];
      if (board.removed || (part_ != nullptr && part_->board != b)) continue;
      for (const LaneFact& lane : board.lanes) {
        if (part_ != nullptr && part_->gpu != lane.gpu) continue;
        PlannedBoard planned;
        planned.name = board.lanes.size() == 1 ? board.name : board.name + "/" + lane.name;
        planned.kind = board.module.empty() ? board.name : board.module;
        planned.memory_mb = std::min(board.memory_bytes / kMegabyte, kMemoryMbMax);
        if (is_closed(board)) planned.closed = {{0, kForever}};
        out_.instance.boards.push_back(std::move(planned));
        out_.lanes.push_back({b, lane.name});
        is_gpu_.push_back(lane.gpu);
      }
    }
  }

  [[nodiscard]] bool is_closed(const BoardFact& board) const {
    if (board.standing == Standing::kReady) return false;
    if (board.standing == Standing::kAway) return true;
    return std::none_of(facts_.tasks.begin(), facts_.tasks.end(),
                        [&](const TaskFact& task) { return task.board == board.name; });
  }

  [[nodiscard]] int home_of(const TaskFact& task) const {
    if (task.board.empty()) return -1;
    for (std::size_t b = 0; b < facts_.boards.size(); ++b) {
      if (facts_.boards[b].name == task.board && !facts_.boards[b].removed) {
        return static_cast<int>(b);
      }
    }
    return -1;
  }

  std::size_t slowest_for_this(const TaskFact& task) {
    if (part_ != nullptr) return part_->slowest;
    if (slowest_of_ != &task) slowest_ = slowest_for(facts_, speeds_, task);
    slowest_of_ = &task;
    return slowest_;
  }

  // Why the task may not be on that lane; empty if it may.
  [[nodiscard]] std::string bars(const TaskFact& task, int home, std::size_t lane) const {
    const std::size_t board = out_.lanes[lane].board;
    return why_barred(task, facts_.boards[board], is_gpu_[lane], home == static_cast<int>(board));
  }

  // Of the whole lane of that board.
  NeedSeconds time_on(const TaskFact& task, int home, std::size_t board, TimeBasis* known_by) {
    const NeedSeconds need = uncapped_time_on(task, home, board, known_by);
    // The board ends it at its deadline. The 90% need is beyond that: it counts as missed.
    const double left = std::max(task.deadline_in_s, 1.0);
    const bool is_home = home == static_cast<int>(board);
    if (!is_home || task.deadline_in_s == 0.0 || need.median <= left) return need;
    return {std::min(need.low, left), left, std::max(need.high, need.median)};
  }

  NeedSeconds uncapped_time_on(const TaskFact& task, int home, std::size_t board,
                               TimeBasis* known_by) {
    const SpeedGuess here = speeds_.of(task, board);
    const auto scaled = [](const NeedSeconds& need, double by) {
      return NeedSeconds{need.low * by, need.median * by, need.high * by};
    };
    if (task.hopeless && home == static_cast<int>(board)) {
      *known_by = TimeBasis::kHopeless;
      const double rest = task.planned_samples - task.samples;
      const double left = std::max(task.deadline_in_s, 1.0);
      const double s = rest > 0.0 && task.rate > 0.0 ? std::min(rest / task.rate, left) : left;
      // The 90% need is beyond any deadline: it counts as missed.
      return {s, s, s * kNeverPermille / 1000.0};
    }
    if (task.need) {
      *known_by = TimeBasis::kForecast;
      if (home == static_cast<int>(board)) return *task.need;
      if (home >= 0) {
        return scaled(*task.need,
                      speeds_.of(task, static_cast<std::size_t>(home)).speed / here.speed);
      }
      if (task.rate > 0.0 && here.is_absolute()) return scaled(*task.need, task.rate / here.speed);
    }
    const double earlier = speeds_.samples_of(task) - task.samples;
    const double planned = task.planned_samples - task.samples;
    if (here.is_absolute() && (earlier > 0.0 || planned > 0.0)) {
      *known_by = earlier > 0.0 ? TimeBasis::kEarlier : TimeBasis::kPlanned;
      const double s = (earlier > 0.0 ? earlier : planned) / here.speed;
      return {s, s, s};
    }
    *known_by = TimeBasis::kDeadline;
    const std::size_t of = home >= 0 ? static_cast<std::size_t>(home) : slowest_for_this(task);
    const double slower = speeds_.of(task, of).speed / here.speed;
    return scaled(kUnknownParts, std::max(task.deadline_in_s, 1.0) * slower);
  }

  // The first lane of its kind there that nobody has now.
  int take_lane(const TaskFact& task, int home) {
    for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
      if (static_cast<int>(out_.lanes[lane].board) != home || is_gpu_[lane] != task.gpu ||
          taken_[lane]) {
        continue;
      }
      taken_[lane] = true;
      return static_cast<int>(lane);
    }
    return -1;
  }

  [[nodiscard]] std::string name_of(const TaskFact& task) const {
    return named_.at(task.name) > 1 ? full_name(task) : task.name;
  }

  void leave_out(const TaskFact& task, std::string why) {
    out_.left_out.push_back({name_of(task), std::move(why)});
  }

  void add_task(std::size_t index) {
    const TaskFact& task = facts_.tasks[index];
    const int home = home_of(task);
    if (task.stage == Stage::kPaused) return leave_out(task, "an operator paused it");
    if (!task.board.empty() && home < 0) return leave_out(task, "its board is not known");
    if (home >= 0 && facts_.boards[static_cast<std::size_t>(home)].standing == Standing::kAway) {
      return leave_out(task, "its board " + task.board + " is away");
    }
    PlannedTask planned;
    planned.name = name_of(task);
    planned.memory_mb = std::min(task.memory_bytes / kMegabyte, kMemoryMbMax);
    planned.deadline_s = std::clamp<Seconds>(
        static_cast<Seconds>(std::clamp(task.deadline_in_s, 0.0, 1e12)), 0, kForever);
    planned.weight = std::llround(task.weight * 1000.0);

    TimeBasis known_by = TimeBasis::kDeadline;
    std::vector<Choice> choices(out_.lanes.size());
    std::vector<SpeedBasis> speeds(out_.lanes.size());
    std::string why;
    for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
      const std::size_t board = out_.lanes[lane].board;
      const BoardFact& there = facts_.boards[board];
      TimeBasis by = TimeBasis::kDeadline;
      const NeedSeconds need = time_on(task, home, board, &by);
      Choice& c = choices[lane];
      c.time_s = whole_seconds(need.median);
      const std::string barred = bars(task, home, lane);
      c.allowed = barred.empty();
      c.preferred = home < 0 || home == static_cast<int>(board);
      const double watts = task.gpu ? there.hardware.gpu_w : there.hardware.cpu_w;
      c.energy_j = joules(watts, c.time_s);
      speeds[lane] = speeds_.of(task, board).basis;
      if (home < 0 || home == static_cast<int>(board)) {
        planned.low_permille = std::min(permille(need.low, need.median), 1000);
        planned.high_permille = std::max(permille(need.high, need.median), 1000);
        known_by = by;
      }
      if (!barred.empty()) why += (why.empty() ? "" : "; ") + there.name + ": " + barred;
    }
    if (task.stage == Stage::kRunning) planned.running = take_lane(task, home);
    keep(index, std::move(planned), std::move(choices), std::move(speeds), known_by, why);
  }

  // Only tasks that some board may run belong to the instance: one that none may would spoil the
  // plan for the rest.
  void keep(std::size_t index, PlannedTask planned, std::vector<Choice> choices,
            std::vector<SpeedBasis> speeds, TimeBasis known_by, const std::string& barred) {
    Instance& instance = out_.instance;
    const std::size_t t = instance.tasks.size();
    instance.tasks.push_back(std::move(planned));
    instance.choices.insert(instance.choices.end(), choices.begin(), choices.end());
    bool any = false;
    std::string why = barred;
    for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
      if (instance.may_run(t, lane)) any = true;
      if (!choices[lane].allowed) continue;
      const std::string not_there = why_not(instance, t, lane);
      if (!not_there.empty()) {
        why += (why.empty() ? "" : "; ") + instance.boards[lane].name + ": " + not_there;
      }
    }
    if (any) {
      out_.tasks.push_back(index);
      out_.known_by.push_back(known_by);
      out_.speeds.insert(out_.speeds.end(), speeds.begin(), speeds.end());
      return;
    }
    instance.tasks.pop_back();
    instance.choices.resize(t * out_.lanes.size());
    leave_out(facts_.tasks[index], why.empty() ? "no board may run it" : why);
  }

  const FleetFacts& facts_;
  const Speeds& speeds_;
  const Part* part_;
  FleetInstance out_;
  std::map<std::string_view, int> named_;  // how many tasks have that name
  std::vector<bool> is_gpu_;               // by lane
  std::vector<bool> taken_;                // by lane: a task has it now
  const TaskFact* slowest_of_ = nullptr;
  std::size_t slowest_ = 0;
};

}  // namespace

std::string_view name(TimeBasis basis) {
  switch (basis) {
    case TimeBasis::kForecast: return "its forecast";
    case TimeBasis::kEarlier: return "earlier runs";
    case TimeBasis::kPlanned: return "its planned samples";
    case TimeBasis::kHopeless: return "its end: it will not reach its target";
    case TimeBasis::kDeadline: return "nothing: half of the time to its deadline";
  }
  return "";
}

std::string planned_name(const FleetFacts& facts, const TaskFact& task) {
  const auto same = std::count_if(facts.tasks.begin(), facts.tasks.end(),
                                  [&](const TaskFact& other) { return other.name == task.name; });
  return same > 1 ? full_name(task) : task.name;
}

Result<FleetInstance> fleet_instance(const FleetFacts& facts) {
  return Builder(facts, Speeds(facts)).build();
}

BoardInstances::BoardInstances(const FleetFacts& facts, std::size_t new_task)
    : facts_(facts),
      new_task_(new_task),
      speeds_(facts),
      slowest_(slowest_for(facts, speeds_, facts.tasks[new_task])) {
  for (std::size_t t = 0; t < facts.tasks.size(); ++t) {
    const TaskFact& task = facts.tasks[t];
    if (task.gpu == facts.tasks[new_task].gpu) tasks_of_[task.board].push_back(t);
  }
}

Result<FleetInstance> BoardInstances::of(std::size_t board) const {
  Part part{board, facts_.tasks[new_task_].gpu, slowest_, {}};
  const auto own = tasks_of_.find(facts_.boards[board].name);
  if (own != tasks_of_.end()) part.tasks = own->second;
  part.tasks.push_back(new_task_);
  auto out = Builder(facts_, speeds_, &part).build();
  LAIRD_TRY(out);
  if (out->tasks.empty() || out->tasks.back() != new_task_) {
    return fail(Code::kRefused, out->left_out.back().why);
  }
  return out;
}

Status some_lane(const FleetFacts& facts) {
  const bool any = std::any_of(facts.boards.begin(), facts.boards.end(),
                               [](const BoardFact& b) { return !b.removed && !b.lanes.empty(); });
  if (any) return {};
  return fail(Code::kUnavailable, "no board says which lanes it has, so nothing can be planned");
}

std::string why_barred(const FleetFacts& facts, std::size_t task, std::size_t board) {
  const TaskFact& of = facts.tasks[task];
  const BoardFact& there = facts.boards[board];
  if (there.lanes.empty()) return "it does not say which lanes it has";
  const bool has_lane = std::any_of(there.lanes.begin(), there.lanes.end(),
                                    [&](const LaneFact& lane) { return lane.gpu == of.gpu; });
  // It is asked of a lane of the other kind if there is none of its own.
  const std::string why =
      why_barred(of, there, has_lane ? of.gpu : !of.gpu, of.board == there.name);
  if (!why.empty() || there.memory_bytes >= of.memory_bytes) return why;
  return "it needs " + std::to_string(of.memory_bytes / kMegabyte) + " MB, the board has " +
         std::to_string(there.memory_bytes / kMegabyte) + " MB";
}

Status without_board(FleetFacts& facts, const std::string& board) {
  BoardFact* found = nullptr;
  for (BoardFact& b : facts.boards) {
    if (b.name == board && !b.removed) found = &b;
  }
  if (found == nullptr) return fail(Code::kNotFound, "the fleet has no board '" + board + "'");
  found->removed = true;
  for (TaskFact& task : facts.tasks) {
    if (task.board != board) continue;
    // It begins anew elsewhere: what it has done, it has to do again.
    if (task.rate > 0.0) {
      found->works.push_back({task.trainer, task.work, task.gpu, task.rate, 0.0, 0.0});
      if (task.need) {
        const double again = task.samples / task.rate;
        task.need =
            NeedSeconds{task.need->low + again, task.need->median + again, task.need->high + again};
      }
    }
    task.samples = 0.0;
    task.removed = std::move(task.board);
    task.board.clear();
    if (task.stage != Stage::kPaused) task.stage = Stage::kWaiting;
  }
  return {};
}

Status with_board(FleetFacts& facts, BoardFact board) {
  if (board.lanes.empty()) {
    return fail(Code::kInvalid, "the module '" + board.module + "' has no lanes");
  }
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(facts.boards.begin(), facts.boards.end(),
                       [&](const BoardFact& b) { return b.name == name; });
  };
  int number = 1;
  while (is_taken("new-" + std::to_string(number))) ++number;
  board.name = "new-" + std::to_string(number);
  board.standing = Standing::kReady;
  for (const BoardFact& other : facts.boards) {
    for (const std::string& trainer : other.trainers) {
      if (std::find(board.trainers.begin(), board.trainers.end(), trainer) ==
          board.trainers.end()) {
        board.trainers.push_back(trainer);
      }
    }
  }
  facts.boards.push_back(std::move(board));
  return {};
}

Status with_deadline(FleetFacts& facts, const std::string& task, double in_s) {
  for (TaskFact& t : facts.tasks) {
    if (planned_name(facts, t) != task) continue;
    t.deadline_in_s = in_s;
    return {};
  }
  return fail(Code::kNotFound, "no live task of the fleet is called '" + task + "'");
}

}  // namespace laird::placement
