#include "agent/commands/ended_page.hpp"

#include "agent/why/why.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::agent {
namespace {

using json::Value;

[[nodiscard]] Value row_of(const core::State& state, const core::Task& task, std::int64_t wall_ms) {
  const why::Finding finding = why::finding_of(state, task, state.now);
  return Value::object()
      .set("key", task.key)
      .set("name", task.spec.name)
      .set("trainer", task.spec.trainer)
      .set("state", core::name(task.outcome))
      .set("ended", mqtt::time_text(wall_ms))
      .set("took_s", static_cast<double>(task.ended_at - task.accepted_at) * 1e-9)
      .set("margin_s", static_cast<double>(task.deadline_at - task.ended_at) * 1e-9)
      .set("loss", task.loss_known ? Value::number(task.loss) : Value())
      .set("target_loss", task.spec.target_loss)
      .set("samples", task.samples)
      .set("weight", task.spec.weight())
      .set("energy_j",
           task.energy_uj < 0 ? Value() : Value::number(static_cast<double>(task.energy_uj) * 1e-6))
      .set("busy_s", static_cast<double>(task.busy_ns) * 1e-9)
      .set("cause", why::name(finding.cause))
      .set("why", finding.headline);
}

}  // namespace

Value ended_page(const core::State& state, std::int64_t since_ms,
                 std::optional<core::TaskKey> before) {
  Value list = Value::array();
  bool more = false;
  std::size_t bytes = 0;
  bool after_place = !before.has_value();
  for (auto ended = state.ended.rbegin(); ended != state.ended.rend(); ++ended) {
    const core::Task& task = *ended;
    if (!after_place) {
      after_place = task.key == *before;
      continue;
    }
    const std::int64_t wall_ms = (task.ended_at + state.wall_minus_agent) / kMillisecond;
    if (wall_ms < since_ms || task.removed) continue;
    Value row = row_of(state, task, wall_ms);
    bytes += json::to_text(row).size() + 1;
    if (bytes > kEndedPageBytesMax && !list.items().empty()) {
      more = true;
      break;
    }
    list.add(std::move(row));
  }
  return Value::object().set("ended", std::move(list)).set("more", more);
}

}  // namespace laird::agent
