#include "agent/policies/halving.hpp"

#include <algorithm>

#include "base/require.hpp"

namespace laird::policies {
namespace {

// Slices each survivor gets in a row within a round: a turn per slice would only add switches.
constexpr DurationNs kSlicesPerTurn = 5;

[[nodiscard]] bool holds(const std::vector<core::TaskKey>& keys, core::TaskKey key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// How far a task is above its target, as a factor; one that has not reported yet is not judged.
[[nodiscard]] double excess(const core::Task& task) {
  if (!task.loss_known || !(task.spec.target_loss > 0.0)) return 0.0;
  return task.loss / task.spec.target_loss;
}

}  // namespace

void SuccessiveHalving::Bracket::archive(Archive& ar) {
  ar.sequence(dropped, core::kTasksLiveMax);
  ar(round_ends_at);
  ar(round);
  ar(rounds);
}

void SuccessiveHalving::survivors_of(const LaneView& view, const Bracket& bracket,
                                     std::vector<const core::Task*>& out) {
  out.clear();
  for (const Candidate& c : view.candidates) {
    if (!holds(bracket.dropped, c.task->key)) out.push_back(c.task);
  }
}

void SuccessiveHalving::start(const LaneView& view, Bracket& bracket) {
  TimeNs last = view.now;
  for (const Candidate& c : view.candidates) last = std::max(last, c.task->deadline_at);
  DurationNs halvings = 1;
  for (std::size_t n = 2; n < view.candidates.size(); n *= 2) ++halvings;
  bracket.dropped.clear();
  bracket.rounds = 0;
  bracket.round = std::max<DurationNs>(view.slice, (last - view.now) / halvings);
  bracket.round_ends_at = view.now + bracket.round;
}

void SuccessiveHalving::drop_half(std::vector<const core::Task*>& survivors, Bracket& bracket) {
  std::stable_sort(
      survivors.begin(), survivors.end(),
      [](const core::Task* a, const core::Task* b) { return excess(*a) < excess(*b); });
  const std::size_t kept = (survivors.size() + 1) / 2;
  for (std::size_t i = kept; i < survivors.size(); ++i)
    bracket.dropped.push_back(survivors[i]->key);
  survivors.resize(kept);
  ++bracket.rounds;
}

void SuccessiveHalving::decide(const LaneView& view, Decision& out) {
  LAIRD_REQUIRE(view.lane < brackets_.size(), "a lane beyond the limit");
  Bracket& bracket = brackets_[view.lane];
  std::vector<const core::Task*> survivors;
  survivors_of(view, bracket, survivors);
  if (survivors.empty() || bracket.round == 0) {
    start(view, bracket);
    survivors_of(view, bracket, survivors);
  }
  if (view.now >= bracket.round_ends_at) {
    if (survivors.size() > 1) drop_half(survivors, bracket);
    bracket.round_ends_at = view.now + bracket.round;
  }
  // Equal parts of the round: whoever had least time so far is next.
  const auto next = std::min_element(
      survivors.begin(), survivors.end(), [](const core::Task* a, const core::Task* b) {
        return a->busy_ns != b->busy_ns ? a->busy_ns < b->busy_ns : a->key < b->key;
      });
  out.slice = kSlicesPerTurn * view.slice;
  out.choices.push_back(Choice{(*next)->key});
}

void SuccessiveHalving::forget(core::TaskKey key) {
  for (Bracket& bracket : brackets_) std::erase(bracket.dropped, key);
}

void SuccessiveHalving::archive(Archive& ar) {
  ar.sequence(brackets_, core::kLanesMax);
  if (ar.reading() && brackets_.size() != core::kLanesMax) ar.fail();
}

std::string SuccessiveHalving::explain(const core::Task& task) const {
  for (const Bracket& bracket : brackets_) {
    if (!holds(bracket.dropped, task.key)) continue;
    return "successive-halving: dropped by round " + std::to_string(bracket.rounds) +
           ", its loss over its target was in the worse half";
  }
  return "successive-halving: among the survivors, who take turns";
}

}  // namespace laird::policies
