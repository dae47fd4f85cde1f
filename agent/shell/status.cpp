#include "agent/shell/status.hpp"

#include <algorithm>

namespace laird::shell {
namespace {

double seconds(DurationNs ns) { return static_cast<double>(ns) / static_cast<double>(kSecond); }

void add_forecast(const core::Task& task, TaskRow& row) {
  if (task.rate <= 0.0 || row.deadline_in <= 0) return;
  const double more = task.rate * row.share * seconds(row.deadline_in);
  const double at = static_cast<double>(task.samples) + more;
  const double planned = static_cast<double>(task.planned_samples);
  const auto forecast = task.forecast.loss_at(at, planned);
  if (!forecast) return;
  row.forecast_known = true;
  row.forecast_loss = forecast->loss;
  row.forecast_low = forecast->low;
  row.forecast_high = forecast->high;
  row.forecast_probability = task.forecast.probability_below(row.target_loss, at, planned);
}

TaskRow row_of(const core::Task& task, TimeNs now) {
  TaskRow row;
  row.name = task.spec.name;
  row.lane = name(task.spec.lane);
  row.ended = task.state == core::TaskState::kEnded;
  row.succeeded = task.outcome == core::Outcome::kSucceeded;
  row.state = task.outcome != core::Outcome::kNone ? name(task.outcome) : name(task.state);
  row.samples = task.samples;
  row.planned_samples = task.planned_samples;
  row.loss_known = task.loss_known;
  row.loss = task.loss;
  row.target_loss = task.spec.target_loss;
  row.busy_ns = task.busy_ns;
  if (task.lane >= 0) row.busy_ns += std::max<DurationNs>(0, now - task.grant_at);
  const TimeNs until = row.ended ? task.ended_at : now;
  row.took_ns = std::max<DurationNs>(1, until - task.accepted_at);
  row.deadline_in = task.deadline_at - until;
  row.share = static_cast<double>(row.busy_ns) / static_cast<double>(row.took_ns);
  row.switches = task.switches;
  row.energy_uj = task.energy_uj;
  if (!row.ended) add_forecast(task, row);
  row.reason = task.reason;
  return row;
}

}  // namespace

std::vector<TaskRow> task_rows(const core::State& state, TimeNs now) {
  std::vector<std::pair<core::TaskKey, TaskRow>> keyed;
  for (const core::Task& task : state.live) {
    keyed.emplace_back(task.key, row_of(task, now));
    const power::TaskEnergy* used = state.meter.task(task.key);
    if (used != nullptr && state.meter.totals().readings > 0) {
      keyed.back().second.energy_uj = used->dynamic.uj() + used->idle.uj();
    }
  }
  for (const core::Task& task : state.ended) keyed.emplace_back(task.key, row_of(task, now));
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TaskRow> rows;
  for (auto& [key, row] : keyed) rows.push_back(std::move(row));
  return rows;
}

json::Value task_json(const TaskRow& row) {
  using json::Value;
  Value out = Value::object();
  out.set("name", Value::string(row.name));
  out.set("lane", Value::string(row.lane));
  out.set("state", Value::string(row.state));
  out.set("samples", Value::integer(static_cast<std::int64_t>(row.samples)));
  out.set("planned_samples", Value::integer(static_cast<std::int64_t>(row.planned_samples)));
  out.set("loss", row.loss_known ? Value::number(row.loss) : Value());
  out.set("target_loss", Value::number(row.target_loss));
  if (row.forecast_known) {
    out.set("forecast", Value::object()
                            .set("loss", Value::number(row.forecast_loss))
                            .set("low", Value::number(row.forecast_low))
                            .set("high", Value::number(row.forecast_high))
                            .set("probability", Value::number(row.forecast_probability)));
  }
  out.set("energy_j",
          row.energy_uj < 0 ? Value() : Value::number(static_cast<double>(row.energy_uj) * 1e-6));
  out.set("deadline_in_s", Value::number(seconds(row.deadline_in)));
  out.set("busy_s", Value::number(seconds(row.busy_ns)));
  out.set("share", Value::number(row.share));
  out.set("switches", Value::integer(row.switches));
  out.set("reason", Value::string(row.reason));
  return out;
}

}  // namespace laird::shell
