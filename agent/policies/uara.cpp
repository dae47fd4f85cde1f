#include "agent/policies/uara.hpp"

#include <algorithm>

#include "agent/policies/keyed_list.hpp"

namespace laird::policies {
namespace {

// Ours.
constexpr std::uint64_t kJudgeReports = 4;  // before that no forecast is trusted
constexpr std::uint64_t kReprobeEvery = 20;

}  // namespace

void Uara::Given::archive(Archive& ar) {
  ar(key);
  ar(share_ppm);
  ar(computing);
  ar(total);
  ar(feasible);
  ar(turn);
}

Uara::Given& Uara::given_to(core::TaskKey key) {
  const auto at = std::lower_bound(given_.begin(), given_.end(), key,
                                   [](const Given& g, core::TaskKey k) { return g.key < k; });
  if (at != given_.end() && at->key == key) return *at;
  Given fresh;
  fresh.key = key;
  return *given_.insert(at, fresh);
}

bool Uara::is_feasible(const core::Task& task, TimeNs now) const {
  if (task.forecast.reports() < kJudgeReports || !(task.rate > 0.0)) return true;
  return placement::need_of(task, task.rate, now).feasible();
}

void Uara::cap(Decision& out, std::uint32_t total) const {
  const std::uint32_t most = core::kShareWholePpm / std::max(1U, total);
  for (Choice& choice : out.choices) choice.share_ppm = std::min(choice.share_ppm, most);
}

// The feasible ready task that is due its minimum share for longest, and its turn; nobody: null.
const core::Task* Uara::overdue(const LaneView& view, DurationNs& turn) {
  const bool trust_nobody = ++decisions_ % kReprobeEvery == 0;
  std::int64_t computing = 0;
  const core::Task* waited = nullptr;
  TimeNs since = 0;
  for (const Candidate& c : view.candidates) {
    const bool feasible = trust_nobody || is_feasible(*c.task, view.now);
    given_to(c.task->key).feasible = feasible;
    if (!feasible || !c.resident) continue;
    ++computing;
    const TimeNs served = std::max(c.task->grant_at, c.task->ready_at);
    if (waited != nullptr && served >= since) continue;
    waited = c.task;
    since = served;
  }
  if (waited == nullptr) return nullptr;
  const DurationNs due = (view.now - since) / (kUaraMinimumPart * computing);
  turn = due;
  return due >= view.slice ? waited : nullptr;
}

void Uara::normalise(const LaneView& view, Decision& out) {
  DurationNs turn = 0;
  if (const core::Task* task = overdue(view, turn)) {
    out.clear();
    out.slice = turn;
    out.choices.push_back(Choice{task->key});
    given_to(task->key).turn = true;
    return;
  }
  std::erase_if(out.choices, [&](const Choice& c) { return !given_to(c.key).feasible; });
  std::uint64_t wanted = 0;
  for (const Choice& choice : out.choices) wanted += choice.share_ppm;
  if (wanted == 0) return;
  for (Choice& choice : out.choices) {
    const std::uint64_t share = std::uint64_t{core::kShareWholePpm} * choice.share_ppm / wanted;
    choice.share_ppm = static_cast<std::uint32_t>(share);
  }
}

void Uara::decide(const LaneView& view, Decision& out) {
  inner_->decide(view, out);
  const auto resident =
      static_cast<std::uint32_t>(std::count_if(view.candidates.begin(), view.candidates.end(),
                                               [](const Candidate& c) { return c.resident; }));
  const std::uint32_t total = resident + view.not_ready;
  for (const Candidate& c : view.candidates) given_to(c.task->key).turn = false;
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
  if (ar.reading() && !ascends_by_key(given_)) ar.fail();
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
  } else if (at->turn) {
    out += "; it was its turn by the minimum share, a tenth of an equal one";
  } else {
    out += "; each feasible one gets at least a tenth of an equal share";
  }
  return out + "; " + inner_->explain(task);
}

}  // namespace laird::policies
