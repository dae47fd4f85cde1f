#include "agent/whatif/compare.hpp"

#include <algorithm>
#include <cmath>

namespace laird::whatif {

bool TaskPair::same_end() const {
  return was != nullptr && now != nullptr && was->outcome == now->outcome &&
         (was->ended_at == 0) == (now->ended_at == 0);
}

double TaskPair::end_moved() const {
  if (was == nullptr || now == nullptr || was->ended_at == 0 || now->ended_at == 0) return 0.0;
  const auto took = static_cast<double>(std::max<DurationNs>(1, was->ended_at - was->accepted_at));
  const auto takes = static_cast<double>(now->ended_at - now->accepted_at);
  const double moved = std::fabs(takes - took);
  return moved < static_cast<double>(kGrain) ? 0.0 : moved / took;
}

std::vector<TaskPair> pairs_of(const Tally& was, const Tally& now) {
  std::vector<TaskPair> out;
  for (const TaskEnd& task : was.tasks) out.push_back({&task, now.find(task.id)});
  for (const TaskEnd& task : now.tasks) {
    if (was.find(task.id) == nullptr) out.push_back({nullptr, &task});
  }
  return out;
}

bool Fidelity::good() const {
  return same_end == tasks && end_moved_most <= kEndWithin &&
         std::fabs(energy_off) <= kEnergyWithin;
}

Fidelity fidelity_of(const Tally& was, const Tally& now) {
  Fidelity out;
  for (const TaskPair& pair : pairs_of(was, now)) {
    ++out.tasks;
    if (!pair.same_end()) continue;
    ++out.same_end;
    out.end_moved_most = std::max(out.end_moved_most, pair.end_moved());
  }
  out.metered = was.metered && now.metered && was.energy_j > 0.0;
  if (out.metered) out.energy_off = now.energy_j / was.energy_j - 1.0;
  return out;
}

}  // namespace laird::whatif
