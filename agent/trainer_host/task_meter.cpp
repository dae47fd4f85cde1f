#include "agent/trainer_host/task_meter.hpp"

namespace laird::agent {

trainer_protocol::Metered metered(const core::State& state, core::TaskKey key) {
  trainer_protocol::Metered out;
  const power::MeterTotals& totals = state.meter.totals();
  if (totals.readings == totals.readings_without_total) {
    out.problem = "this board has no power meter";
    return out;
  }
  if (const power::TaskEnergy* task = state.meter.task(key)) {
    out.above_idle_j = task->dynamic.joules();
  }
  out.metered_s = static_cast<double>(totals.metered_ns) / kSecond;
  out.readings = totals.readings;
  return out;
}

}  // namespace laird::agent
