#include "agent/view/display.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>

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

// "0.41, 87%": the loss expected at the deadline, and the chance to reach the target by then.
std::string forecast_text(const TaskRow& row) {
  if (!row.forecast_known) return "-";
  return loss_text(true, row.forecast_loss) + format(", %.0f%%", row.forecast_probability * 100);
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
    "DEADLINE"
    "  SHARE   ENERGY";

std::string line_of(const TaskRow& row) {
  return format("%-17.17s %-4s %-10.10s %-15s %8s %8.4f  %-16s %11s %5.0f%% %8s", row.name.c_str(),
                row.lane.c_str(), row.state.c_str(), bar(row).c_str(),
                loss_text(row.loss_known, row.loss).c_str(), row.target_loss,
                forecast_text(row).c_str(), row.ended ? "-" : left_text(row.deadline_in).c_str(),
                row.share * 100, energy_text(row.energy_uj).c_str());
}

}  // namespace

std::string Display::coloured(const TaskRow& row, std::string text) const {
  if (!colour_) return text;
  const char* code = row.succeeded            ? "\033[32m"
                     : row.ended              ? "\033[31m"
                     : row.state == "running" ? "\033[36m"
                     : row.state == "backoff" ? "\033[33m"
                                              : nullptr;
  return code == nullptr ? text : code + std::move(text) + "\033[0m";
}

std::string Display::table(const core::State& state, TimeNs now) const {
  std::string out = format("%s  policy %s  up %s  decisions %" PRIu64 "  switches %" PRIu64 "\n",
                           state.config.node.c_str(), state.config.policy.c_str(),
                           spoken(now - state.booted_at).c_str(), state.counters.decisions,
                           state.counters.switches);
  out += power_line(state, now) + "\n";
  out += colour_ ? "\033[1m" + std::string(kHeader) + "\033[0m\n" : std::string(kHeader) + "\n";
  for (const TaskRow& row : task_rows(state, now)) out += coloured(row, line_of(row)) + "\n";
  return out;
}

void Display::refresh(const core::State& state, TimeNs now) {
  if (view_ == View::kNone) return;
  if (view_ == View::kLines) {
    for (const TaskRow& row : task_rows(state, now)) {
      if (row.ended) continue;
      std::fprintf(out_,
                   "%6.1fs %s: %s, %s samples, loss %s (target %.4f), forecast %s, %s left, share "
                   "%.0f%%\n",
                   seconds(now - state.booted_at), row.name.c_str(), row.state.c_str(),
                   count_text(row.samples).c_str(), loss_text(row.loss_known, row.loss).c_str(),
                   row.target_loss, forecast_text(row).c_str(), left_text(row.deadline_in).c_str(),
                   row.share * 100);
    }
    std::fflush(out_);
    return;
  }
  // Back to the first line drawn, then over the old text, clearing what was longer.
  std::string out;
  if (lines_drawn_ > 0) out += format("\033[%dA", lines_drawn_);
  int lines = 0;
  for (const char c : table(state, now)) {
    if (c == '\n') {
      out += "\033[K";
      ++lines;
    }
    out += c;
  }
  for (int i = lines; i < lines_drawn_; ++i) out += "\033[K\n";
  lines_drawn_ = std::max(lines, lines_drawn_);
  std::fwrite(out.data(), 1, out.size(), out_);
  std::fflush(out_);
}

void Display::changed(const core::Task& task, const core::TaskChanged& change, TimeNs now) {
  if (view_ != View::kLines) return;
  using core::TaskState;
  // A task may have gone on since: its reason is that of its end, which has a line of its own.
  const bool worth =
      change.outcome != core::Outcome::kNone
          ? change.state == TaskState::kEnded
          : task.outcome == core::Outcome::kNone &&
                (change.state == TaskState::kQueued || change.state == TaskState::kBackoff ||
                 change.state == TaskState::kPaused);
  if (!worth) return;
  const std::string_view what =
      change.outcome != core::Outcome::kNone ? name(change.outcome) : name(change.state);
  std::fprintf(out_, "%6.1fs %s: %.*s%s%s\n", seconds(now - task.accepted_at),
               task.spec.name.c_str(), static_cast<int>(what.size()), what.data(),
               task.reason.empty() ? "" : ", ", task.reason.c_str());
  std::fflush(out_);
}

void Display::summary(const core::State& state, TimeNs now, const std::string& journal_path,
                      const std::string& replay_program) {
  if (view_ == View::kNone) return;
  const std::vector<TaskRow> rows = task_rows(state, now);
  const auto succeeded =
      std::count_if(rows.begin(), rows.end(), [](const TaskRow& row) { return row.succeeded; });
  std::fprintf(out_, "\n%lld of %zu tasks succeeded, policy %s, %" PRIu64 " switches\n",
               static_cast<long long>(succeeded), rows.size(), state.config.policy.c_str(),
               state.counters.switches);
  for (const TaskRow& row : rows) {
    const std::string line =
        format("  %-17.17s %-10s after %s, ran %s, loss %s (target %.4f), %u switches, %s",
               row.name.c_str(), row.state.c_str(), spoken(row.took_ns).c_str(),
               spoken(row.busy_ns).c_str(), loss_text(row.loss_known, row.loss).c_str(),
               row.target_loss, row.switches, energy_text(row.energy_uj).c_str());
    std::fprintf(out_, "%s%s%s\n", coloured(row, line).c_str(), row.reason.empty() ? "" : ": ",
                 row.reason.c_str());
  }
  std::fprintf(out_, "%s\n", energy_line(state).c_str());
  std::fprintf(out_, "journal: %s\nreplay:  %s replay %s\n", journal_path.c_str(),
               replay_program.c_str(), journal_path.c_str());
  std::fflush(out_);
}

}  // namespace laird::agent
