#include "agent/placement/search/explain.hpp"

#include <algorithm>
#include <tuple>

#include "agent/placement/planner/timetable.hpp"
#include "base/duration.hpp"

namespace laird::placement {
namespace {

// Places of an order that are tried; on longer ones every so manieth.
constexpr std::size_t kPlacesMax = 60;
// So many boards that cannot be are named.
constexpr std::size_t kNamedMax = 6;

bool shares_a_group(const Instance& instance, const Order& order, std::size_t task) {
  const int group = instance.tasks[task].apart;
  return group >= 0 && std::any_of(order.begin(), order.end(), [&](int t) {
           return instance.tasks[static_cast<std::size_t>(t)].apart == group;
         });
}

Alternative alternative(const Instance& instance, const std::vector<Order>& without,
                        std::size_t task, std::size_t board) {
  Alternative out;
  out.board = board;
  out.why_not = why_not(instance, task, board);
  if (out.why_not.empty() && shares_a_group(instance, without[board], task)) {
    out.why_not = "a task that it must be apart from is there";
  }
  if (!out.why_not.empty()) return out;
  bool any = false;
  std::vector<Order> orders = without;
  const std::size_t stride = without[board].size() / kPlacesMax + 1;
  for (std::size_t at = 0; at <= without[board].size(); at += stride) {
    orders[board] = without[board];
    orders[board].insert(orders[board].begin() + static_cast<std::ptrdiff_t>(at),
                         static_cast<int>(task));
    Plan with;
    with.tasks = place_orders(instance, orders);
    if (with.tasks[task].start_s >= kForever) continue;
    with.objective = judge(instance, with.tasks);
    const Seconds finish = finish_of(instance, with, task);
    if (any && std::tie(with.objective, finish) >= std::tie(out.objective, out.finish_s)) continue;
    any = true;
    out.objective = with.objective;
    out.finish_s = finish;
    out.in_time = in_time(instance, with, task);
  }
  if (!any) out.why_not = "it does not fit before the board closes";
  return out;
}

std::string duration(Seconds s) { return spoken_seconds(static_cast<double>(s)); }

// "38 min later", "12 min earlier", or nothing.
std::string difference(Seconds then, Seconds now) {
  if (then == now) return "at the same time";
  return duration(then > now ? then - now : now - then) + (then > now ? " later" : " earlier");
}

std::string cost_text(const Instance& instance, const Plan& plan, std::size_t task,
                      const Alternative& other) {
  std::string out =
      "the task would end " + difference(other.finish_s, finish_of(instance, plan, task));
  const Objective& a = plan.objective;
  const Objective& b = other.objective;
  if (b.missed_weight != a.missed_weight) {
    const std::int64_t more = b.missed_weight - a.missed_weight;
    out += ", deadlines of weight " + std::to_string(more > 0 ? more : -more) +
           (more > 0 ? " more would be missed" : " more would be met");
  }
  if (b.makespan_s != a.makespan_s) out += ", everything " + difference(b.makespan_s, a.makespan_s);
  if (b.energy_j != a.energy_j) {
    const std::int64_t more = b.energy_j - a.energy_j;
    out +=
        ", for " + std::to_string(more > 0 ? more : -more) + " J " + (more > 0 ? "more" : "less");
  }
  if (b.unpreferred > a.unpreferred) out += ", on a board that it does not prefer";
  if (b.unpreferred < a.unpreferred) out += ", on a board that it prefers";
  return out;
}

}  // namespace

Explanation explain(const Instance& instance, const Plan& plan, std::size_t task) {
  Explanation out;
  out.task = task;
  std::vector<Order> without = orders_of(instance, plan.tasks);
  const auto here = static_cast<std::size_t>(plan.tasks[task].board);
  std::erase(without[here], static_cast<int>(task));
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    if (b != here) out.others.push_back(alternative(instance, without, task, b));
  }
  std::stable_sort(out.others.begin(), out.others.end(),
                   [](const Alternative& x, const Alternative& y) {
                     if (x.why_not.empty() != y.why_not.empty()) return x.why_not.empty();
                     return x.why_not.empty() &&
                            std::tie(x.objective, x.finish_s) < std::tie(y.objective, y.finish_s);
                   });
  return out;
}

std::string explanation_text(const Instance& instance, const Plan& plan,
                             const Explanation& explanation) {
  const std::size_t t = explanation.task;
  const Placed& p = plan.tasks[t];
  const PlannedTask& task = instance.tasks[t];
  const Seconds finish = finish_of(instance, plan, t);
  std::string out = task.name + " is on " +
                    instance.boards[static_cast<std::size_t>(p.board)].name + ", from " +
                    duration(p.start_s) + " to " + duration(finish) + " from now.";
  if (task.running >= 0) return out + " It runs there already and stays.\n";
  if (task.deadline_s < kForever) {
    out += in_time(instance, plan, t) ? " Its deadline, " : " It misses its deadline, ";
    out += "in " + duration(task.deadline_s);
    out += in_time(instance, plan, t) ? ", is met." : ".";
  }
  out += "\n";
  std::size_t named = 0;
  std::size_t impossible = 0;
  for (std::size_t i = 0; i < explanation.others.size(); ++i) {
    const Alternative& a = explanation.others[i];
    const std::string& board = instance.boards[a.board].name;
    if (a.why_not.empty()) {
      if (i == 0) out += "Second best is " + board + ": " + cost_text(instance, plan, t, a) + ".\n";
    } else if (++impossible; named < kNamedMax) {
      ++named;
      out += "Not on " + board + ": " + a.why_not + ".\n";
    }
  }
  if (impossible > named)
    out += "Nor on " + std::to_string(impossible - named) + " other boards.\n";
  if (explanation.others.empty() || !explanation.others.front().why_not.empty()) {
    out += "It can be on no other board.\n";
  }
  return out;
}

}  // namespace laird::placement
