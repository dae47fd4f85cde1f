#include "agent/placement/search/row_search.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::placement {
namespace {

// The worst board is looked for again after so many steps; it gives half of the tasks to move.
constexpr std::uint64_t kWorstEvery = 32;
// Cooling goes in this many equal ratios from the first to the last temperature.
constexpr int kHeats = 200;
// Of the tasks, those that are cheapest to move to another group: a part, but not too few.
constexpr std::size_t kFlexiblePart = 8;
constexpr std::size_t kFlexibleMin = 40;
constexpr double kFirstHeat = 0.2;     // of the mean load that a task brings
constexpr double kHeatRatio = 1500.0;  // first to last

double fourth(double excess) {
  const double square = excess * excess;
  return square * square;
}
double excess(double load, double target) {
  const double over = load / target - 1.0;
  return over > 0.0 ? over : 0.0;
}

}  // namespace

Acceptance::Acceptance() {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    table_[i] = -exact::log((static_cast<double>(i) + 0.5) / static_cast<double>(table_.size()));
  }
}

RowSearch::RowSearch(const Rows& rows, std::vector<int> apart, std::uint64_t seed)
    : rows_(rows),
      apart_(std::move(apart)),
      random_(spread_seed(seed)),
      boards_(rows.group_of.size()),
      factor_(boards_, 1.0) {
  if (std::all_of(apart_.begin(), apart_.end(), [](int g) { return g < 0; })) apart_.clear();
}

void RowSearch::start(const Assignment& assignment) {
  at_ = assignment;
  on_.assign(boards_, {});
  place_.assign(at_.size(), 0);
  sums_.assign(boards_ * rows_.rows, 0.0);
  loads_.assign(boards_, 0.0);
  for (std::size_t t = 0; t < at_.size(); ++t) {
    const auto b = static_cast<std::size_t>(at_[t]);
    place_[t] = on_[b].size();
    on_[b].push_back(static_cast<int>(t));
    const double* part = rows_.parts(t, rows_.group_of[b]);
    for (std::size_t r = 0; r < rows_.rows; ++r) sums_[b * rows_.rows + r] += part[r];
  }
  for (std::size_t b = 0; b < boards_; ++b) loads_[b] = load(b) * factor_[b];
  best_ = at_;
  best_load_ = worst_load(&worst_);
}

double RowSearch::load(std::size_t board) const {
  double most = 0.0;
  for (std::size_t r = 0; r < rows_.rows; ++r) most = std::max(most, sums_[board * rows_.rows + r]);
  return most;
}

double RowSearch::worst_load(std::size_t* board) const {
  const auto most = std::max_element(loads_.begin(), loads_.end());
  *board = static_cast<std::size_t>(most - loads_.begin());
  return *most;
}

bool RowSearch::apart_allows(int task, int to, int leaving) const {
  if (apart_.empty()) return true;
  const int group = apart_[static_cast<std::size_t>(task)];
  if (group < 0) return true;
  for (const int other : on_[static_cast<std::size_t>(to)]) {
    if (other != leaving && apart_[static_cast<std::size_t>(other)] == group) return false;
  }
  return true;
}

void RowSearch::guide(const std::vector<double>& prices) {
  std::vector<std::pair<double, int>> dearer;  // what the second-best group costs more, task
  for (std::size_t t = 0; t * rows_.groups < rows_.time_s.size(); ++t) {
    double least = -1.0;
    double second = -1.0;
    for (std::size_t g = 0; g < rows_.groups; ++g) {
      if (rows_.time(t, g) <= 0) continue;
      double cost = 0.0;
      const double* part = rows_.parts(t, g);
      for (std::size_t r = 0; r < rows_.rows; ++r) cost += part[r] * prices[g * rows_.rows + r];
      cost /= static_cast<double>(rows_.boards[g].size());
      if (least < 0.0 || cost < least) {
        second = least;
        least = cost;
      } else if (second < 0.0 || cost < second) {
        second = cost;
      }
    }
    if (second >= 0.0) dearer.emplace_back(second - least, static_cast<int>(t));
  }
  std::sort(dearer.begin(), dearer.end());
  const std::size_t count = std::max(kFlexibleMin, dearer.size() / kFlexiblePart);
  flexible_.clear();
  for (std::size_t i = 0; i < count && i < dearer.size(); ++i)
    flexible_.push_back(dearer[i].second);
}

int RowSearch::any_of(const std::vector<int>& tasks) {
  return tasks[random_.below(static_cast<std::uint32_t>(tasks.size()))];
}

// Two boards of one group exchange tasks, which costs no efficiency.
bool RowSearch::draw_within(Move& move, bool swap) {
  const std::vector<int>& group = rows_.boards[rows_.group_of[static_cast<std::size_t>(move.from)]];
  move.to = any_of(group);
  if (move.to == move.from) return false;
  const std::vector<int>& there = on_[static_cast<std::size_t>(move.to)];
  if (swap && !there.empty()) move.other = any_of(there);
  return true;
}

bool RowSearch::draw(Move& move) {
  const std::uint64_t bits = random_.next();
  const std::vector<int>& crowd = on_[worst_];
  const bool across =
      (bits & 8U) != 0 && !flexible_.empty();  // between groups, where it costs least
  if (across && (bits & 16U) != 0) {
    move.task = any_of(flexible_);
  } else if ((bits & 1U) != 0 && !crowd.empty()) {
    move.task = any_of(crowd);
  } else {
    move.task = static_cast<int>(random_.below(static_cast<std::uint32_t>(at_.size())));
  }
  move.from = at_[static_cast<std::size_t>(move.task)];
  move.other = -1;
  const bool swap = (bits & 6U) != 0;  // three of four
  if (!across && (bits & 32U) != 0) {
    if (!draw_within(move, swap)) return false;
  } else if (swap) {
    move.other = across ? any_of(flexible_)
                        : static_cast<int>(random_.below(static_cast<std::uint32_t>(at_.size())));
    move.to = at_[static_cast<std::size_t>(move.other)];
  } else {
    move.to = static_cast<int>(random_.below(static_cast<std::uint32_t>(boards_)));
  }
  if (move.to == move.from) return false;
  if (move.other >= 0 && !may_be(move.other, move.from)) return false;
  return may_be(move.task, move.to) && apart_allows(move.task, move.to, move.other) &&
         (move.other < 0 || apart_allows(move.other, move.from, move.task));
}

void RowSearch::weigh(Move& move) const {
  const auto from = static_cast<std::size_t>(move.from);
  const auto to = static_cast<std::size_t>(move.to);
  const std::size_t group_from = rows_.group_of[from];
  const std::size_t group_to = rows_.group_of[to];
  const auto task = static_cast<std::size_t>(move.task);
  const double* leaves = rows_.parts(task, group_from);
  const double* comes = rows_.parts(task, group_to);
  const double* sum_from = &sums_[from * rows_.rows];
  const double* sum_to = &sums_[to * rows_.rows];
  double most_from = 0.0;
  double most_to = 0.0;
  if (move.other < 0) {
    for (std::size_t r = 0; r < rows_.rows; ++r) {
      most_from = std::max(most_from, sum_from[r] - leaves[r]);
      most_to = std::max(most_to, sum_to[r] + comes[r]);
    }
  } else {
    const auto other = static_cast<std::size_t>(move.other);
    const double* other_comes = rows_.parts(other, group_from);
    const double* other_leaves = rows_.parts(other, group_to);
    for (std::size_t r = 0; r < rows_.rows; ++r) {
      most_from = std::max(most_from, sum_from[r] - leaves[r] + other_comes[r]);
      most_to = std::max(most_to, sum_to[r] + comes[r] - other_leaves[r]);
    }
  }
  move.from_load = most_from * factor_[from];
  move.to_load = most_to * factor_[to];
}

void RowSearch::shift(int task, int from, int to) {
  const auto t = static_cast<std::size_t>(task);
  const auto f = static_cast<std::size_t>(from);
  const auto n = static_cast<std::size_t>(to);
  const int last = on_[f].back();
  on_[f][place_[t]] = last;
  place_[static_cast<std::size_t>(last)] = place_[t];
  on_[f].pop_back();
  place_[t] = on_[n].size();
  on_[n].push_back(task);
  at_[t] = to;
  const double* leaves = rows_.parts(t, rows_.group_of[f]);
  const double* comes = rows_.parts(t, rows_.group_of[n]);
  for (std::size_t r = 0; r < rows_.rows; ++r) {
    sums_[f * rows_.rows + r] -= leaves[r];
    sums_[n * rows_.rows + r] += comes[r];
  }
}

void RowSearch::apply(const Move& move) {
  shift(move.task, move.from, move.to);
  if (move.other >= 0) shift(move.other, move.to, move.from);
  loads_[static_cast<std::size_t>(move.from)] = move.from_load;
  loads_[static_cast<std::size_t>(move.to)] = move.to_load;
}

void RowSearch::level(double target_s, double warmth, std::uint64_t steps, Steering& steering) {
  if (at_.empty() || boards_ < 2) return;
  const double norm_to_largest = 1.0 / exact::sqrt(exact::sqrt(static_cast<double>(boards_)));
  const auto excess_sum = [&] {
    double all = 0.0;
    for (const double l : loads_) all += fourth(excess(l, target_s));
    return all;
  };
  double sum = excess_sum();
  double mean = 0.0;
  for (const double l : loads_) mean += l / static_cast<double>(at_.size());
  double energy = exact::sqrt(exact::sqrt(sum));
  double heat = warmth * std::min(kFirstHeat * mean / target_s, 0.05);
  const double cool = exact::pow(1.0 / kHeatRatio, 1.0 / kHeats);
  const std::uint64_t per_heat = std::max<std::uint64_t>(1, steps / kHeats);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (step % per_heat == 0) {
      heat *= cool;
      sum = excess_sum();
    }
    if (step % kWorstEvery == 0) {
      (void)worst_load(&worst_);
      if (!steering.spend(kWorstEvery)) return;
    }
    Move move;
    if (!draw(move)) continue;
    weigh(move);
    const double changed =
        sum - fourth(excess(loads_[static_cast<std::size_t>(move.from)], target_s)) -
        fourth(excess(loads_[static_cast<std::size_t>(move.to)], target_s)) +
        fourth(excess(move.from_load, target_s)) + fourth(excess(move.to_load, target_s));
    const double new_sum = std::max(changed, 0.0);
    const double new_energy = exact::sqrt(exact::sqrt(new_sum));
    if (!acceptance_.take(new_energy - energy, heat, random_)) continue;
    apply(move);
    sum = new_sum;
    energy = new_energy;
    // The largest excess is at least the norm over the fourth root of the boards' number: only
    // below that can this be the best.
    if (target_s * (1.0 + new_energy * norm_to_largest) < best_load_) {
      const double worst = worst_load(&worst_);
      if (worst < best_load_) {
        best_load_ = worst;
        best_ = at_;
        if (worst <= target_s) return;
      }
    }
  }
}

bool RowSearch::economise(const std::vector<double>& cost, double limit_s, double price,
                          std::uint64_t steps, Steering& steering) {
  const auto cost_of = [&](int task, int board) {
    return cost[static_cast<std::size_t>(task) * boards_ + static_cast<std::size_t>(board)];
  };
  double total = 0.0;
  double widest = 0.0;
  for (std::size_t t = 0; t < at_.size(); ++t) {
    total += cost_of(static_cast<int>(t), at_[t]);
    for (std::size_t b = 0; b < boards_; ++b) {
      if (may_be(static_cast<int>(t), static_cast<int>(b)))
        widest = std::max(widest, cost[t * boards_ + b]);
    }
  }
  double over = 0.0;
  for (const double l : loads_) over += excess(l, limit_s);
  bool found = false;
  const auto keep = [&] {
    if (over > 1e-9 || (found && total >= best_cost_)) return;
    if (worst_load(&worst_) > limit_s * (1.0 + 1e-9)) return;
    found = true;
    best_cost_ = total;
    best_ = at_;
  };
  keep();
  double heat = 0.3 * widest;
  const double cool = exact::pow(1.0 / kHeatRatio, 1.0 / kHeats);
  const std::uint64_t per_heat = std::max<std::uint64_t>(1, steps / kHeats);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (step % per_heat == 0) heat *= cool;
    if (step % kWorstEvery == 0) {
      (void)worst_load(&worst_);
      if (!steering.spend(kWorstEvery)) break;
    }
    Move move;
    if (!draw(move)) continue;
    weigh(move);
    double dearer = cost_of(move.task, move.to) - cost_of(move.task, move.from);
    if (move.other >= 0) dearer += cost_of(move.other, move.from) - cost_of(move.other, move.to);
    const double more = excess(move.from_load, limit_s) + excess(move.to_load, limit_s) -
                        excess(loads_[static_cast<std::size_t>(move.from)], limit_s) -
                        excess(loads_[static_cast<std::size_t>(move.to)], limit_s);
    if (!acceptance_.take(dearer + price * more, heat, random_)) continue;
    apply(move);
    total += dearer;
    over += more;
    keep();
  }
  return found;
}

}  // namespace laird::placement
