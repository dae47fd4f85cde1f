#include "agent/whatif/tally.hpp"

#include <algorithm>

namespace laird::whatif {

const TaskEnd* Tally::find(const TaskId& id) const {
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [&](const TaskEnd& t) { return t.id == id; });
  return found == tasks.end() ? nullptr : &*found;
}

std::uint64_t Tally::succeeded() const {
  return static_cast<std::uint64_t>(std::count_if(tasks.begin(), tasks.end(), [](const TaskEnd& t) {
    return t.outcome == core::Outcome::kSucceeded;
  }));
}

const TaskId& Names::name(const core::Task& task) {
  return ids_.emplace(task.key, TaskId{task.spec.name, counts_[task.spec.name]++}).first->second;
}

void Names::begin(const core::State& state) {
  for (const core::Task& task : state.live) name(task);
  next_key_ = state.next_key;
}

const TaskId* Names::of(core::TaskKey key) const {
  const auto found = ids_.find(key);
  return found == ids_.end() ? nullptr : &found->second;
}

void Tallier::begin(const core::State& state) {
  newest_ended_ = state.ended.empty() ? 0 : state.ended.back()->key;
  first_energy_j_ = state.meter.totals().board.joules();
  first_readings_ = state.meter.totals().readings;
  first_switches_ = state.counters.switches;
  first_decisions_ = state.counters.decisions;
}

void Tallier::note(const core::Task& task, const Names& names) {
  const TaskId* id = names.of(task.key);
  if (id == nullptr) return;
  TaskEnd end;
  end.id = *id;
  end.outcome = task.outcome;
  end.accepted_at = task.accepted_at;
  end.deadline_at = task.deadline_at;
  end.ended_at = task.state == core::TaskState::kEnded ? task.ended_at : 0;
  end.target = task.spec.target_loss;
  if (task.loss_known) end.loss = task.loss;
  end.energy_uj = task.energy_uj;
  end.busy_ns = task.busy_ns;
  end.switches = task.switches;
  end.samples = task.samples;
  tally_.tasks.push_back(std::move(end));
}

void Tallier::see(const core::State& state, const Names& names) {
  if (state.ended.empty() || state.ended.back()->key == newest_ended_) return;
  auto first = state.ended.end();
  while (first != state.ended.begin() && (**std::prev(first)).key != newest_ended_) --first;
  for (; first != state.ended.end(); ++first) note(**first, names);
  newest_ended_ = state.ended.back()->key;
}

Tally Tallier::finish(const core::State& state, const Names& names) {
  see(state, names);
  for (const core::Task& task : state.live) note(task, names);
  Tally out = std::move(tally_);
  std::stable_sort(out.tasks.begin(), out.tasks.end(), [](const TaskEnd& a, const TaskEnd& b) {
    return a.accepted_at < b.accepted_at;
  });
  out.energy_j = state.meter.totals().board.joules() - first_energy_j_;
  out.metered = state.meter.totals().readings > first_readings_;
  out.switches = state.counters.switches - first_switches_;
  out.decisions = state.counters.decisions - first_decisions_;
  return out;
}

}  // namespace laird::whatif
