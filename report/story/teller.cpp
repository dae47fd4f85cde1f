// The tasks of a story and what was decided about them.
#include "report/story/teller.hpp"

#include <algorithm>
#include <utility>

#include "agent/core/step/time_sheet.hpp"
#include "agent/placement/need.hpp"
#include "agent/view/status.hpp"
#include "agent/why/why.hpp"
#include "base/duration.hpp"

namespace laird::story {
namespace {

Doing doing_of(const core::State& state, const core::Task& task) {
  using core::TaskState;
  switch (task.state) {
    case TaskState::kRunning: return Doing::kRunning;
    case TaskState::kStarting: return Doing::kStarting;
    case TaskState::kBackoff: return Doing::kCrashed;
    case TaskState::kPaused: return Doing::kPaused;
    case TaskState::kPreempting:
    case TaskState::kEvicting:
    case TaskState::kPausing:
    case TaskState::kFinishing:
    case TaskState::kEnded: return Doing::kMakingWay;
    case TaskState::kQueued:
    case TaskState::kReady: break;
  }
  return core::throttled_now(state, task) ? Doing::kThrottled : Doing::kWaiting;
}

// Every second of them, so that what is left lies evenly over time.
template <class T>
void halve(std::vector<T>& items) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); i += 2, ++kept) {
    if (kept != i) items[kept] = std::move(items[i]);
  }
  items.resize(kept);
}

}  // namespace

const char* name(Kind kind) {
  switch (kind) {
    case Kind::kTask: return "task";
    case Kind::kAgent: return "agent";
    case Kind::kCrash: return "crash";
    case Kind::kCommand: return "command";
    case Kind::kFault: return "fault";
    case Kind::kPower: return "power";
  }
  return "?";
}

std::size_t Teller::places_each() const {
  const std::size_t tasks = std::max<std::size_t>(1, story_.tasks.size());
  return std::clamp<std::size_t>(kTaskPlacesAll / tasks, kTaskPlacesMin, 1024);
}

void Teller::begin(const core::State& state) {
  begun_ = true;
  story_.from = state.now;
  grants_ = GrantWatch(state.counters.decisions);
  first_switches_ = state.counters.switches;
  first_energy_j_ = state.meter.totals().board.joules();
  first_metered_ns_ = state.meter.totals().metered_ns;
  last_at_ = state.now;
  last_wall_minus_agent_ = state.wall_minus_agent;
}

void Teller::see(const core::Event& event, const core::State& state,
                 const core::Effects& commands) {
  if (!begun_) begin(state);
  if (std::holds_alternative<core::Booted>(event.body)) see_booted(state);
  see_happenings(event, state, commands);
  if (const auto* report = std::get_if<core::TrainerProgressed>(&event.body)) {
    see_report(*report, state);
  }
  see_tasks(state);
  see_ended(state);
  see_decisions(state);
  see_power(event, state);
  if (state.fleet.member()) see_fleet(event, state);
  last_at_ = state.now;
  last_wall_minus_agent_ = state.wall_minus_agent;
}

// Nothing ran between the agent's last event and its next start.
void Teller::see_booted(const core::State& state) {
  ++story_.starts;
  for (auto& [key, live] : live_) {
    TaskStory& task = story_.tasks[live.index];
    add_stretch(task, live.doing, live.lane, live.since, last_at_);
    add_stretch(task, Doing::kAgentDown, -1, last_at_, state.now);
    live.since = state.now;
    live.doing = Doing::kWaiting;
    live.lane = -1;
  }
}

void Teller::add_stretch(TaskStory& task, Doing doing, int lane, TimeNs from, TimeNs to) {
  task.track.add(doing, lane, from, to);
  if (on_stretch_ && to > from) on_stretch_(task, doing, lane, from, to);
}

Teller::Live& Teller::meet(const core::Task& task, const core::State& state) {
  const auto [found, is_new] = live_.try_emplace(task.key);
  Live& live = found->second;
  if (!is_new) return live;
  live.index = story_.tasks.size();
  live.since = std::max(task.accepted_at, story_.from);
  live.doing = doing_of(state, task);
  TaskStory& out = story_.tasks.emplace_back();
  out.key = task.key;
  out.name = task.spec.name;
  out.track.shrink(places_each());
  out.losses.shrink(places_each());
  return live;
}

void Teller::see_tasks(const core::State& state) {
  for (const core::Task& task : state.live) {
    Live& live = meet(task, state);
    const Doing doing = doing_of(state, task);
    const int lane = doing == Doing::kRunning ? task.lane : -1;
    if (doing == live.doing && lane == live.lane) continue;
    add_stretch(story_.tasks[live.index], live.doing, live.lane, live.since, state.now);
    live.doing = doing;
    live.lane = lane;
    live.since = state.now;
  }
}

void Teller::see_ended(const core::State& state) {
  if (state.ended.empty() || state.ended.back()->key == newest_ended_) return;
  for (auto ended = state.ended.rbegin(); ended != state.ended.rend(); ++ended) {
    const core::Task& task = *ended;
    // Tasks that ended before the journal begins are no part of its story.
    if (task.key == newest_ended_ || task.ended_at < story_.from) break;
    Live& live = meet(task, state);
    TaskStory& out = story_.tasks[live.index];
    add_stretch(out, live.doing, live.lane, live.since, task.ended_at);
    fill(out, state, task);
    tell(task.ended_at, Kind::kTask, out.headline, out.name);
    out.track.shrink(places_each());
    out.losses.shrink(places_each());
    live_.erase(task.key);
  }
  newest_ended_ = state.ended.back()->key;
}

void Teller::fill(TaskStory& out, const core::State& state, const core::Task& task) {
  const agent::TaskRow row = agent::task_row(state, task, state.now);
  const why::Finding finding = why::finding_of(state, task, state.now);
  out.trainer = task.spec.trainer;
  out.lane_kind = row.lane;
  out.weight = row.weight;
  out.target = row.target_loss;
  out.accepted_at = task.accepted_at;
  out.deadline_at = task.deadline_at;
  out.ended_at = row.ended ? task.ended_at : 0;
  out.state = row.state;
  out.outcome = task.outcome;
  out.cause = why::name(finding.cause);
  out.headline = finding.headline;
  out.why = why::text_of(finding);
  for (const why::Use& use : finding.uses) {
    out.spent.push_back({why::words_of(use), use.line.ns});
  }
  if (task.loss_known) {
    out.loss = task.loss;
    out.best_loss = task.best_loss;
  }
  out.samples = task.samples;
  out.planned_samples = task.planned_samples;
  out.energy_uj = row.energy_uj;
  out.busy_ns = row.busy_ns;
  out.switches = task.switches;
}

void Teller::see_report(const core::TrainerProgressed& report, const core::State& state) {
  const core::Task* task = state.find_any(report.key);
  // What an earlier process of the task said late is not part of its curve.
  if (task == nullptr || task->attempt != report.attempt) return;
  Live& live = meet(*task, state);
  TaskStory& out = story_.tasks[live.index];
  ++out.reports;
  out.losses.add({state.now, report.loss, static_cast<double>(report.samples)});
  add_forecast(out, live, state, *task);
}

void Teller::add_forecast(TaskStory& out, Live& live, const core::State& state,
                          const core::Task& task) {
  if (state.now < live.forecast_at || !placement::has_forecast(task, task.rate)) return;
  const DurationNs left = task.deadline_at - state.now;
  const DurationNs took = std::max<DurationNs>(1, state.now - task.accepted_at);
  DurationNs busy = task.busy_ns;
  if (task.lane >= 0) busy += std::max<DurationNs>(0, state.now - task.grant_at);
  const double share = std::min(1.0, static_cast<double>(busy) / static_cast<double>(took));
  ForecastThen then;
  then.at = state.now;
  then.probability = placement::need_of(task, task.rate, state.now).probability;
  for (std::size_t i = 0; left > 0 && i <= kForecastSteps; ++i) {
    const DurationNs ahead =
        left / static_cast<DurationNs>(kForecastSteps) * static_cast<DurationNs>(i);
    const double samples = static_cast<double>(task.samples) + task.rate * share * seconds(ahead);
    const auto band = task.forecast.loss_at(samples, static_cast<double>(task.planned_samples));
    if (band) then.steps.push_back({state.now + ahead, band->low, band->loss, band->high});
  }
  out.forecasts.push_back(std::move(then));
  if (out.forecasts.size() > kForecastsKept) {
    halve(out.forecasts);
    live.forecast_every = std::max(2 * live.forecast_every, took / DurationNs{kForecastsKept});
  }
  live.forecast_at = state.now + live.forecast_every;
}

void Teller::see_decisions(const core::State& state) {
  const bool wanted = state.now >= decision_at_;
  bool added = false;
  story_.decisions_all += grants_.see(state, [&](std::size_t lane, const core::Task& task) {
    if (!wanted) return;
    added = true;
    story_.decisions.push_back({state.now, static_cast<std::uint32_t>(lane), task.key,
                                share_of(task), state.lanes[lane].slice, why_of(state, task)});
  });
  if (!added) return;
  if (story_.decisions.size() > kDecisionsKept) {
    halve(story_.decisions);
    decision_every_ =
        std::max(2 * decision_every_, (state.now - story_.from) / DurationNs{kDecisionsKept / 2});
  }
  decision_at_ = state.now + decision_every_;
}

BoardStory Teller::finish(const core::State& state) {
  if (!begun_) begin(state);
  for (const core::Task& task : state.live) {
    Live& live = meet(task, state);
    TaskStory& out = story_.tasks[live.index];
    add_stretch(out, live.doing, live.lane, live.since, state.now);
    fill(out, state, task);
  }
  if (window_.ns > 0) end_window(state.now);
  end_breach();
  std::sort(story_.tasks.begin(), story_.tasks.end(),
            [](const TaskStory& a, const TaskStory& b) { return a.key < b.key; });
  for (TaskStory& task : story_.tasks) {
    task.track.shrink(places_each());
    task.losses.shrink(places_each());
  }
  story_.to = state.now;
  story_.node = state.config.node;
  story_.wall_minus_agent = state.wall_minus_agent;
  story_.policy = state.config.policy;
  for (const core::Lane& lane : state.lanes) {
    story_.lanes.push_back({lane.config.name, std::string(core::name(lane.config.kind))});
  }
  const power::MeterTotals& totals = state.meter.totals();
  story_.power.energy_j = totals.board.joules() - first_energy_j_;
  story_.power.metered_ns = totals.metered_ns - first_metered_ns_;
  story_.power.source = power::name(state.meter_source);
  story_.switches = state.counters.switches - first_switches_;
  story_.fleet.shares = std::move(shares_.points());
  std::stable_sort(story_.happenings.begin(), story_.happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.at < b.at; });
  return std::move(story_);
}

}  // namespace laird::story
