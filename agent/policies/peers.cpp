#include "agent/policies/peers.hpp"

#include <algorithm>

#include "agent/placement/need.hpp"
#include "base/duration.hpp"

namespace laird::policies {
namespace {

constexpr DurationNs kSlicesPerTurn = 5;
constexpr DurationNs kFirstRungSlices = 10;  // b
constexpr DurationNs kRungFactor = 3;        // eta
constexpr int kRungsMax = 12;
constexpr std::size_t kCompared = 3;  // fewer others have no median to speak of

[[nodiscard]] double excess(const core::Task& task) {
  if (!task.loss_known || !(task.spec.target_loss > 0.0)) return 1e300;
  return task.best_loss / task.spec.target_loss;
}

// Least time on a lane first, of equals the older.
[[nodiscard]] const core::Task* least_served(const std::vector<const core::Task*>& tasks) {
  return *std::min_element(
      tasks.begin(), tasks.end(), [](const core::Task* a, const core::Task* b) {
        return a->busy_ns != b->busy_ns ? a->busy_ns < b->busy_ns : a->key < b->key;
      });
}

[[nodiscard]] std::vector<const core::Task*> all_of(const LaneView& view) {
  std::vector<const core::Task*> tasks;
  for (const Candidate& c : view.candidates) tasks.push_back(c.task);
  return tasks;
}

// The rungs a task has climbed: 0 before the first.
[[nodiscard]] int rung_of(const core::Task& task, DurationNs slice) {
  DurationNs needed = kFirstRungSlices * slice;
  int rung = 0;
  while (rung < kRungsMax && task.busy_ns >= needed) {
    needed *= kRungFactor;
    ++rung;
  }
  return rung;
}

}  // namespace

void Peer::choose(const core::Task& task, DurationNs slice, Decision& out) {
  last_ = task.key;
  out.slice = slice;
  out.choices.push_back(Choice{task.key});
}

void Asha::decide(const LaneView& view, Decision& out) {
  const auto tasks = all_of(view);
  int top = 0;
  for (const core::Task* task : tasks) top = std::max(top, rung_of(*task, view.slice));
  for (int rung = top; rung >= 1; --rung) {
    std::vector<const core::Task*> at_least;
    for (const core::Task* task : tasks) {
      if (rung_of(*task, view.slice) >= rung) at_least.push_back(task);
    }
    std::stable_sort(at_least.begin(), at_least.end(),
                     [](const auto* a, const auto* b) { return excess(*a) < excess(*b); });
    at_least.resize(at_least.size() / static_cast<std::size_t>(kRungFactor));
    std::erase_if(at_least,
                  [&](const core::Task* task) { return rung_of(*task, view.slice) > rung; });
    if (at_least.empty()) continue;
    choose(*least_served(at_least), kSlicesPerTurn * view.slice, out);
    return;
  }
  choose(*least_served(tasks), kSlicesPerTurn * view.slice, out);
}

std::string Asha::explain(const core::Task& task) const {
  return task.key == last_ ? "asha: the best third of its rung, or the least served"
                           : "asha: others are promoted first";
}

void MedianStopping::decide(const LaneView& view, Decision& out) {
  const auto tasks = all_of(view);
  std::vector<const core::Task*> running;
  for (const core::Task* task : tasks) {
    std::vector<double> others;
    for (const core::Task* other : tasks) {
      if (other != task && other->busy_ns >= task->busy_ns && other->loss_known) {
        others.push_back(excess(*other));
      }
    }
    std::sort(others.begin(), others.end());
    const bool is_judged = task->loss_known && others.size() >= kCompared &&
                           task->busy_ns >= kFirstRungSlices * view.slice;
    if (!is_judged || excess(*task) <= others[others.size() / 2]) running.push_back(task);
  }
  choose(*least_served(running.empty() ? tasks : running), kSlicesPerTurn * view.slice, out);
}

std::string MedianStopping::explain(const core::Task& task) const {
  return task.key == last_ ? "median-stopping: its turn among those no worse than the median"
                           : "median-stopping: stopped, or others were served less";
}

void EdfAdmission::decide(const LaneView& view, Decision& out) {
  struct Job {
    const core::Task* task;
    double need;
  };
  std::vector<Job> jobs;
  const core::Task* unknown = nullptr;
  for (const Candidate& c : view.candidates) {
    const core::Task& task = *c.task;
    if (!placement::has_forecast(task, task.rate)) {
      if (unknown == nullptr || task.deadline_at < unknown->deadline_at) unknown = &task;
      continue;
    }
    const placement::Need need = placement::need_of(task, task.rate, view.now);
    if (need.feasible() && need.probability >= 0.5) jobs.push_back({&task, need.seconds.median});
  }
  if (unknown != nullptr) {  // a forecast takes two reports
    choose(*unknown, kSlicesPerTurn * view.slice, out);
    return;
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.task->deadline_at < b.task->deadline_at;
  });
  std::vector<Job> admitted;
  double total = 0.0;
  for (const Job& job : jobs) {
    admitted.push_back(job);
    total += job.need;
    if (total <= seconds(view.lane_time_until(job.task->deadline_at))) continue;
    const auto longest =
        std::max_element(admitted.begin(), admitted.end(),
                         [](const Job& a, const Job& b) { return a.need < b.need; });
    total -= longest->need;
    admitted.erase(longest);
  }
  const core::Task* next = admitted.empty() ? least_served(all_of(view)) : admitted.front().task;
  choose(*next, kSlicesPerTurn * view.slice, out);
}

std::string EdfAdmission::explain(const core::Task& task) const {
  return task.key == last_ ? "edf-admission: the nearest deadline of those admitted"
                           : "edf-admission: others come first, or it would not be in time";
}

}  // namespace laird::policies
