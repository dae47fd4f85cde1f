#include "agent/policies/baselines.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/require.hpp"

namespace laird::policies {

void Uniform::decide(const LaneView& view, Decision& out) {
  out.slice = view.slice;
  for (const Candidate& c : view.candidates) {
    if (c.resident) out.choices.push_back(Choice{c.task->key, 0});
  }
  if (out.choices.empty()) {  // nobody is ready: ask for everybody, the core starts what fits
    for (const Candidate& c : view.candidates) out.choices.push_back(Choice{c.task->key, 0});
  }
  sharing_ = static_cast<std::uint32_t>(out.choices.size());
  for (Choice& choice : out.choices) choice.share_ppm = core::kShareWholePpm / sharing_;
}

void Uniform::archive(Archive& ar) { ar(sharing_); }

std::string Uniform::explain(const core::Task&) const {
  return "uniform: the lane was divided equally among " + std::to_string(sharing_) + " tasks";
}

void ShortestTaskFirst::decide(const LaneView& view, Decision& out) {
  const auto first = std::min_element(view.candidates.begin(), view.candidates.end(),
                                      [](const Candidate& a, const Candidate& b) {
                                        if (a.task->deadline_at != b.task->deadline_at) {
                                          return a.task->deadline_at < b.task->deadline_at;
                                        }
                                        return a.task->key < b.task->key;
                                      });
  out.slice = view.slice;
  out.choices.push_back(Choice{first->task->key});
  last_ = first->task->key;
  last_deadline_ = first->task->deadline_at;
}

void ShortestTaskFirst::archive(Archive& ar) {
  ar(last_);
  ar(last_deadline_);
}

std::string ShortestTaskFirst::explain(const core::Task& task) const {
  if (task.key == last_) return "shortest-task-first: its deadline is the next";
  return "shortest-task-first: another task's deadline comes " +
         spoken(task.deadline_at - last_deadline_) + " earlier";
}

void RoundRobin::decide(const LaneView& view, Decision& out) {
  LAIRD_REQUIRE(view.lane < last_.size(), "a lane beyond the limit");
  core::TaskKey& last = last_[view.lane];
  const auto next = std::find_if(view.candidates.begin(), view.candidates.end(),
                                 [last](const Candidate& c) { return c.task->key > last; });
  const Candidate& chosen = next == view.candidates.end() ? view.candidates.front() : *next;
  out.slice = view.slice;
  out.choices.push_back(Choice{chosen.task->key});
  last = chosen.task->key;
}

void RoundRobin::archive(Archive& ar) {
  ar.sequence(last_, core::kLanesMax);
  if (ar.reading() && last_.size() != core::kLanesMax) ar.fail();
}

std::string RoundRobin::explain(const core::Task& task) const {
  for (std::size_t lane = 0; lane < last_.size(); ++lane) {
    if (last_[lane] == task.key) {
      return "round-robin: it had the latest turn on lane " + std::to_string(lane);
    }
  }
  return "round-robin: it waits for its turn";
}

}  // namespace laird::policies
