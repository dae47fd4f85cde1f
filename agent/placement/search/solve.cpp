#include "agent/placement/search/solve.hpp"

#include <algorithm>

#include "agent/placement/planner/verify.hpp"
#include "agent/placement/search/order_search.hpp"

namespace laird::placement {
namespace {

// The first round is short, so that a good plan is there early; each later one is longer.
constexpr std::uint64_t kFirstRound = 100'000;
constexpr std::uint64_t kRoundPerTask = 40;
constexpr std::uint64_t kRoundSteps = 2'000;  // that a round costs beside its search

class Solver {
 public:
  Solver(const Instance& instance, const SolveLimits& limits)
      : instance_(instance),
        steering_(limits.steps_max, limits.go_on),
        rows_(rows_of(instance)),
        row_search_(rows_, aparts(instance), limits.seed),
        order_search_(instance, limits.seed + 1) {
    for (const PlannedTask& t : instance.tasks)
      has_deadlines_ = has_deadlines_ || t.deadline_s < kForever;
    for (const PlannedBoard& b : instance.boards) has_times_ = has_times_ || !b.closed.empty();
    for (const Choice& c : instance.choices) {
      has_times_ = has_times_ || c.ready_s > 0;
      has_costs_ = has_costs_ || c.energy_j > 0 || !c.preferred;
    }
  }

  Plan run() {
    offer(orders_for(instance_, by_completion(instance_, rows_, FirstComes::kLongest)));
    bound_ = lower_bound(instance_, rows_, bound_iterations(instance_, rows_));
    steering_.bounded(bound_.bound_s);
    row_search_.guide(bound_.prices);
    offer_assignment(by_shares(instance_, rows_, bound_));
    offer_assignment(by_prices(instance_, rows_, bound_));
    offer_assignment(by_completion(instance_, rows_, FirstComes::kListed));
    if (has_deadlines_) offer_assignment(by_completion(instance_, rows_, FirstComes::kDeadline));
    std::uint64_t round =
        std::max<std::uint64_t>(kFirstRound, kRoundPerTask * instance_.tasks.size());
    // One board and sums alone: there is nothing to search.
    const bool decided = instance_.boards.size() < 2 && sums_suffice();
    while (!done() && !decided) {
      // Some rounds end before they begin; they count all the same, or this would never end.
      if (!steering_.spend(kRoundSteps)) break;
      search_rows(round);
      if (done()) break;
      search_orders(round);
      ++rounds_;
      round += round / 2;
    }
    if (has_costs_) economise();
    return finish();
  }

 private:
  static std::vector<int> aparts(const Instance& instance) {
    std::vector<int> out;
    for (const PlannedTask& t : instance.tasks) out.push_back(t.apart);
    return out;
  }
  // In mode S with neither deadlines nor times, sums are all there is.
  [[nodiscard]] bool sums_suffice() const {
    return instance_.mode == Mode::kSerial && !has_times_ && !has_deadlines_;
  }
  [[nodiscard]] bool done() const {
    if (steering_.stopped()) return true;
    return best_.missed_weight == 0 && best_.makespan_s <= bound_.bound_s;
  }

  // Keeps the orders if they are the best so far.
  void offer(std::vector<Order> orders) {
    const Objective found = judge_orders(instance_, orders);
    const bool apart = keeps_apart(orders);
    if (!orders_.empty() && (found >= best_ || !apart)) return;
    orders_ = std::move(orders);
    if (!apart) return;
    best_ = found;
    if (best_ < steering_.best()) steering_.found(best_);
  }
  void offer_assignment(const Assignment& assignment) {
    if (!steering_.stopped()) offer(orders_for(instance_, assignment));
  }
  [[nodiscard]] bool keeps_apart(const std::vector<Order>& orders) const {
    for (const Order& order : orders) {
      std::vector<int> groups;
      for (const int t : order) {
        const int group = instance_.tasks[static_cast<std::size_t>(t)].apart;
        if (group >= 0) groups.push_back(group);
      }
      std::sort(groups.begin(), groups.end());
      if (std::adjacent_find(groups.begin(), groups.end()) != groups.end()) return false;
    }
    return true;
  }
  [[nodiscard]] Assignment assignment() const {
    Assignment out(instance_.tasks.size());
    for (std::size_t b = 0; b < orders_.size(); ++b) {
      for (const int t : orders_[b]) out[static_cast<std::size_t>(t)] = static_cast<int>(b);
    }
    return out;
  }

  void search_rows(std::uint64_t steps) {
    row_search_.start(assignment());
    // Many tasks are nearly right from the start and want cold rounds; few want hot ones.
    constexpr double kWarmths[] = {0.02, 0.5, 0.1, 1.0};
    row_search_.level(static_cast<double>(std::max<Seconds>(bound_.bound_s, 1)),
                      kWarmths[rounds_ % 4], steps, steering_);
    std::vector<Order> orders = orders_for(instance_, row_search_.best());
    if (!sums_suffice()) learn_factors(orders);
    offer(std::move(orders));
  }
  // How much longer the timetables are than the sums: the next round levels the former.
  void learn_factors(const std::vector<Order>& orders) {
    row_search_.start(row_search_.best());
    Timetable timetable(instance_);
    for (std::size_t b = 0; b < orders.size(); ++b) {
      const BoardResult r = run_order(instance_, timetable, b, orders[b]);
      const double load = row_search_.load(b);
      if (load > 0.0 && r.finish_s < kForever) {
        row_search_.correct(b, static_cast<double>(r.finish_s) / load);
      }
    }
  }
  void search_orders(std::uint64_t steps) {
    if (sums_suffice()) return;
    order_search_.start(orders_);
    constexpr double kMissPrices[] = {100.0, 1.0, 0.1};
    order_search_.improve(bound_.bound_s, kMissPrices[rounds_ % 3], steps, steering_);
    offer(order_search_.best());
  }
  void economise() {
    Steering unhurried(instance_.tasks.size() * 1'000, nullptr);
    order_search_.start(orders_);
    order_search_.economise(unhurried);
    offer(order_search_.best());
  }

  Plan finish() {
    Plan out;
    out.tasks = place_orders(instance_, orders_);
    out.objective = judge(instance_, out.tasks);
    out.bound_s = bound_.bound_s;
    out.solver = "search";
    return out;
  }

  const Instance& instance_;
  Steering steering_;
  Rows rows_;
  Bound bound_;
  RowSearch row_search_;
  OrderSearch order_search_;
  bool has_deadlines_ = false;
  bool has_times_ = false;
  bool has_costs_ = false;
  std::size_t rounds_ = 0;
  std::vector<Order> orders_;  // of the best plan
  Objective best_ = {INT64_MAX, kForever, INT64_MAX, INT64_MAX};
};

}  // namespace

Result<Plan> solve(const Instance& instance, const SolveLimits& limits) {
  LAIRD_TRY(check(instance));
  LAIRD_TRY(every_task_has_a_board(instance));
  if (instance.tasks.empty()) {
    Plan empty;
    empty.solver = "search";
    return empty;
  }
  Plan plan = Solver(instance, limits).run();
  if (const Status kept = verify(instance, plan); !kept) {
    return fail(Code::kRefused, "no plan was found that keeps every rule: " + kept.error().context);
  }
  return plan;
}

}  // namespace laird::placement
