// Earlier runs: of this board first, else of a peer that has run the same work.
//
// Source: ours. A task of a work that has no run here is asked about once, of every member, when it
// is accepted; the first answer that serves is taken. A run of the same work serves better than one
// of the same name with other parameters, wherever it ran.
#include <algorithm>
#include <utility>
#include <vector>

#include "agent/core/step/runs/run_words.hpp"
#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

// A curve of fewer points says too little about the next one.
constexpr std::uint32_t kRecalledPointsMin = 6;
// A task that has told more of itself needs no run of another board's any more.
constexpr std::uint64_t kReportsOwnMax = 16;
// Answers in one tick; what is asked beyond that goes without one.
constexpr std::size_t kRunAnswersMax = 16;

[[nodiscard]] bool is_same_work(const TaskSpec& a, const TaskSpec& b) {
  return a.trainer == b.trainer && a.params == b.params;
}

[[nodiscard]] bool may_be_recalled(const Task& task) {
  return task.spec.promotes.empty() && task.forecast.trace().size() >= kRecalledPointsMin;
}

// Of the same name, as a task that is trained again every night on that night's data. A run that
// only looked the same is let go by the forecaster itself.
[[nodiscard]] bool is_named(const TaskSpec& of, std::string_view name, std::string_view run_of) {
  return of.name == name || (!run_of.empty() && of.run_of == run_of);
}

}  // namespace

void Stepper::recall_earlier_run(Task& task) {
  const TaskSpec& spec = task.spec;
  const Task* same = nullptr;
  const Task* named = nullptr;
  for (auto at = s_.ended.rbegin(); at != s_.ended.rend() && same == nullptr; ++at) {
    const Task& run = **at;
    if (run.spec.trainer != spec.trainer || !may_be_recalled(run)) continue;
    if (is_same_work(run.spec, spec)) same = &run;
    if (named == nullptr && is_named(run.spec, spec.name, spec.run_of)) named = &run;
  }
  if (const Task* earlier = same != nullptr ? same : named) {
    task.recalled = earlier->key;
    task.forecast.recall(earlier->forecast.trace());
  }
  if (same != nullptr || !s_.fleet.member() || spec.cotrain || !spec.promotes.empty()) return;
  const std::string bytes =
      encode(RunAsked{task.key, work_of_run(spec), spec.trainer, spec.name, spec.run_of});
  for (const FleetMember& member : s_.fleet.budget.members) {
    if (member.id != s_.config.node) out_.push_back({SendRun{member.id, bytes}});
  }
}

void Stepper::on(const RunsHeard& e) {
  // The works of what ended here, the newest first; worked out once, since it takes a hash each.
  std::vector<std::pair<std::string, const Task*>> runs;
  std::size_t answers = 0;
  for (const PeerMessage& message : e.messages) {
    const Result<RunWord> word = decode_run_word(message.bytes);
    if (!word || s_.fleet.budget.member(message.from) == nullptr) {
      ++s_.fleet.counters.peer_messages_refused;
      continue;
    }
    if (const auto* told = std::get_if<RunTold>(&*word)) {
      take_run(message.from, *told);
      continue;
    }
    if (answers == kRunAnswersMax) continue;
    if (answers == 0 && runs.empty()) {
      for (auto at = s_.ended.rbegin(); at != s_.ended.rend(); ++at) {
        if (may_be_recalled(**at)) runs.emplace_back(work_of_run((*at)->spec), &**at);
      }
    }
    const auto& asked = std::get<RunAsked>(*word);
    const auto same = std::find_if(runs.begin(), runs.end(),
                                   [&](const auto& run) { return run.first == asked.work; });
    const auto any =
        same != runs.end() ? same : std::find_if(runs.begin(), runs.end(), [&](const auto& r) {
          const TaskSpec& of = r.second->spec;
          return of.trainer == asked.trainer && is_named(of, asked.name, asked.run_of);
        });
    if (any == runs.end()) continue;
    ++answers;
    const Task& run = *any->second;
    out_.push_back({SendRun{message.from, encode(RunTold{asked.key, asked.work, run.spec.name,
                                                         any == same, run.forecast.trace()})}});
  }
}

void Stepper::take_run(const std::string& from, const RunTold& told) {
  Task* task = s_.find_live(told.key);
  if (task == nullptr || task->outcome != Outcome::kNone) return;
  if (work_of_run(task->spec) != told.work || told.trace.size() < kRecalledPointsMin) return;
  if (task->forecast.reports() > kReportsOwnMax) return;
  const Task* own = s_.find_any(task->recalled);
  const bool has_same = own != nullptr ? is_same_work(own->spec, task->spec) : task->recalled_same;
  const bool has_any = own != nullptr || !task->recalled_from.empty();
  if (has_same || (has_any && !told.same_work)) return;
  task->recalled = 0;
  task->recalled_from = from;
  task->recalled_task = told.task;
  task->recalled_same = told.same_work;
  task->forecast.recall(told.trace);
}

}  // namespace laird::core
