#include "agent/fleet/report.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "agent/core/step/time_sheet.hpp"
#include "agent/placement/measured_works.hpp"
#include "agent/view/shares.hpp"

namespace laird::agent {
namespace {

using core::Resource;
using json::Value;

constexpr std::size_t kCurvePointsMax = 32;
constexpr std::size_t kWindowMarks = 6;           // five seconds
constexpr DurationNs kReadingOld = 10 * kSecond;  // from then on it says nothing about now

mqtt::Share share_of(const core::State& state, Resource resource, TimeNs now) {
  const auto r = static_cast<std::size_t>(resource);
  const core::Fleet& fleet = state.fleet;
  mqtt::Share out;
  if (!core::is_on_floor(state, now)) out.parts = fleet.ledger->effective(now)[r];
  out.enforced = core::enforced_at(state, now)[r];
  const core::FleetMember* self = fleet.budget.member(state.config.node);
  out.floor = self == nullptr ? 0 : self->floor[r];
  out.budget = fleet.budget.budget_at(resource, now + state.wall_minus_agent);
  out.demand = demanded(state, resource, now).value_or(core::kUnlimited);
  return out;
}

// What the board's sensors gave; what they did not is left out.
void set_sensors(Value& out, const power::PowerReading& reading) {
  if (const auto mc = reading.hottest_mc()) {
    out.set("temperature_c", static_cast<double>(*mc) / 1e3);
  }
  if (reading.gpu_load_permille) out.set("gpu_load", *reading.gpu_load_permille / 1e3);
  if (reading.cpu_load_permille) out.set("cpu_load", *reading.cpu_load_permille / 1e3);
  if (reading.memory_used_bytes) out.set("memory_used_bytes", *reading.memory_used_bytes);
  if (reading.memory_total_bytes) out.set("memory_total_bytes", *reading.memory_total_bytes);
}

}  // namespace

mqtt::NodeInfo info_of(const core::State& state, const std::string& model,
                       const std::string& version) {
  mqtt::NodeInfo info;
  info.model = model;
  info.version = version;
  for (const core::Lane& lane : state.lanes) info.lanes.push_back(lane.config.name);
  info.trainers = state.config.trainers;
  info.memory_bytes = state.config.memory_bytes;
  info.power_source = power::name(state.meter_source);
  info.ledger_epoch = state.fleet.budget.founding_epoch;
  if (state.fleet.ledger) info.incarnation = state.fleet.ledger->account().incarnation;
  return info;
}

mqtt::BoardFacts facts_of(const power::Board& board) {
  mqtt::BoardFacts out;
  out.module = board.name;
  out.hardware = {board.cpu_cores,
                  board.cpu_clock_mhz_max,
                  board.gpu_cuda_cores,
                  board.gpu_clock_mhz_max,
                  board.memory_bandwidth_gb_s,
                  board.model.idle_mw,
                  board.model.gpu_dynamic_mw,
                  board.model.cpu_dynamic_mw};
  return out;
}

mqtt::BoardFacts facts_of(const core::State& state, mqtt::BoardFacts about) {
  mqtt::BoardFacts out = std::move(about);
  for (const core::Lane& lane : state.lanes) {
    out.lane_kinds.emplace_back(name(lane.config.kind));
  }
  for (const placement::MeasuredWork& of : placement::measured_works(state)) {
    out.works.push_back({of.trainer, of.work, std::string(name(of.lane)), of.samples_per_s,
                         of.samples, of.target_loss, of.runs});
  }
  return out;
}

mqtt::NodeReport report_of(const core::State& state, TimeNs now) {
  mqtt::NodeReport report;
  const core::Fleet& fleet = state.fleet;
  report.config_rev = fleet.budget.rev;
  report.draining = state.draining;
  report.fenced = fleet.fenced(now);
  if (!fleet.on_floor(now)) {
    const TimeNs fence = std::min(fleet.ledger->fence_deadline(), now + core::kLeaseMax);
    report.fence_in_ms = (fence - now) / kMillisecond;
  }
  report.power_mw = share_of(state, Resource::kPower, now);
  report.cpu_milli = share_of(state, Resource::kCpu, now);
  report.gpu_ppm = share_of(state, Resource::kGpu, now);
  report.power_mw_now = drawn_mw(state);
  report.cap_mw = state.power.in_force(state.config.power).mw.value_or(core::kUnlimited);
  const std::int64_t share_mw = report.power_mw.enforced;
  if (share_mw != core::kUnlimited && report.cap_mw > share_mw) report.cap_mw = share_mw;
  report.energy_mj = state.meter.totals().board.uj() / 1000;
  for (const core::Task& task : state.live) {
    const bool throttled = core::throttled_now(state, task).has_value();
    if (throttled) ++report.tasks_throttled;
    if (throttled || task.state == core::TaskState::kRunning ||
        task.state == core::TaskState::kPreempting) {
      ++report.tasks_running;
    } else {
      ++report.tasks_queued;
    }
  }
  report.tasks_ended = state.ended.size();
  return report;
}

std::string brief_of(const mqtt::NodeReport& report) {
  const auto words = {report.config_rev,
                      std::uint64_t{report.draining},
                      std::uint64_t{report.fenced},
                      static_cast<std::uint64_t>(report.power_mw.enforced),
                      static_cast<std::uint64_t>(report.cpu_milli.enforced),
                      static_cast<std::uint64_t>(report.gpu_ppm.enforced),
                      report.tasks_queued,
                      report.tasks_running,
                      report.tasks_throttled,
                      report.tasks_ended};
  std::string out;
  for (const std::uint64_t word : words) out += std::to_string(word) + ' ';
  return out;
}

std::optional<double> EnergyWindow::mean_w(const core::State& state) {
  const power::MeterTotals& totals = state.meter.totals();
  marks_.push_back({totals.metered_ns, totals.board.uj()});
  if (marks_.size() > kWindowMarks) marks_.pop_front();
  const DurationNs metered = marks_.back().metered_ns - marks_.front().metered_ns;
  if (metered <= 0) return std::nullopt;
  return static_cast<double>(marks_.back().uj - marks_.front().uj) * 1e3 /
         static_cast<double>(metered);
}

Value power_telemetry(const core::State& state, TimeNs now, std::uint64_t epoch,
                      std::int64_t unix_ms, std::optional<double> mean_w,
                      const std::optional<power::PowerReading>& reading) {
  Value out = Value::object();
  out.set("s", "laird.tele/1.0");
  out.set("epoch", epoch);
  out.set("mono_ms", now / kMillisecond);
  out.set("ts", mqtt::time_text(unix_ms));
  const auto mw = state.meter.last_total_mw();
  out.set("power_w", mw ? Value::number(static_cast<double>(*mw) / 1e3) : Value());
  out.set("power_mean_w", mean_w ? Value::number(*mean_w) : Value());
  const std::int64_t cap = core::enforced_at(state, now)[Resource::kPower];
  out.set("cap_w",
          cap == core::kUnlimited ? Value() : Value::number(static_cast<double>(cap) / 1e3));
  const core::CapInForce limit = state.power.in_force(state.config.power);
  out.set("limit_w", limit.mw ? Value::number(static_cast<double>(*limit.mw) / 1e3) : Value());
  out.set("limit_by", core::name(limit.source));
  out.set("throttled", state.power.held_since != kNever);
  // The reading's own time is of another clock than the agent's.
  if (reading && now - state.power.read_at < kReadingOld) set_sensors(out, *reading);
  out.set("task_memory_bytes", state.memory_used_bytes());
  Value curves = Value::array();
  for (const core::Task& task : state.live) {
    if (!task.loss_known || task.lane < 0 || curves.items().size() >= kCurvePointsMax) continue;
    curves.add(Value::object()
                   .set("task", task.spec.name)
                   .set("samples", task.samples)
                   .set("loss", task.loss));
  }
  out.set("running", std::move(curves));
  return out;
}

}  // namespace laird::agent
