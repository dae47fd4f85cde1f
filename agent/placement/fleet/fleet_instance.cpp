#include "agent/placement/fleet/fleet_instance.hpp"

#include <algorithm>
#include <cmath>

namespace laird::placement {
namespace {

// Both what a task asks and what a board has are rounded down: what fits still fits.
constexpr std::int64_t kMegabyte = 1'000'000;
constexpr double kNeverPermille = 1e6;
// Without a forecast the need is anywhere in the time that is left, as in need.hpp.
constexpr NeedSeconds kUnknownParts = {0.1, 0.5, 0.9};

Seconds whole_seconds(double s) {
  return std::clamp<Seconds>(static_cast<Seconds>(std::ceil(std::min(s, 1e12))), 1, kSecondsMax);
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

class Builder {
 public:
  explicit Builder(const FleetFacts& facts) : facts_(facts), speeds_(facts) {}

  Result<FleetInstance> build() {
    add_lanes();
    if (out_.lanes.empty()) {
      return fail(Code::kUnavailable,
                  "no board says which lanes it has, so nothing can be planned");
    }
    taken_.assign(out_.lanes.size(), false);
    for (std::size_t t = 0; t < facts_.tasks.size(); ++t) add_task(t);
    LAIRD_TRY(check(out_.instance));
    return std::move(out_);
  }

 private:
  void add_lanes() {
    out_.instance.name = facts_.fleet;
    out_.instance.mode = Mode::kSerial;
    for (std::size_t b = 0; b < facts_.boards.size(); ++b) {
      const BoardFact& board = facts_.boards[b];
      if (board.removed) continue;
      for (const LaneFact& lane : board.lanes) {
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
    for (std::size_t b = 0; b < facts_.boards.size(); ++b) {
      if (facts_.boards[b].name == task.board && !facts_.boards[b].removed) {
        return static_cast<int>(b);
      }
    }
    return -1;
  }

  // Why the task may not be on that lane; empty if it may.
  [[nodiscard]] std::string bars(const TaskFact& task, int home, std::size_t lane) const {
    const std::size_t board = out_.lanes[lane].board;
    return why_barred(task, facts_.boards[board], is_gpu_[lane], home == static_cast<int>(board));
  }

  // Of the whole lane of that board. `slowest`: the slowest board that may run the task.
  NeedSeconds time_on(const TaskFact& task, int home, std::size_t board, std::size_t slowest,
                      TimeBasis* known_by) const {
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
    const std::size_t of = home >= 0 ? static_cast<std::size_t>(home) : slowest;
    const double slower = speeds_.of(task, of).speed / here.speed;
    return scaled(kUnknownParts, std::max(task.deadline_in_s, 1.0) * slower);
  }

  [[nodiscard]] std::size_t slowest_for(const TaskFact& task, int home) const {
    std::size_t slowest = out_.lanes.front().board;
    double speed = 0.0;
    for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
      if (!bars(task, home, lane).empty()) continue;
      const double here = speeds_.of(task, out_.lanes[lane].board).speed;
      if (speed == 0.0 || here < speed) {
        speed = here;
        slowest = out_.lanes[lane].board;
      }
    }
    return slowest;
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

  void leave_out(const TaskFact& task, std::string why) {
    out_.left_out.push_back({planned_name(facts_, task), std::move(why)});
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
    planned.name = planned_name(facts_, task);
    planned.memory_mb = std::min(task.memory_bytes / kMegabyte, kMemoryMbMax);
    planned.deadline_s = std::clamp<Seconds>(
        static_cast<Seconds>(std::clamp(task.deadline_in_s, 0.0, 1e12)), 0, kForever);
    planned.weight = static_cast<std::int64_t>(task.weight * 1000.0 + 0.5);

    const std::size_t slowest = slowest_for(task, home);
    TimeBasis known_by = TimeBasis::kDeadline;
    std::vector<Choice> choices(out_.lanes.size());
    std::vector<SpeedBasis> speeds(out_.lanes.size());
    std::string why;
    for (std::size_t lane = 0; lane < out_.lanes.size(); ++lane) {
      const std::size_t board = out_.lanes[lane].board;
      const BoardFact& there = facts_.boards[board];
      TimeBasis by = TimeBasis::kDeadline;
      const NeedSeconds need = time_on(task, home, board, slowest, &by);
      Choice& c = choices[lane];
      c.time_s = whole_seconds(need.median);
      const std::string barred = bars(task, home, lane);
      c.allowed = barred.empty();
      c.preferred = home < 0 || home == static_cast<int>(board);
      const double watts = task.gpu ? there.hardware.gpu_w : there.hardware.cpu_w;
      c.energy_j =
          std::min(static_cast<std::int64_t>(watts * static_cast<double>(c.time_s)), kEnergyMax);
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
  Speeds speeds_;
  FleetInstance out_;
  std::vector<bool> is_gpu_;  // by lane
  std::vector<bool> taken_;   // by lane: a task has it now
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
  return same > 1 ? task.name + "@" + task.board : task.name;
}

Result<FleetInstance> fleet_instance(const FleetFacts& facts) { return Builder(facts).build(); }

std::vector<BarredBoard> barred_boards(const FleetFacts& facts, std::size_t task) {
  std::vector<BarredBoard> out;
  const TaskFact& of = facts.tasks[task];
  for (const BoardFact& board : facts.boards) {
    if (board.removed || board.standing == Standing::kAway) continue;
    const bool has_lane = std::any_of(board.lanes.begin(), board.lanes.end(),
                                      [&](const LaneFact& lane) { return lane.gpu == of.gpu; });
    std::string why = board.lanes.empty()
                          ? "it does not say which lanes it has"
                          : why_barred(of, board, has_lane == of.gpu, of.board == board.name);
    if (why.empty() && board.memory_bytes < of.memory_bytes) {
      why = "it needs " + std::to_string(of.memory_bytes / 1'000'000) + " MB, the board has " +
            std::to_string(board.memory_bytes / 1'000'000) + " MB";
    }
    if (!why.empty()) out.push_back({board.name, std::move(why)});
  }
  return out;
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
