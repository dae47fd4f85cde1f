#include "agent/view/display_text.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "agent/view/status.hpp"
#include "base/duration.hpp"

namespace laird::agent {
namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

std::string count_text(std::uint64_t n) {
  if (n < 10'000) return std::to_string(n);
  if (n < 10'000'000) return format("%.1fk", static_cast<double>(n) / 1e3);
  return format("%.1fM", static_cast<double>(n) / 1e6);
}

std::string loss_text(bool known, double loss) {
  if (!known) return "-";
  return format(loss < 0.001 ? "%.2e" : "%.4f", loss);
}

// "0.41, 87%": the loss expected at the deadline, and the chance to reach the target by then
// with the whole lane.
std::string forecast_text(const TaskRow& row) {
  if (!row.forecast_known) return "-";
  return loss_text(true, row.forecast_loss) + format(", %.0f%%", row.need.probability * 100);
}

std::string energy_text(std::int64_t energy_uj) {
  if (energy_uj < 0) return "-";
  return format("%.1fJ", static_cast<double>(energy_uj) * 1e-6);
}

std::string left_text(DurationNs left) { return left < 0 ? "passed" : spoken(left); }

// Progress through the planned work as a bar of ten cells.
std::string bar(const TaskRow& row) {
  if (row.planned_samples == 0) return count_text(row.samples);
  const double done =
      std::min(1.0, static_cast<double>(row.samples) / static_cast<double>(row.planned_samples));
  const int cells = static_cast<int>(std::lround(done * 10));
  std::string out;
  for (int i = 0; i < 10; ++i) out += i < cells ? "#" : ".";
  return out + format(" %3.0f%%", done * 100);
}

std::string energy_line(const core::State& state) {
  const power::MeterTotals& totals = state.meter.totals();
  if (totals.readings == 0) return "energy: not known, no power meter answers on this board";
  std::string out = format("energy: %.1f J", totals.board.joules());
  if (const auto mean = totals.mean_mw()) out += format(", mean %.1f W", *mean / 1000.0);
  if (state.meter_source == power::Source::kModelled) out += " (modelled, not measured)";
  if (totals.unmetered_ns > 0) out += ", " + spoken(totals.unmetered_ns) + " unmetered";
  if (const auto each = totals.joules_per_success()) out += format(", %.1f J per success", *each);
  return out;
}

constexpr const char* kHeader =
    "TASK              LANE STATE      PROGRESS          LOSS   TARGET  FORECAST            "
    "DEADLINE  SHARE   ENERGY";

std::string line_of(const TaskRow& row) {
  return format("%-17.17s %-4s %-10.10s %-15s %8s %8.4f  %-16s %11s %5.0f%% %8s", row.name.c_str(),
                row.lane.c_str(), row.state.c_str(), bar(row).c_str(),
                loss_text(row.loss_known, row.loss).c_str(), row.target_loss,
                forecast_text(row).c_str(), row.ended ? "-" : left_text(row.deadline_in).c_str(),
                row.share * 100, energy_text(row.energy_uj).c_str());
}

std::string coloured(const TaskRow& row, std::string text, bool colour) {
  if (!colour) return text;
  const char* code = row.succeeded            ? "\033[32m"
                     : row.ended              ? "\033[31m"
                     : row.state == "running" ? "\033[36m"
                     : row.state == "backoff" ? "\033[33m"
                                              : nullptr;
  return code == nullptr ? text : code + std::move(text) + "\033[0m";
}

}  // namespace

std::string table_text(const core::State& state, TimeNs now, bool colour) {
  std::string out = format("%s  policy %s  up %s  decisions %" PRIu64 "  switches %" PRIu64 "\n",
                           state.config.node.c_str(), state.config.policy.c_str(),
                           spoken(now - state.booted_at).c_str(), state.counters.decisions,
                           state.counters.switches);
  out += power_line(state, now) + "\n";
  out += colour ? "\033[1m" + std::string(kHeader) + "\033[0m\n" : std::string(kHeader) + "\n";
  for (const TaskRow& row : task_rows(state, now)) {
    out += coloured(row, line_of(row), colour) + "\n";
  }
  return out;
}

std::string live_task_lines(const core::State& state, TimeNs now) {
  std::string out;
  for (const TaskRow& row : task_rows(state, now)) {
    if (row.ended) continue;
    out += format("%6.1fs ", seconds(now - state.booted_at)) + row.name + ": " + row.state + ", " +
           count_text(row.samples) + " samples, loss " + loss_text(row.loss_known, row.loss) +
           format(" (target %.4f), forecast ", row.target_loss) + forecast_text(row) + ", " +
           left_text(row.deadline_in) + " left, share " + format("%.0f%%\n", row.share * 100);
  }
  return out;
}

std::string change_line(const core::Task& task, const core::TaskChanged& change, TimeNs now) {
  using core::TaskState;
  // A task may have gone on since: its reason is that of its end, which has a line of its own.
  const bool worth =
      change.outcome != core::Outcome::kNone
          ? change.state == TaskState::kEnded
          : task.outcome == core::Outcome::kNone &&
                (change.state == TaskState::kQueued || change.state == TaskState::kBackoff ||
                 change.state == TaskState::kPaused);
  if (!worth) return "";
  const std::string_view what =
      change.outcome != core::Outcome::kNone ? name(change.outcome) : name(change.state);
  return format("%6.1fs ", seconds(now - task.accepted_at)) + task.spec.name + ": " +
         std::string(what) + (task.reason.empty() ? "" : ", " + task.reason) + "\n";
}

std::string summary_text(const core::State& state, TimeNs now, bool colour) {
  const std::vector<TaskRow> rows = task_rows(state, now);
  const auto succeeded =
      std::count_if(rows.begin(), rows.end(), [](const TaskRow& row) { return row.succeeded; });
  std::string out = std::to_string(succeeded) + " of " + std::to_string(rows.size()) +
                    " tasks succeeded, policy " + state.config.policy + ", " +
                    std::to_string(state.counters.switches) + " switches\n";
  for (const TaskRow& row : rows) {
    const std::string line =
        format("  %-17.17s %-10s after %s, ran %s, loss %s (target %.4f), %u switches, %s",
               row.name.c_str(), row.state.c_str(), spoken(row.took_ns).c_str(),
               spoken(row.busy_ns).c_str(), loss_text(row.loss_known, row.loss).c_str(),
               row.target_loss, row.switches, energy_text(row.energy_uj).c_str());
    out += coloured(row, line, colour) + (row.reason.empty() ? "" : ": " + row.reason) + "\n";
  }
  return out + energy_line(state) + "\n";
}

}  // namespace laird::agent
