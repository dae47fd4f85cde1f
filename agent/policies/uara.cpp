#include "agent/policies/uara.hpp"

#include <algorithm>

#include "agent/policies/words.hpp"

namespace laird::policies {
namespace {

// Ours.
constexpr std::uint64_t kJudgeReports = 4;  // before that no forecast is trusted
constexpr double kFeasibleMin = 0.05;
constexpr std::uint64_t kReprobeEvery = 20;

[[nodiscard]] bool is_feasible(const core::Task& task, TimeNs now) {
  if (task.forecast.reports() < kJudgeReports || !(task.rate > 0.0)) return true;
  const double more = task.rate * static_cast<double>(task.deadline_at - now) / 1e9;
  return task.forecast.probability_below(task.spec.target_loss,
                                         static_cast<double>(task.samples) + more,
                                         static_cast<double>(task.planned_samples)) >= kFeasibleMin;
}

}  // namespace

void Uara::Given::archive(Archive& ar) {
  ar(key);
  ar(share_ppm);
  ar(computing);
  ar(total);
  ar(feasible);
}

Uara::Given& Uara::given_to(core::TaskKey key) {
  const auto at = std::lower_bound(given_.begin(), given_.end(), key,
                                   [](const Given& g, core::TaskKey k) { return g.key < k; });
  if (at != given_.end() && at->key == key) return *at;
  Given fresh;
  fresh.key = key;
  return *given_.insert(at, fresh);
}

void Uara::cap(Decision& out, std::uint32_t total) const {
  const std::uint32_t most = core::kShareWholePpm / std::max(1U, total);
  for (Choice& choice : out.choices) choice.share_ppm = std::min(choice.share_ppm, most);
}

void Uara::normalise(const LaneView& view, Decision& out) {
  const bool trust_nobody = ++decisions_ % kReprobeEvery == 0;
  const auto is_chosen = [&](core::TaskKey key) {
    return std::any_of(out.choices.begin(), out.choices.end(),
                       [key](const Choice& c) { return c.key == key; });
  };
  // What the wrapped policy chose and is worth its energy, then every other feasible ready task.
  std::vector<Choice> kept;
  std::vector<Choice> others;
  std::uint64_t wanted = 0;
  for (const Candidate& c : view.candidates) {
    const bool feasible = trust_nobody || is_feasible(*c.task, view.now);
    given_to(c.task->key).feasible = feasible;
    if (!feasible) continue;
    if (!is_chosen(c.task->key)) {
      if (c.resident) others.push_back(Choice{c.task->key, 0});
      continue;
    }
    const auto at = std::find_if(out.choices.begin(), out.choices.end(),
                                 [&](const Choice& x) { return x.key == c.task->key; });
    kept.push_back(*at);
    if (c.resident) wanted += at->share_ppm;
  }
  const auto computing = static_cast<std::uint32_t>(kept.size() + others.size());
  const std::uint32_t least = core::kShareWholePpm / std::max(1U, computing) / kUaraMinimumPart;
  const std::uint64_t budget = core::kShareWholePpm - static_cast<std::uint64_t>(least) * computing;
  for (Choice& choice : kept) {
    const std::uint64_t part = wanted > 0 ? budget * choice.share_ppm / wanted : 0;
    choice.share_ppm = least + static_cast<std::uint32_t>(std::min(part, budget));
  }
  // Nobody the wrapped policy wants can compute now: the others have the lane in equal parts.
  const bool equal = wanted == 0 && !others.empty();
  for (Choice& choice : others) {
    choice.share_ppm = equal ? core::kShareWholePpm / static_cast<std::uint32_t>(computing) : least;
  }
  kept.insert(kept.end(), others.begin(), others.end());
  out.choices = std::move(kept);
}

void Uara::decide(const LaneView& view, Decision& out) {
  inner_->decide(view, out);
  const auto resident =
      static_cast<std::uint32_t>(std::count_if(view.candidates.begin(), view.candidates.end(),
                                               [](const Candidate& c) { return c.resident; }));
  const std::uint32_t total = resident + view.not_ready;
  if (form_.as_printed) {
    cap(out, total);
  } else {
    normalise(view, out);
  }
  for (const Candidate& c : view.candidates) {
    Given& given = given_to(c.task->key);
    given.share_ppm = 0;
    given.computing = resident;
    given.total = total;
  }
  for (const Choice& choice : out.choices) given_to(choice.key).share_ppm = choice.share_ppm;
}

void Uara::forget(core::TaskKey key) {
  inner_->forget(key);
  std::erase_if(given_, [key](const Given& g) { return g.key == key; });
}

void Uara::archive(Archive& ar) {
  inner_->archive(ar);
  ar(decisions_);
  ar.sequence(given_, core::kTasksLiveMax);
}

std::string Uara::explain(const core::Task& task) const {
  std::string out(form_.name);
  const auto at = std::find_if(given_.begin(), given_.end(),
                               [&task](const Given& g) { return g.key == task.key; });
  if (at == given_.end()) return out + ": nothing is known of it yet";
  const auto part = [](std::uint32_t ppm) {
    return shortened(static_cast<double>(ppm) / static_cast<double>(core::kShareWholePpm));
  };
  out += ": it got " + part(at->share_ppm) + " of the lane; " + std::to_string(at->computing) +
         " of " + std::to_string(at->total) + " active tasks could compute";
  if (form_.as_printed) {
    out += ", and each is capped at 1/" + std::to_string(std::max(1U, at->total));
  } else if (!at->feasible) {
    out += "; its forecast misses its target, so it gets nothing for now";
  } else {
    out += "; each feasible one gets at least a tenth of an equal share";
  }
  return out + "; " + inner_->explain(task);
}

}  // namespace laird::policies
