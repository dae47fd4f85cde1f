#include "agent/placement/search/starts.hpp"

#include <algorithm>
#include <tuple>

namespace laird::placement {
namespace {

// In a fractional plan a task with less than this somewhere is not put there.
constexpr double kShareMin = 0.02;
constexpr double kShareWhole = 0.9;
// Boards with more tasks than this are put in order by one rule only.
constexpr std::size_t kAllRulesTasksMax = 1'500;

bool better(const BoardResult& a, const BoardResult& b) {
  return std::tie(a.missed_weight, a.finish_s) < std::tie(b.missed_weight, b.finish_s);
}

// Tasks put one after another where the board's largest sum stays smallest.
class Filler {
 public:
  Filler(const Instance& instance, const Rows& rows)
      : instance_(instance),
        rows_(rows),
        out_(instance.tasks.size(), -1),
        sums_(instance.boards.size() * rows.rows),
        apart_(instance.boards.size()) {}

  // `open`: by group, whether it may be used; nullptr: all.
  void put(std::size_t task, const std::vector<bool>* open = nullptr) {
    const int board = find(task, open, true);
    take(task, static_cast<std::size_t>(board >= 0 ? board : find(task, nullptr, false)));
  }
  [[nodiscard]] Assignment take_all() { return std::move(out_); }

 private:
  [[nodiscard]] int find(std::size_t task, const std::vector<bool>* open, bool keep_apart) const {
    int at = -1;
    double least = 0.0;
    for (std::size_t b = 0; b < instance_.boards.size(); ++b) {
      const std::size_t g = rows_.group_of[b];
      if (rows_.time(task, g) <= 0 || (open != nullptr && !(*open)[g])) continue;
      if (keep_apart && taken(task, b)) continue;
      const double* part = rows_.parts(task, g);
      double most = 0.0;
      for (std::size_t r = 0; r < rows_.rows; ++r) {
        most = std::max(most, sums_[b * rows_.rows + r] + part[r]);
      }
      most += static_cast<double>(instance_.choice(task, b).ready_s) * 1e-3;
      if (at < 0 || most < least) {
        at = static_cast<int>(b);
        least = most;
      }
    }
    return at;
  }
  [[nodiscard]] bool taken(std::size_t task, std::size_t board) const {
    const int group = instance_.tasks[task].apart;
    return group >= 0 &&
           std::find(apart_[board].begin(), apart_[board].end(), group) != apart_[board].end();
  }
  void take(std::size_t task, std::size_t board) {
    out_[task] = static_cast<int>(board);
    const double* part = rows_.parts(task, rows_.group_of[board]);
    for (std::size_t r = 0; r < rows_.rows; ++r) sums_[board * rows_.rows + r] += part[r];
    if (instance_.tasks[task].apart >= 0) apart_[board].push_back(instance_.tasks[task].apart);
  }

  const Instance& instance_;
  const Rows& rows_;
  Assignment out_;
  std::vector<double> sums_;
  std::vector<std::vector<int>> apart_;  // by board: the groups that have a task there
};

// Each task in the group where the bound's prices make it cheapest; then, while a group has more
// per board than another could take over, the task whose change costs least for what it takes off.
class Levelled {
 public:
  Levelled(const Rows& rows, const Bound& bound)
      : rows_(rows), count_(rows.time_s.size() / rows.groups), sums_(rows.groups * rows.rows) {
    costs_.resize(rows.time_s.size());
    for (std::size_t t = 0; t < count_; ++t) {
      at_.push_back(rows.groups);
      for (std::size_t g = 0; g < rows.groups; ++g) {
        double& cost = costs_[t * rows.groups + g];
        for (std::size_t r = 0; r < rows.rows; ++r) {
          cost += rows.parts(t, g)[r] * bound.prices[g * rows.rows + r] / size(g);
        }
        const bool may = rows.time(t, g) > 0;
        if (may && (at_[t] == rows.groups || cost < costs_[t * rows.groups + at_[t]])) at_[t] = g;
      }
      add(t, at_[t], 1.0);
    }
    const auto target = static_cast<double>(bound.bound_s);
    const std::size_t rounds = std::min(count_, kLevelWork / (count_ * rows.groups) + 1);
    for (std::size_t i = 0; i < rounds && shift_one(target); ++i) {
    }
  }
  [[nodiscard]] std::vector<std::size_t> groups() const { return at_; }

 private:
  static constexpr std::size_t kLevelWork = 20'000'000;

  [[nodiscard]] double size(std::size_t g) const {
    return static_cast<double>(rows_.boards[g].size());
  }
  // The largest row of a group per board, with `sign` times a task more.
  [[nodiscard]] double load(std::size_t g, std::size_t task, double sign) const {
    double most = 0.0;
    for (std::size_t r = 0; r < rows_.rows; ++r) {
      most = std::max(most, sums_[g * rows_.rows + r] + sign * rows_.parts(task, g)[r] / size(g));
    }
    return most;
  }
  void add(std::size_t t, std::size_t g, double sign) {
    for (std::size_t r = 0; r < rows_.rows; ++r) {
      sums_[g * rows_.rows + r] += sign * rows_.parts(t, g)[r] / size(g);
    }
  }
  bool shift_one(double target) {
    std::size_t worst = 0;
    for (std::size_t g = 1; g < rows_.groups; ++g) {
      if (load(g, 0, 0.0) > load(worst, 0, 0.0)) worst = g;
    }
    const double most = load(worst, 0, 0.0);
    if (most <= target) return false;
    std::size_t task = count_;
    std::size_t to = 0;
    double least = 0.0;
    for (std::size_t t = 0; t < count_; ++t) {
      if (at_[t] != worst) continue;
      for (std::size_t g = 0; g < rows_.groups; ++g) {
        if (g == worst || rows_.time(t, g) <= 0) continue;
        const double less = most - std::max(load(worst, t, -1.0), load(g, t, 1.0));
        if (less <= 0.0) continue;
        const double cost =
            (costs_[t * rows_.groups + g] - costs_[t * rows_.groups + worst]) / less;
        if (task == count_ || cost < least) {
          task = t;
          to = g;
          least = cost;
        }
      }
    }
    if (task == count_) return false;
    add(task, worst, -1.0);
    add(task, to, 1.0);
    at_[task] = to;
    return true;
  }

  const Rows& rows_;
  std::size_t count_ = 0;
  std::vector<double> sums_;   // by group, then row: per board
  std::vector<double> costs_;  // by task, then group
  std::vector<std::size_t> at_;
};

Seconds shortest(const Rows& rows, std::size_t task) {
  Seconds least = kForever;
  for (std::size_t g = 0; g < rows.groups; ++g) {
    if (rows.time(task, g) > 0) least = std::min(least, rows.time(task, g));
  }
  return least;
}

// Running tasks, then those of few boards, then by the rule.
std::vector<std::size_t> queue(const Instance& instance, const Rows& rows, FirstComes first) {
  std::vector<std::tuple<int, Seconds, Seconds, std::size_t>> keys;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const PlannedTask& task = instance.tasks[t];
    const Seconds deadline = first == FirstComes::kDeadline ? task.deadline_s : 0;
    const Seconds longest = first == FirstComes::kListed ? 0 : -shortest(rows, t);
    keys.emplace_back(task.running >= 0 ? 0 : task.apart >= 0 ? 1 : 2, deadline, longest, t);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> out;
  out.reserve(keys.size());
  for (const auto& key : keys) out.push_back(std::get<3>(key));
  return out;
}

}  // namespace

Assignment by_completion(const Instance& instance, const Rows& rows, FirstComes first) {
  Filler filler(instance, rows);
  for (const std::size_t t : queue(instance, rows, first)) filler.put(t);
  return filler.take_all();
}

Assignment by_prices(const Instance& instance, const Rows& rows, const Bound& bound) {
  const std::vector<std::size_t> groups = Levelled(rows, bound).groups();
  Filler filler(instance, rows);
  std::vector<bool> open(rows.groups);
  for (const std::size_t t : queue(instance, rows, FirstComes::kLongest)) {
    open.assign(rows.groups, false);
    open[groups[t]] = true;
    filler.put(t, &open);
  }
  return filler.take_all();
}

Assignment by_shares(const Instance& instance, const Rows& rows, const Bound& bound) {
  Filler filler(instance, rows);
  const std::vector<std::size_t> all = queue(instance, rows, FirstComes::kLongest);
  std::vector<std::size_t> divided;
  std::vector<bool> open(rows.groups);
  const auto open_above = [&](std::size_t t, double least) {
    bool any = false;
    for (std::size_t g = 0; g < rows.groups; ++g) {
      open[g] = bound.shares[t * rows.groups + g] >= least;
      any = any || open[g];
    }
    return any;
  };
  for (const std::size_t t : all) {
    if (open_above(t, kShareWhole)) {
      filler.put(t, &open);
    } else {
      divided.push_back(t);
    }
  }
  for (const std::size_t t : divided) filler.put(t, open_above(t, kShareMin) ? &open : nullptr);
  return filler.take_all();
}

Order best_rule(const Instance& instance, Timetable& timetable, std::size_t board,
                const Order& tasks, BoardResult* result) {
  const auto key = [&](int task, int rule) {
    const auto t = static_cast<std::size_t>(task);
    const Choice& c = instance.choice(t, board);
    const double time = static_cast<double>(c.time_s);
    const auto memory = static_cast<double>(instance.tasks[t].memory_mb);
    const double by_rule = rule == 0   ? time
                           : rule == 1 ? time * c.gpu
                           : rule == 2 ? c.gpu + 1e-9 * time
                                       : memory + 1e-9 * time;
    return std::make_tuple(latest_start(instance, t, board), -by_rule, task);
  };
  const int rules = instance.mode == Mode::kSerial || tasks.size() > kAllRulesTasksMax ? 1 : 4;
  Order best;
  for (int rule = 0; rule < rules; ++rule) {
    Order order = tasks;
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return key(a, rule) < key(b, rule); });
    const BoardResult found = run_order(instance, timetable, board, order);
    if (rule == 0 || better(found, *result)) {
      *result = found;
      best = std::move(order);
    }
  }
  return best;
}

std::vector<Order> orders_for(const Instance& instance, const Assignment& assignment) {
  std::vector<Order> out(instance.boards.size());
  for (std::size_t t = 0; t < assignment.size(); ++t) {
    out[static_cast<std::size_t>(assignment[t])].push_back(static_cast<int>(t));
  }
  Timetable timetable(instance);
  for (std::size_t b = 0; b < out.size(); ++b) {
    BoardResult result;
    out[b] = best_rule(instance, timetable, b, out[b], &result);
  }
  return out;
}

}  // namespace laird::placement
