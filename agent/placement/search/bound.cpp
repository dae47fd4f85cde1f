#include "agent/placement/search/bound.hpp"

#include <algorithm>
#include <cmath>

#include "agent/placement/planner/timetable.hpp"
#include "base/exact_math.hpp"

namespace laird::placement {
namespace {

constexpr double kSafety = 1e-9;
constexpr double kTargetFirst = 0.2;    // above the best value, as a part of it
constexpr double kTargetLast = 0.0001;  // closer than this nothing is gained
constexpr int kPatience = 200;          // iterations without gain before the target sinks
constexpr int kCutRounds = 12;
constexpr std::size_t kSample = 700;  // tasks that prices are first found for when there are more
constexpr double kTargetAfterSample = 0.005;
constexpr int kIterationsMax = 20'000;

// What runs already goes on through closed windows: until `runs_until` they do not count.
Seconds open_before(const PlannedBoard& board, Seconds runs_until, Seconds until) {
  Seconds open = until;
  for (const Window& w : board.closed) {
    const Seconds from = std::max(w.from_s, runs_until);
    if (from < std::min(w.to_s, until)) open -= std::min(w.to_s, until) - from;
  }
  return open;
}

class Dual {
 public:
  Dual(const Instance& instance, const Rows& rows)
      : instance_(instance), rows_(rows), prices_(rows.groups * rows.rows) {
    for (const PlannedBoard& b : instance.boards) windows_ = windows_ || !b.closed.empty();
    // Rows that nothing uses have no price.
    std::vector<bool> used(prices_.size());
    for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
      for (std::size_t i = 0; i < prices_.size(); ++i) {
        if (rows.part_s[t * prices_.size() + i] > 0.0) used[i] = true;
      }
    }
    const auto count = static_cast<double>(
        std::max<std::ptrdiff_t>(1, std::count(used.begin(), used.end(), true)));
    for (std::size_t i = 0; i < prices_.size(); ++i) prices_[i] = used[i] ? 1.0 / count : 0.0;
    best_prices_ = prices_;
    loads_.resize(prices_.size());
    shares_.assign(instance.tasks.size() * rows.groups, 0.0);
    for (std::size_t g = 0; g < rows.groups; ++g) {
      sizes_.push_back(static_cast<double>(rows.boards[g].size()));
    }
    runs_until_.assign(rows.groups, 0);
    for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
      if (instance.tasks[t].running < 0) continue;
      const auto b = static_cast<std::size_t>(instance.tasks[t].running);
      Seconds& until = runs_until_[rows.group_of[b]];
      until = std::max(until, instance.choice(t, b).time_s);
    }
  }

  // The best value of f over the iterations; pairs longer than `longest` are left out. With a
  // stride, f is that of every so manieth task: good prices for a sample are good for all.
  double climb(Seconds longest, int iterations_max, double above = kTargetFirst,
               std::size_t stride = 1) {
    double best = 0.0;
    stride_ = stride;
    std::fill(shares_.begin(), shares_.end(), 0.0);
    int waited = 0;
    const int patience = std::clamp(iterations_max / 20, 8, kPatience);
    prices_ = best_prices_;
    for (int i = 0; i < iterations_max && above > kTargetLast; ++i) {
      const double value = evaluate(longest);
      if (value > best * (1.0 + 0.1 * above)) {
        waited = 0;
      } else if (++waited >= patience) {
        waited = 0;
        above *= 0.5;
        prices_ = best_prices_;
        for (double& s : shares_) s *= 0.5;
      }
      if (value > best) {
        best = value;
        best_prices_ = prices_;
      }
      move_prices(best * (1.0 + above) - value, value);
    }
    return best;
  }

  // The smallest makespan that `value`, proved by the best prices, leaves room for.
  [[nodiscard]] Seconds proved(double value) const {
    const double safe = value * (1.0 - kSafety);
    if (!windows_) return static_cast<Seconds>(std::ceil(safe));
    Seconds low = 0;
    Seconds high = kForever;
    while (low < high) {
      const Seconds middle = low + (high - low) / 2;
      if (room(middle) >= safe) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void write(Bound& out) const {
    out.prices = best_prices_;
    out.shares = shares_;
    for (std::size_t t = 0; t < instance_.tasks.size(); ++t) {
      double* row = &out.shares[t * rows_.groups];
      double sum = 0.0;
      for (std::size_t g = 0; g < rows_.groups; ++g) sum += row[g];
      for (std::size_t g = 0; g < rows_.groups && sum > 0.0; ++g) row[g] /= sum;
    }
  }

 private:
  [[nodiscard]] double room(Seconds until) const {
    double sum = 0.0;
    for (std::size_t g = 0; g < rows_.groups; ++g) {
      const PlannedBoard& b = instance_.boards[static_cast<std::size_t>(rows_.boards[g].front())];
      const auto open = static_cast<double>(open_before(b, runs_until_[g], until));
      for (std::size_t r = 0; r < rows_.rows; ++r) sum += best_prices_[g * rows_.rows + r] * open;
    }
    return sum;
  }

  // f at the present prices; leaves the loads of the rows and who chose which group.
  double evaluate(Seconds longest) {
    std::fill(loads_.begin(), loads_.end(), 0.0);
    chosen_.resize(instance_.tasks.size());
    double sum = 0.0;
    for (std::size_t t = 0; t < instance_.tasks.size(); t += stride_) {
      std::size_t at = rows_.groups;
      double least = 0.0;
      for (std::size_t g = 0; g < rows_.groups; ++g) {
        const Seconds time = rows_.time(t, g);
        if (time <= 0 || time > longest) continue;
        const double* part = rows_.parts(t, g);
        const double* price = &prices_[g * rows_.rows];
        double cost = 0.0;
        for (std::size_t r = 0; r < rows_.rows; ++r) cost += part[r] * price[r];
        cost /= sizes_[g];
        if (at == rows_.groups || cost < least) {
          at = g;
          least = cost;
        }
      }
      chosen_[t] = at;
      if (at == rows_.groups) return static_cast<double>(longest) + 1.0;
      sum += least;
      const double* part = rows_.parts(t, at);
      double* load = &loads_[at * rows_.rows];
      for (std::size_t r = 0; r < rows_.rows; ++r) load[r] += part[r] / sizes_[at];
    }
    return sum;
  }

  void move_prices(double missing, double value) {
    double widest = 0.0;
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      if (prices_[i] > 0.0) widest = std::max(widest, std::fabs(loads_[i] - value));
    }
    if (widest <= 0.0) return;
    const double step = std::min(missing / widest, 1.0);
    for (std::size_t t = 0; t < chosen_.size(); t += stride_) {
      if (chosen_[t] < rows_.groups) shares_[t * rows_.groups + chosen_[t]] += step;
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      if (prices_[i] <= 0.0) continue;
      // A price never dies for good: it may be needed when the others have moved.
      prices_[i] = std::max(prices_[i] * exact::exp(step * (loads_[i] - value) / widest), 1e-12);
      sum += prices_[i];
    }
    for (double& p : prices_) p /= sum;
  }

  const Instance& instance_;
  const Rows& rows_;
  bool windows_ = false;
  std::size_t stride_ = 1;
  std::vector<double> sizes_;
  std::vector<Seconds> runs_until_;  // by group: the end of what runs already
  std::vector<double> prices_;
  std::vector<double> best_prices_;
  std::vector<double> loads_;
  std::vector<double> shares_;
  std::vector<std::size_t> chosen_;
};

// The end of the task that ends last when each has the fleet to itself.
Seconds longest_alone(const Instance& instance, const Rows& rows) {
  Timetable timetable(instance);
  std::vector<Seconds> alone(instance.tasks.size(), kForever);
  const bool by_board = std::any_of(instance.choices.begin(), instance.choices.end(),
                                    [](const Choice& c) { return c.ready_s > 0; });
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    if (!by_board && rows.boards[rows.group_of[b]].front() != static_cast<int>(b)) continue;
    timetable.begin(b);
    for (std::size_t t = 0; t < alone.size(); ++t) {
      if (!instance.may_run(t, b)) continue;
      const Seconds start = instance.tasks[t].running >= 0 ? 0 : timetable.earliest(t);
      alone[t] = std::min(alone[t], start + instance.choice(t, b).time_s);
    }
  }
  Seconds last = 0;
  for (const Seconds s : alone) last = std::max(last, s);
  return last;
}

// The shortest time of a pair that is longer than `than`; kForever if there is none.
Seconds next_longer(const Rows& rows, Seconds than) {
  Seconds next = kForever;
  for (const Seconds s : rows.time_s) {
    if (s > than && s < next) next = s;
  }
  return next;
}

}  // namespace

Bound lower_bound(const Instance& instance, const Rows& rows, int iterations_max) {
  Bound out;
  if (instance.tasks.empty()) return out;
  Dual dual(instance, rows);
  const std::size_t stride = instance.tasks.size() / kSample;
  double above = kTargetFirst;
  if (stride > 1) {
    const int many = static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(iterations_max) * stride, kIterationsMax));
    (void)dual.climb(kForever, many, above, stride);
    above = kTargetAfterSample;
  }
  out.bound_s = std::max(dual.proved(dual.climb(kForever, iterations_max, above)),
                         longest_alone(instance, rows));
  dual.write(out);
  for (int round = 0; round < kCutRounds; ++round) {
    const Seconds next = next_longer(rows, out.bound_s);
    if (next >= kForever) break;
    const Seconds with_cut =
        std::min(dual.proved(dual.climb(out.bound_s, iterations_max / 4 + 1)), next);
    if (with_cut <= out.bound_s) break;
    out.bound_s = with_cut;
    dual.write(out);
  }
  return out;
}

int bound_iterations(const Instance& instance, const Rows& rows) {
  const auto work = static_cast<double>(instance.tasks.size() * rows.groups * (rows.rows + 2));
  return static_cast<int>(
      std::clamp(2e8 / std::max(work, 1.0), 60.0, static_cast<double>(kIterationsMax)));
}

}  // namespace laird::placement
