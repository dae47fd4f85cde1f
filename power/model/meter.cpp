#include "power/model/meter.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::power {
namespace {

constexpr std::int64_t kHalfMwNsPerUj = 2'000'000;

// a * b / c without overflow, for 0 <= b <= c.
std::int64_t portion(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(static_cast<__int128>(a) * b / c);
}

std::int64_t sane_mw(std::int64_t mw) { return std::clamp<std::int64_t>(mw, 0, kMeterPowerMaxMw); }

}  // namespace

void Energy::add(std::int64_t half_mw_ns) {
  rest_ += half_mw_ns % kHalfMwNsPerUj;
  uj_ += half_mw_ns / kHalfMwNsPerUj + rest_ / kHalfMwNsPerUj;
  rest_ %= kHalfMwNsPerUj;
}

void Energy::add(const Energy& other) {
  uj_ += other.uj_;
  add(other.rest_);
}

void Energy::archive(Archive& ar) {
  ar(uj_);
  ar(rest_);
}

MeterConfig MeterConfig::for_board(const Board& board) {
  MeterConfig out;
  out.idle_mw = board.model.idle_mw;
  out.gpu_weight = std::max<std::int64_t>(1, board.model.gpu_dynamic_mw);
  out.cpu_weight = std::max<std::int64_t>(1, board.model.cpu_dynamic_mw);
  return out;
}

void MeterConfig::archive(Archive& ar) { ar(gap_max_ns, idle_mw, gpu_weight, cpu_weight); }

void Running::archive(Archive& ar) {
  ar(task);
  ar.bounded(lane, LaneKind::kCpu);
  ar(share_permille);
}

std::optional<double> TaskEnergy::joules_per_sample() const {
  if (samples <= 0) return std::nullopt;
  return joules() / static_cast<double>(samples);
}

std::optional<double> TaskEnergy::joules_per_loss() const {
  if (!loss_first || !loss_last || !(*loss_first > *loss_last)) return std::nullopt;
  return joules() / (*loss_first - *loss_last);
}

void TaskEnergy::archive(Archive& ar) {
  ar(task);
  ar(dynamic);
  ar(idle);
  ar(busy_ns);
  ar(samples);
  ar(loss_first);
  ar(loss_last);
  ar(interval_busy_ns);
  ar(interval_weight);
}

void RailEnergy::archive(Archive& ar) {
  ar.text(name, kReadingNameMax);
  ar(energy);
  ar(last_mw);
  ar(last_at);
  ar(metered_ns);
}

double MeterTotals::resolution_likely_j() const {
  const double step_w = static_cast<double>(resolution_mw) * 1e-3;
  const double root_s = exact::sqrt(static_cast<double>(sum_dt_squared_ms2)) * 1e-3;
  return step_w / exact::sqrt(12.0) * root_s;
}

std::optional<double> MeterTotals::joules_per_success() const {
  if (successes == 0) return std::nullopt;
  return (of_successes.joules() + of_failures.joules()) / static_cast<double>(successes);
}

std::optional<double> MeterTotals::mean_mw() const {
  if (metered_ns <= 0) return std::nullopt;
  return board.joules() * 1e3 / (static_cast<double>(metered_ns) * 1e-9);
}

void MeterTotals::archive(Archive& ar) {
  ar(board);
  ar(system);
  ar(tasks_retired);
  ar(metered_ns);
  ar(unmetered_ns);
  ar(longest_gap_ns);
  ar(gaps);
  ar(readings);
  ar(readings_without_total);
  ar(readings_out_of_order);
  ar(resolution_worst);
  ar(sampling);
  ar(sum_dt_squared_ms2);
  ar(resolution_mw);
  ar(successes);
  ar(failures);
  ar(of_successes);
  ar(of_failures);
}

void Meter::limit_config() {
  config_.gap_max_ns = std::clamp<DurationNs>(config_.gap_max_ns, kMillisecond, kMeterGapMaxLimit);
  config_.idle_mw = sane_mw(config_.idle_mw);
  config_.gpu_weight = std::clamp<std::int64_t>(config_.gpu_weight, 1, 1'000'000);
  config_.cpu_weight = std::clamp<std::int64_t>(config_.cpu_weight, 1, 1'000'000);
}

const TaskEnergy* Meter::task(TaskKey task) const {
  for (const TaskEnergy& entry : tasks_) {
    if (entry.task == task) return &entry;
  }
  return nullptr;
}

TaskEnergy* Meter::account(TaskKey task) {
  for (TaskEnergy& entry : tasks_) {
    if (entry.task == task) return &entry;
  }
  if (tasks_.size() >= kMeterTasksMax) return nullptr;  // its energy counts as the system's
  tasks_.emplace_back();
  tasks_.back().task = task;
  return &tasks_.back();
}

void Meter::advance_activity(TimeNs to) {
  const DurationNs elapsed = to - activity_at_;
  if (elapsed <= 0) return;
  activity_at_ = to;
  // An interval longer than the limit is a gap and its weights are not used, so they may saturate.
  const DurationNs dt =
      std::min(elapsed, std::max<DurationNs>(0, kMeterGapMaxLimit - interval_covered_ns_));
  bool any = false;
  for (const Running& entry : running_) {
    TaskEnergy* task = account(entry.task);
    if (task == nullptr) continue;
    any = true;
    task->busy_ns += elapsed;
    task->interval_busy_ns += dt;
    const std::int64_t lane =
        entry.lane == LaneKind::kGpu ? config_.gpu_weight : config_.cpu_weight;
    // Microseconds keep a five-minute interval of the heaviest lane within 64 bits.
    task->interval_weight += dt / kMicrosecond * std::clamp(entry.share_permille, 0, 1000) *
                             std::max<std::int64_t>(1, lane / 100);
  }
  if (any) interval_covered_ns_ += dt;
}

void Meter::on_running(TimeNs at, std::span<const Running> running) {
  advance_activity(at);
  activity_at_ = std::max(activity_at_, at);
  running_.assign(running.begin(), running.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                         running.size(), kMeterRunningMax)));
}

void Meter::clear_interval() {
  interval_covered_ns_ = 0;
  for (TaskEnergy& task : tasks_) {
    task.interval_busy_ns = 0;
    task.interval_weight = 0;
  }
}

void Meter::on_reading(const PowerReading& reading, std::int64_t between_mw) {
  ++totals_.readings;
  if (!reading.total_mw) ++totals_.readings_without_total;
  if (last_mw_ && reading.at <= last_at_) {
    ++totals_.readings_out_of_order;
    // A step back beyond any jitter is a new clock: start over from here, or nothing would be
    // metered until it caught up.
    if (reading.at < last_at_ - config_.gap_max_ns) on_restart();
    return;
  }
  add_rails(reading);
  if (!reading.total_mw) return;
  advance_activity(reading.at);
  totals_.resolution_mw = std::max(totals_.resolution_mw, sane_mw(reading.resolution_mw));
  const std::int64_t mw = sane_mw(*reading.total_mw);
  if (last_mw_) {
    integrate(reading.at, mw, between_mw);
  } else if (restarted_) {
    count_gap(std::max<DurationNs>(0, reading.at - last_at_));
  }
  restarted_ = false;
  clear_interval();
  last_mw_ = mw;
  last_at_ = reading.at;
}

void Meter::count_gap(DurationNs length) {
  ++totals_.gaps;
  totals_.unmetered_ns += length;
  totals_.longest_gap_ns = std::max(totals_.longest_gap_ns, length);
}

void Meter::integrate(TimeNs to, std::int64_t mw, std::int64_t between_mw) {
  const DurationNs dt = to - last_at_;
  if (dt > config_.gap_max_ns) {
    count_gap(dt);
    return;
  }
  const std::int64_t between =
      std::clamp<std::int64_t>(between_mw, -kMeterPowerMaxMw, kMeterPowerMaxMw);
  const std::int64_t twice_mw =
      std::clamp<std::int64_t>(*last_mw_ + mw + 2 * between, 0, 2 * kMeterPowerMaxMw);
  const std::int64_t energy = twice_mw * dt;  // half mW ns
  totals_.board.add(energy);
  totals_.metered_ns += dt;
  totals_.resolution_worst.add(totals_.resolution_mw * dt);
  totals_.sampling.add(std::abs(mw - *last_mw_) * dt);
  const std::int64_t dt_ms = dt / kMillisecond;
  totals_.sum_dt_squared_ms2 += dt_ms * dt_ms;
  attribute(energy, dt);
}

void Meter::attribute(std::int64_t energy, DurationNs dt) {
  std::int64_t busy = 0;
  std::int64_t weight = 0;
  for (const TaskEnergy& task : tasks_) {
    busy += task.interval_busy_ns;
    weight += task.interval_weight;
  }
  const std::int64_t idle = std::min(energy, 2 * config_.idle_mw * dt);
  const std::int64_t dynamic = energy - idle;
  const std::int64_t idle_shared = portion(idle, std::min(interval_covered_ns_, dt), dt);
  std::int64_t left = energy;
  for (TaskEnergy& task : tasks_) {
    if (task.interval_busy_ns > 0 && busy > 0) {
      const std::int64_t part = portion(idle_shared, task.interval_busy_ns, busy);
      task.idle.add(part);
      left -= part;
    }
    if (task.interval_weight > 0) {
      const std::int64_t part = portion(dynamic, task.interval_weight, weight);
      task.dynamic.add(part);
      left -= part;
    }
  }
  totals_.system.add(left);
}

void Meter::add_rails(const PowerReading& reading) {
  for (const RailReading& rail : reading.rails) {
    RailEnergy* entry = nullptr;
    for (RailEnergy& known : rails_) {
      if (known.name == rail.name) entry = &known;
    }
    const std::int64_t mw = sane_mw(rail.mw);
    if (entry == nullptr) {
      if (rails_.size() >= kReadingRailsMax) continue;
      rails_.emplace_back();
      rails_.back().name = rail.name;
      rails_.back().last_mw = mw;
      rails_.back().last_at = reading.at;
      continue;
    }
    const DurationNs dt = reading.at - entry->last_at;
    if (dt > 0 && dt <= config_.gap_max_ns) {
      entry->energy.add((entry->last_mw + mw) * dt);
      entry->metered_ns += dt;
    }
    entry->last_mw = mw;
    entry->last_at = reading.at;
  }
}

void Meter::on_progress(TaskKey task, std::int64_t samples, double loss) {
  TaskEnergy* entry = account(task);
  if (entry == nullptr) return;
  entry->samples = std::max(entry->samples, samples);
  if (!(loss == loss)) return;  // NaN says nothing
  if (!entry->loss_first) entry->loss_first = loss;
  entry->loss_last = loss;
}

std::optional<TaskEnergy> Meter::retire(TaskKey task, bool success) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].task != task) continue;
    TaskEnergy out = tasks_[i];
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase_if(running_, [&](const Running& entry) { return entry.task == task; });
    Energy& by_outcome = success ? totals_.of_successes : totals_.of_failures;
    for (const Energy& part : {out.dynamic, out.idle}) {
      totals_.tasks_retired.add(part);
      by_outcome.add(part);
    }
    ++(success ? totals_.successes : totals_.failures);
    return out;
  }
  return std::nullopt;
}

void Meter::on_restart() {
  restarted_ = restarted_ || last_mw_.has_value();
  last_mw_.reset();
  running_.clear();
  clear_interval();
  activity_at_ = 0;
  for (RailEnergy& rail : rails_) rail.last_at = INT64_MIN / 2;
}

void Meter::archive(Archive& ar) {
  ar(config_);
  ar(totals_);
  ar.sequence(tasks_, kMeterTasksMax);
  ar.sequence(rails_, kReadingRailsMax);
  ar.sequence(running_, kMeterRunningMax);
  ar(last_mw_);
  ar(last_at_);
  ar(activity_at_);
  ar(interval_covered_ns_);
  ar(restarted_);
  if (ar.reading()) limit_config();
}

}  // namespace laird::power
