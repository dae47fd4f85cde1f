#include "agent/placement/search/order_search.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::placement {
namespace {

constexpr int kHeats = 100;
constexpr double kFirstHeat = 0.15;  // of the mean load that a task brings
constexpr double kHeatMax = 0.1;
constexpr double kHeatRatio = 200.0;
constexpr double kMovesPerTask = 300.0;  // tried in a round that starts at the full first heat
// A moment of lateness shows the way before a deadline is met.
constexpr double kLatePrice = 1.0;
// Work of timing one task of an order, in steps.
constexpr std::uint64_t kTasksPerStep = 2;

double fourth_excess(Seconds finish, double target) {
  const double over = static_cast<double>(finish) / target - 1.0;
  return over > 0.0 ? over * over * over * over : 0.0;
}

}  // namespace

Objective judge_orders(const Instance& instance, const std::vector<Order>& orders) {
  return judge(instance, place_orders(instance, orders));
}

OrderSearch::OrderSearch(const Instance& instance, std::uint64_t seed)
    : instance_(instance), random_(spread_seed(seed)), timetable_(instance) {
  double weights = 0.0;
  for (const PlannedTask& t : instance.tasks) {
    has_apart_ = has_apart_ || t.apart >= 0;
    if (t.deadline_s < kForever) weights += static_cast<double>(t.weight);
  }
  weight_sum_ = std::max(weights, 1.0);
}

void OrderSearch::start(std::vector<Order> orders) {
  orders_ = std::move(orders);
  at_.assign(instance_.tasks.size(), 0);
  results_.clear();
  for (std::size_t b = 0; b < orders_.size(); ++b) {
    results_.push_back(run_order(instance_, timetable_, b, orders_[b]));
    for (const int t : orders_[b]) at_[static_cast<std::size_t>(t)] = static_cast<int>(b);
  }
  best_ = orders_;
  best_objective_ = objective();
}

Objective OrderSearch::objective() const {
  Objective out;
  for (std::size_t b = 0; b < orders_.size(); ++b) {
    out.missed_weight += results_[b].missed_weight;
    out.makespan_s = std::max(out.makespan_s, results_[b].finish_s);
    for (const int t : orders_[b]) {
      const Choice& c = instance_.choice(static_cast<std::size_t>(t), b);
      out.unpreferred += c.preferred ? 0 : 1;
      out.energy_j += c.energy_j;
    }
  }
  return out;
}

void OrderSearch::add_energy(const BoardResult& result, double sign, double* fourths,
                             double* misses) const {
  *fourths += sign * fourth_excess(result.finish_s, target_);
  *misses += sign * (miss_price_ * static_cast<double>(result.missed_weight) +
                     kLatePrice * static_cast<double>(result.late_s) / target_);
}

double OrderSearch::energy() const {
  return exact::sqrt(exact::sqrt(std::max(fourths_, 0.0))) + misses_ / weight_sum_;
}

double OrderSearch::energy_with(std::size_t count) const {
  double fourths = fourths_;
  double misses = misses_;
  for (std::size_t i = 0; i < count; ++i) {
    add_energy(results_[touched_[i].board], -1.0, &fourths, &misses);
    add_energy(touched_[i].result, 1.0, &fourths, &misses);
  }
  return exact::sqrt(exact::sqrt(std::max(fourths, 0.0))) + misses / weight_sum_;
}

void OrderSearch::find_worst() {
  worst_ = 0;
  fourths_ = 0.0;
  misses_ = 0.0;
  for (std::size_t b = 0; b < results_.size(); ++b) {
    if (results_[b].finish_s > results_[worst_].finish_s) worst_ = b;
    add_energy(results_[b], 1.0, &fourths_, &misses_);
  }
}

bool OrderSearch::apart_allows(int task, std::size_t board, int leaving) const {
  const int group = instance_.tasks[static_cast<std::size_t>(task)].apart;
  if (!has_apart_ || group < 0) return true;
  return std::none_of(orders_[board].begin(), orders_[board].end(), [&](int other) {
    return other != leaving && other != task &&
           instance_.tasks[static_cast<std::size_t>(other)].apart == group;
  });
}

bool OrderSearch::draw_exchange(std::size_t from, std::size_t place) {
  const int task = orders_[from][place];
  const auto other = static_cast<int>(random_.below(static_cast<std::uint32_t>(at_.size())));
  const auto to = static_cast<std::size_t>(at_[static_cast<std::size_t>(other)]);
  if (to == from || !instance_.may_run(static_cast<std::size_t>(task), to) ||
      !instance_.may_run(static_cast<std::size_t>(other), from) || !apart_allows(task, to, other) ||
      !apart_allows(other, from, task)) {
    return false;
  }
  touched_[0].board = from;
  touched_[0].order = orders_[from];
  touched_[0].order[place] = other;
  touched_[1].board = to;
  touched_[1].order = orders_[to];
  *std::find(touched_[1].order.begin(), touched_[1].order.end(), other) = task;
  return true;
}

bool OrderSearch::draw_insert(std::size_t from, std::size_t place, std::size_t* count) {
  const int task = orders_[from][place];
  const bool stays = (random_.next() & 1U) != 0 || orders_.size() < 2;
  const std::size_t to = stays ? from : random_.below(static_cast<std::uint32_t>(orders_.size()));
  if (to != from &&
      (!instance_.may_run(static_cast<std::size_t>(task), to) || !apart_allows(task, to, -1))) {
    return false;
  }
  touched_[0].board = from;
  touched_[0].order = orders_[from];
  touched_[0].order.erase(touched_[0].order.begin() + static_cast<std::ptrdiff_t>(place));
  Order& target = to == from ? touched_[0].order : (touched_[1].order = orders_[to]);
  const std::size_t at = random_.below(static_cast<std::uint32_t>(target.size() + 1));
  if (to == from && at == place) return false;
  target.insert(target.begin() + static_cast<std::ptrdiff_t>(at), task);
  *count = to == from ? 1 : 2;
  if (to != from) touched_[1].board = to;
  return true;
}

bool OrderSearch::draw(std::size_t* count) {
  const std::uint64_t bits = random_.next();
  std::size_t from = worst_;
  std::size_t place = 0;
  if ((bits & 1U) != 0 && !orders_[worst_].empty()) {
    place = random_.below(static_cast<std::uint32_t>(orders_[worst_].size()));
  } else {
    const auto task = static_cast<int>(random_.below(static_cast<std::uint32_t>(at_.size())));
    from = static_cast<std::size_t>(at_[static_cast<std::size_t>(task)]);
    place = static_cast<std::size_t>(std::find(orders_[from].begin(), orders_[from].end(), task) -
                                     orders_[from].begin());
  }
  if (instance_.tasks[static_cast<std::size_t>(orders_[from][place])].running >= 0) return false;
  *count = 2;
  return (bits & 2U) != 0 ? draw_exchange(from, place) : draw_insert(from, place, count);
}

std::uint64_t OrderSearch::time_touched(std::size_t count) {
  std::uint64_t tasks = 0;
  for (std::size_t i = 0; i < count; ++i) {
    touched_[i].result = run_order(instance_, timetable_, touched_[i].board, touched_[i].order);
    tasks += touched_[i].order.size();
  }
  return 1 + kTasksPerStep * tasks;
}

void OrderSearch::exchange_touched(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t b = touched_[i].board;
    add_energy(results_[b], -1.0, &fourths_, &misses_);
    add_energy(touched_[i].result, 1.0, &fourths_, &misses_);
    std::swap(orders_[b], touched_[i].order);
    std::swap(results_[b], touched_[i].result);
    for (const int t : orders_[b]) at_[static_cast<std::size_t>(t)] = static_cast<int>(b);
  }
}

void OrderSearch::keep_if_best(Steering& steering) {
  Seconds makespan = 0;
  std::int64_t missed = 0;
  for (const BoardResult& r : results_) {
    makespan = std::max(makespan, r.finish_s);
    missed += r.missed_weight;
  }
  if (missed > best_objective_.missed_weight ||
      (missed == best_objective_.missed_weight && makespan > best_objective_.makespan_s)) {
    return;
  }
  const Objective found = objective();
  if (found >= best_objective_) return;
  best_objective_ = found;
  best_ = orders_;
  if (found < steering.best()) steering.found(found);
}

void OrderSearch::improve(Seconds target_s, double miss_price, std::uint64_t steps,
                          Steering& steering) {
  if (at_.empty()) return;
  miss_price_ = miss_price;
  target_ = std::max(1.0, static_cast<double>(target_s));
  find_worst();
  double now = energy();
  double mean = 0.0;
  for (const BoardResult& r : results_) {
    mean += static_cast<double>(std::min(r.finish_s, 2 * best_objective_.makespan_s)) /
            static_cast<double>(at_.size());
  }
  // A round that is short for so many tasks starts colder: it could not put right what it melts.
  const double per_move =
      2.0 * static_cast<double>(kTasksPerStep * at_.size()) / static_cast<double>(orders_.size());
  const double moves =
      static_cast<double>(steps) / (1.0 + per_move) / static_cast<double>(at_.size());
  const double first =
      std::min(kFirstHeat * mean / target_, kHeatMax) * std::min(1.0, moves / kMovesPerTask);
  const double cool = exact::pow(1.0 / kHeatRatio, 1.0 / kHeats);
  double heat = first;
  std::uint64_t spent = 0;
  std::uint64_t next_heat = steps / kHeats;
  while (spent < steps) {
    if (spent >= next_heat) {
      heat *= cool;
      next_heat += std::max<std::uint64_t>(1, steps / kHeats);
      find_worst();
      now = energy();
    }
    std::size_t count = 0;
    std::uint64_t work = 1;
    if (draw(&count)) {
      work = time_touched(count);
      const double then = energy_with(count);
      if (acceptance_.take(then - now, heat, random_)) {
        exchange_touched(count);
        now = energy();
        find_worst();
        keep_if_best(steering);
        if (best_objective_.missed_weight == 0 && best_objective_.makespan_s <= target_s) return;
      }
    }
    spent += work;
    if (!steering.spend(work)) return;
  }
}

void OrderSearch::economise(Steering& steering) {
  start(best_);
  for (std::size_t t = 0; t < at_.size(); ++t) {
    const auto from = static_cast<std::size_t>(at_[t]);
    const Choice& here = instance_.choice(t, from);
    if (instance_.tasks[t].running >= 0) continue;
    for (std::size_t b = 0; b < orders_.size(); ++b) {
      const Choice& there = instance_.choice(t, b);
      if (b == from || !instance_.may_run(t, b) || !apart_allows(static_cast<int>(t), b, -1))
        continue;
      if (here.preferred && (!there.preferred || there.energy_j >= here.energy_j)) continue;
      touched_[0].board = from;
      touched_[0].order = orders_[from];
      std::erase(touched_[0].order, static_cast<int>(t));
      touched_[1].board = b;
      touched_[1].order = orders_[b];
      touched_[1].order.push_back(static_cast<int>(t));
      const std::uint64_t work = time_touched(2);
      exchange_touched(2);
      const Objective found = objective();
      if (found < best_objective_) {
        best_objective_ = found;
        best_ = orders_;
        if (found < steering.best()) steering.found(found);
      } else {
        exchange_touched(2);
      }
      if (!steering.spend(work)) return;
      if (at_[t] == static_cast<int>(b)) break;
    }
  }
}

}  // namespace laird::placement
