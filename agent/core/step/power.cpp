#include "agent/core/state/power.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/core/step/stepper.hpp"
#include "base/exact_math.hpp"
#include "power/model/power_gate.hpp"

namespace laird::core {
namespace {

constexpr std::int64_t kPermille = power::kLevelFull;
constexpr std::uint32_t kPpmPerPermille = kShareWholePpm / 1000;
// How fast `kept` follows a new cycle, and the least it is believed to be.
constexpr std::int64_t kKeptGain = 8;
constexpr std::int64_t kKeptPpmMin = kShareWholePpm / 2;
constexpr std::int64_t kTemperatureMcMax = 250'000;
constexpr double kSeenSumMax = static_cast<double>(kDay);

std::string power_text(std::int64_t mw) {
  return mw % 1000 == 0 ? std::to_string(mw / 1000) + "W" : std::to_string(mw) + "mW";
}

bool is_cap(std::int64_t mw) { return mw >= 1 && mw <= kCapMwMax; }

power::PowerModel model_of(const PowerConfig& config) {
  power::PowerModel out;
  out.idle_mw = config.governor.idle_mw;
  out.gpu_dynamic_mw = config.gpu_dynamic_mw;
  out.cpu_dynamic_mw = config.cpu_dynamic_mw;
  return out;
}

// Brings `seen` up to `now`; the lane was busy, or not, all the time since the last call.
void advance_seen(LaneGate& gate, bool busy, TimeNs now) {
  const DurationNs passed = std::clamp<DurationNs>(now - gate.seen_at, 0, kHour);
  const double ratio = static_cast<double>(passed) / static_cast<double>(kMeterLag);
  const double target = busy ? 1.0 : 0.0;
  const double left = exact::exp(-ratio);
  const double sum = target * static_cast<double>(passed) +
                     (gate.seen - target) * static_cast<double>(kMeterLag) * (1.0 - left);
  gate.seen_sum_ns = std::min(gate.seen_sum_ns + std::max(sum, 0.0), kSeenSumMax);
  gate.seen = std::clamp(target + (gate.seen - target) * left, 0.0, 1.0);
  gate.seen_at = now;
}

bool is_knob(power::Rung rung) {
  return rung == power::Rung::kDevfreq || rung == power::Rung::kNvpmodel;
}

// What the rungs beside the gate leave of a busy lane's dynamic power.
std::int64_t other_rungs_permille(const power::Governor& governor) {
  std::int64_t left = kPermille;
  for (std::size_t i = 1; i < power::kRungCount; ++i) {
    left = left * governor.level(static_cast<power::Rung>(i)) / kPermille;
  }
  return left;
}

}  // namespace

PowerConfig PowerConfig::for_board(const power::Board& board) {
  PowerConfig out;
  out.governor = power::GovernorConfig::for_board(board);
  out.gpu_dynamic_mw = board.model.gpu_dynamic_mw;
  out.cpu_dynamic_mw = board.model.cpu_dynamic_mw;
  return out;
}

bool PowerConfig::fits_limits() const {
  const auto is_power = [](std::int64_t mw) { return mw >= 0 && mw <= kCapMwMax; };
  return (!cap_mw || is_cap(*cap_mw)) && governor.fits_limits() && is_power(gpu_dynamic_mw) &&
         is_power(cpu_dynamic_mw);
}

bool PowerConfig::same_model(const PowerConfig& other) const {
  return governor.idle_mw == other.governor.idle_mw && gpu_dynamic_mw == other.gpu_dynamic_mw &&
         cpu_dynamic_mw == other.cpu_dynamic_mw;
}

void PowerConfig::archive(Archive& ar) {
  ar(cap_mw);
  ar(governor);
  ar(gpu_dynamic_mw);
  ar(cpu_dynamic_mw);
}

std::string_view name(CapSource source) {
  switch (source) {
    case CapSource::kNone: return "none";
    case CapSource::kConfig: return "config";
    case CapSource::kOperator: return "operator";
    case CapSource::kFleet: return "fleet";
    case CapSource::kTemperature: return "temperature";
  }
  return "unknown";
}

void LaneGate::archive(Archive& ar) {
  ar(ceiling_ppm);
  ar(busy_from);
  ar(busy_until);
  ar(wanted_since);
  ar(turn_left);
  ar.sequence(turn, kTasksLiveMax);
  ar(kept_ppm);
  ar(seen);
  ar(seen_at);
  if (!ar.since(2)) return;
  ar(seen_then);
  ar(seen_sum_ns);
}

bool LaneGate::fits_limits() const {
  bool fits = ceiling_ppm <= kShareWholePpm && kept_ppm <= kShareWholePpm &&
              is_instant(busy_from) && is_instant(busy_until) && is_instant(seen_at) &&
              turn_left <= kSliceMax && turn_left >= -kTimeMax && seen >= 0.0 && seen <= 1.0 &&
              seen_then >= 0.0 && seen_then <= 1.0 && seen_sum_ns >= 0.0 &&
              seen_sum_ns <= kSeenSumMax;
  std::uint64_t shares = 0;
  for (const TurnShare& part : turn) shares += part.share_ppm;
  return fits && shares <= kShareWholePpm;
}

CapInForce PowerState::asked(const PowerConfig& config) const {
  CapInForce out;
  const auto consider = [&out](const std::optional<std::int64_t>& mw, CapSource source) {
    if (!mw || !is_cap(*mw) || (out.mw && *out.mw <= *mw)) return;
    out.mw = mw;
    out.source = source;
  };
  consider(config.cap_mw, CapSource::kConfig);
  consider(operator_cap_mw, CapSource::kOperator);
  consider(fleet_cap_mw, CapSource::kFleet);
  return out;
}

CapInForce PowerState::in_force(const PowerConfig& config) const {
  const CapInForce wish = asked(config);
  const std::optional<std::int64_t> held = governor.effective_cap_mw();
  if (governor.hot() && held && (!wish.mw || *held < *wish.mw)) {
    return {held, CapSource::kTemperature};
  }
  return wish;
}

bool PowerState::fits_limits() const {
  return (!operator_cap_mw || is_cap(*operator_cap_mw)) &&
         (!fleet_cap_mw || is_cap(*fleet_cap_mw)) && operator_cap_until >= 0 && held_since >= 0 &&
         is_instant(read_at) && fleet_ceiling_ppm[0] <= kShareWholePpm &&
         fleet_ceiling_ppm[1] <= kShareWholePpm;
}

void PowerState::archive(Archive& ar) {
  ar(operator_cap_mw);
  ar(operator_cap_until);
  ar(fleet_cap_mw);
  for (std::uint32_t& ppm : fleet_ceiling_ppm) ar(ppm);
  ar(governor);
  ar(weights);
  ar(held_since);
  ar(mean_mw);
  ar(hottest_mc);
  ar(mean_at);
  if (ar.since(2)) ar(read_at);
}

TimeNs rest_ends_at(const LaneGate& gate) {
  if (gate.ceiling_ppm >= kShareWholePpm) return 0;
  if (gate.ceiling_ppm == 0) return kNever;
  const DurationNs busy = std::max<DurationNs>(0, gate.busy_until - gate.busy_from);
  const auto rest = static_cast<__int128>(busy) * (kShareWholePpm - gate.ceiling_ppm);
  // Rounded up: a moment short, again and again, would be above the ceiling.
  const auto whole = (rest + gate.ceiling_ppm - 1) / gate.ceiling_ppm;
  if (whole > kTimeMax - gate.busy_until) return kTimeMax;
  return gate.busy_until + static_cast<DurationNs>(whole);
}

// ---- caps ----

void Stepper::on(const CapRequested& e) {
  PowerState& p = s_.power;
  if (!e.cap_mw) {
    const bool had = p.operator_cap_mw.has_value();
    p.operator_cap_mw.reset();
    p.operator_cap_until = kNever;
    answer(e.request, 0, had ? "the operator's cap is taken back" : "there was no operator's cap");
    return;
  }
  if (!is_cap(*e.cap_mw) || e.for_ns < 0 || e.for_ns > kCapForMax) {
    refuse(e.request, Code::kInvalid,
           "a cap is 1mW to " + power_text(kCapMwMax) + ", for at most 366d");
    return;
  }
  p.operator_cap_mw = e.cap_mw;
  p.operator_cap_until = e.for_ns > 0 ? s_.now + e.for_ns : kNever;
  const CapInForce lowest = p.asked(s_.config.power);
  std::string text = "the operator's cap is " + power_text(*e.cap_mw);
  if (e.for_ns > 0) text += " for " + std::to_string(e.for_ns / kSecond) + "s";
  if (lowest.source != CapSource::kOperator) {
    text += "; the lower one of the " + std::string(name(lowest.source)) + ", " +
            power_text(*lowest.mw) + ", stays in force";
  } else if (*e.cap_mw <= s_.config.power.governor.idle_mw) {
    text += "; that is no more than the board draws idle, so work will all but stop";
  }
  answer(e.request, 0, std::move(text));
}

void Stepper::on(const PowerKnobSet& e) {
  const auto& rungs = s_.config.power.governor.rungs;
  if (!is_knob(e.rung) || !rungs[static_cast<std::size_t>(e.rung)].available) return;
  s_.power.governor.on_applied(s_.now, e.rung, e.outcome, e.actual_permille);
}

// Every process and every setting of the run before is gone, or about to be put back; the caps and
// the gate's level stay, so that a restart does not let the board run free.
void Stepper::boot_power(const PowerConfig& before) {
  PowerState& p = s_.power;
  release_power();
  p.governor.set_config(s_.config.power.governor);
  if (!s_.config.power.same_model(before)) {
    p.weights = power::LaneWeights(model_of(s_.config.power));
  }
  p.held_since = kNever;
  p.mean_mw.reset();
  p.hottest_mc.reset();
  for (Lane& lane : s_.lanes) lane.gate.seen_at = s_.now;
}

// Gives back what outlives a trainer; the gate holds on.
void Stepper::release_power() {
  power::Governor& governor = s_.power.governor;
  for (const power::Rung rung : {power::Rung::kNvpmodel, power::Rung::kDevfreq}) {
    if (governor.level(rung) < power::kLevelFull) out_.push_back({SetPowerKnob{rung}});
  }
  if (governor.level(power::Rung::kFreezer) < power::kLevelFull) {
    out_.push_back({SetFreezerDuty{}});
  }
  governor.on_restart(s_.now);
}

void Stepper::follow_caps() {
  PowerState& p = s_.power;
  if (p.operator_cap_mw && s_.now >= p.operator_cap_until) {
    p.operator_cap_mw.reset();
    p.operator_cap_until = kNever;
  }
  const std::optional<std::int64_t> cap_mw = p.asked(s_.config.power).mw;
  const bool changed = cap_mw != p.governor.cap_mw();
  if (!changed && s_.now < p.governor.blind_at()) return;
  if (changed) p.governor.set_cap(s_.now, cap_mw);
  if (const auto move = p.governor.step({s_.now, std::nullopt, std::nullopt, 0})) {
    carry_out(*move);
  }
  if (p.governor.effective_cap_mw()) return;
  for (const power::Move& move : p.governor.release_all(s_.now)) carry_out(move);
}

void Stepper::govern() {
  if (s_.policy == nullptr || s_.shutting_down) return;
  follow_caps();
  update_ceilings();
}

void Stepper::govern_reading(const power::PowerReading& reading) {
  PowerState& p = s_.power;
  if (s_.shutting_down) return;
  const DurationNs held = p.held_since == kNever ? 0 : s_.now - p.held_since;
  power::GovernorInput input{s_.now, reading.total_mw, reading.hottest_mc(), held};
  if (input.total_mw && !is_cap(*input.total_mw)) input.total_mw.reset();
  if (input.hottest_mc && std::abs(*input.hottest_mc) > kTemperatureMcMax) input.hottest_mc.reset();
  if (input.total_mw) {
    input.total_mw = mean_power_mw(*input.total_mw);
    p.mean_mw = input.total_mw;
    p.mean_at = s_.now;
  }
  if (input.hottest_mc) p.hottest_mc = input.hottest_mc;
  if (const auto move = p.governor.step(input)) carry_out(*move);
}

void Stepper::carry_out(const power::Move& move) {
  power::Governor& governor = s_.power.governor;
  if (is_knob(move.rung)) {
    out_.push_back({SetPowerKnob{move.rung, move.level_permille}});
    return;  // what came of it is an event
  }
  governor.on_applied(s_.now, move.rung, power::KnobResult::kDone, move.level_permille);
  if (move.rung == power::Rung::kFreezer) out_.push_back({SetFreezerDuty{move.level_permille}});
  if (move.rung != power::Rung::kCpuQuota) return;
  for (const Lane& lane : s_.lanes) {
    for (const TaskKey key : lane.running) {
      const Task& task = *s_.find_live(key);
      out_.push_back({LimitTrainer{task.process(), quota_milli(lane, task.share_ppm)}});
    }
  }
}

std::uint32_t Stepper::quota_milli(const Lane& lane, std::uint32_t share_ppm) const {
  const auto level = static_cast<std::uint64_t>(s_.power.governor.level(power::Rung::kCpuQuota));
  const std::uint64_t milli = static_cast<std::uint64_t>(lane.config.cores_milli) * share_ppm /
                              kShareWholePpm * level / static_cast<std::uint64_t>(kPermille);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, milli));
}

// ---- the gate ----

bool Stepper::is_wanted(const Lane& lane) const {
  if (!lane.running.empty()) return true;
  return std::any_of(s_.live.begin(), s_.live.end(), [this, &lane](const Task& task) {
    return task.state == TaskState::kReady && !is_waiting(task) &&
           task.spec.lane == lane.config.kind;
  });
}

// The lane's part of what its kind of lane draws: by cores, as several lanes share one processor.
std::int64_t Stepper::gate_open_permille(const Lane& lane) const {
  std::int64_t all = 0;
  for (const Lane& other : s_.lanes) {
    if (other.config.kind == lane.config.kind) all += other.config.cores_milli;
  }
  return all <= 0 ? kPermille : kPermille * lane.config.cores_milli / all;
}

void Stepper::update_ceilings() {
  const PowerState& p = s_.power;
  const std::int32_t level = p.governor.level(power::Rung::kStepGate);
  const std::int64_t full_mw = s_.config.power.governor.dynamic_mw;
  std::int32_t ceiling = level;  // a board whose dynamic power is unknown has nothing to share by
  if (level < power::kLevelFull && full_mw > 0) {
    std::array<power::LaneDemand, kLanesMax> demands;
    for (std::size_t i = 0; i < s_.lanes.size(); ++i) {
      const Lane& lane = s_.lanes[i];
      const bool gpu = lane.config.kind == LaneKind::kGpu;
      const std::int64_t kind_mw =
          gpu ? p.weights.gpu_part_mw(full_mw) : p.weights.cpu_part_mw(full_mw);
      const std::uint32_t allowed =
          p.fleet_ceiling_ppm[static_cast<std::size_t>(lane.config.kind)] / kPpmPerPermille;
      demands[i] = {kind_mw * gate_open_permille(lane) / kPermille,
                    is_wanted(lane) ? static_cast<std::int32_t>(allowed) : 0};
    }
    ceiling =
        power::gate_ceiling(std::span(demands).first(s_.lanes.size()), full_mw * level / kPermille);
  }
  for (Lane& lane : s_.lanes) {
    const std::uint32_t before = lane.gate.ceiling_ppm;
    lane.gate.ceiling_ppm =
        std::min(p.fleet_ceiling_ppm[static_cast<std::size_t>(lane.config.kind)],
                 static_cast<std::uint32_t>(ceiling) * kPpmPerPermille);
    if (before < kShareWholePpm || lane.gate.ceiling_ppm == kShareWholePpm) continue;
    if (lane.running.empty()) continue;
    // A grant from before the ceiling counts from now on, and is cut short if it is a long one.
    const DurationNs piece = piece_of(lane, lane.slice);
    lane.gate.busy_from = s_.now;
    lane.slice = piece;
    lane.slice_ends_at = std::min(lane.slice_ends_at, s_.now + piece);
  }
}

void Stepper::note_held_back() {
  bool held = false;
  bool busy = false;
  for (Lane& lane : s_.lanes) {
    const bool wanted = is_wanted(lane);
    if (!wanted) lane.gate.wanted_since = false;
    const std::uint32_t allowed =
        s_.power.fleet_ceiling_ppm[static_cast<std::size_t>(lane.config.kind)];
    held = held || (wanted && lane.gate.ceiling_ppm < allowed);
    busy = busy || !lane.running.empty();
  }
  held = held || (busy && other_rungs_permille(s_.power.governor) < kPermille);
  TimeNs& since = s_.power.held_since;
  since = !held ? kNever : std::min(since, s_.now);
}

void Stepper::lane_filled(Lane& lane) {
  LaneGate& gate = lane.gate;
  advance_seen(gate, false, s_.now);
  const DurationNs cycle = s_.now - gate.busy_from;
  const DurationNs busy = gate.busy_until - gate.busy_from;
  if (gate.wanted_since && gate.ceiling_ppm > 0 && gate.ceiling_ppm < kShareWholePpm && busy > 0) {
    const auto ideal = static_cast<__int128>(busy) * kShareWholePpm / gate.ceiling_ppm;
    const auto got = static_cast<std::int64_t>(std::min<__int128>(
        ideal * kShareWholePpm / std::max<DurationNs>(1, cycle), kShareWholePpm));
    const std::int64_t kept = gate.kept_ppm;
    gate.kept_ppm =
        static_cast<std::uint32_t>(kept + (std::max(got, kKeptPpmMin) - kept) / kKeptGain);
  }
  gate.busy_from = s_.now;
}

void Stepper::lane_emptied(Lane& lane) {
  LaneGate& gate = lane.gate;
  advance_seen(gate, true, s_.now);
  gate.busy_until = s_.now;
  gate.wanted_since = true;
  gate.turn_left -= s_.now - gate.busy_from;
}

// How much of a slice is granted at once.
DurationNs Stepper::piece_of(const Lane& lane, DurationNs slice) const {
  if (lane.gate.ceiling_ppm >= kShareWholePpm) return slice;
  const DurationNs piece = kGatePeriod / kPpmPerPermille * lane.gate.ceiling_ppm / 1000;
  return std::clamp(piece, kSliceMin, std::max(kSliceMin, slice));
}

std::uint64_t Stepper::gated_samples(const Lane& lane, const Task& task,
                                     std::uint64_t samples) const {
  const std::uint64_t every = task.spec.report_every;
  if (lane.gate.ceiling_ppm >= kShareWholePpm || samples >= every) return samples;
  const double report_ns = static_cast<double>(every) / task.rate * 1e9;
  return report_ns <= static_cast<double>(kGateReportMax) ? every : samples;
}

// Hands out the next piece of a slice the policy has given already. False: it has to be asked.
bool Stepper::continue_turn(std::uint32_t index) {
  Lane& lane = s_.lanes[index];
  LaneGate& gate = lane.gate;
  const bool goes_on =
      gate.ceiling_ppm < kShareWholePpm && gate.turn_left >= kSliceMin && !gate.turn.empty() &&
      std::all_of(gate.turn.begin(), gate.turn.end(), [this](const TurnShare& part) {
        const Task* task = s_.find_live(part.key);
        return task != nullptr && task->state == TaskState::kReady && !is_waiting(*task);
      });
  if (!goes_on) {
    gate.turn.clear();
    return false;
  }
  const DurationNs piece = piece_of(lane, gate.turn_left);
  for (const TurnShare& part : gate.turn) {
    Task& task = *s_.find_live(part.key);
    if (task.spec.lane != lane.config.kind) continue;
    grant(index, task, part.share_ppm, piece);
  }
  return !lane.running.empty();
}

// By how much mean power since the last reading lay above the mean of that reading and this one.
std::int64_t Stepper::between_readings_mw() {
  PowerState& p = s_.power;
  const DurationNs passed = s_.now - p.read_at;
  const std::int64_t others = other_rungs_permille(p.governor);
  double between_mw = 0.0;
  for (Lane& lane : s_.lanes) {
    LaneGate& gate = lane.gate;
    advance_seen(gate, !lane.running.empty(), s_.now);
    if (passed > 0) {
      const double mean = gate.seen_sum_ns / static_cast<double>(passed);
      const double part = static_cast<double>(gate_open_permille(lane) * others) * 1e-6;
      const std::int64_t kind_mw =
          lane.config.kind == LaneKind::kGpu ? p.weights.gpu_mw() : p.weights.cpu_mw();
      between_mw +=
          static_cast<double>(kind_mw) * part * (mean - (gate.seen_then + gate.seen) / 2.0);
    }
    gate.seen_then = gate.seen;
    gate.seen_sum_ns = 0.0;
  }
  p.read_at = s_.now;
  constexpr auto kMost = static_cast<double>(kCapMwMax);
  return static_cast<std::int64_t>(std::clamp(between_mw, -kMost, kMost));
}

// What the board would draw on average at the present ceilings, by a reading and by what ran.
std::int64_t Stepper::mean_power_mw(std::int64_t total_mw) {
  PowerState& p = s_.power;
  const std::int64_t others = other_rungs_permille(p.governor);
  std::array<double, 2> seen = {0.0, 0.0};
  std::array<double, 2> missing = {0.0, 0.0};  // mean less shown, in full use of the kind
  for (Lane& lane : s_.lanes) {
    advance_seen(lane.gate, !lane.running.empty(), s_.now);
    const double part = static_cast<double>(gate_open_permille(lane) * others) * 1e-6;
    const auto kind = static_cast<std::size_t>(lane.config.kind);
    seen[kind] += part * lane.gate.seen;
    if (lane.gate.ceiling_ppm >= kShareWholePpm || !is_wanted(lane)) continue;
    const double mean = static_cast<double>(lane.gate.ceiling_ppm) * 1e-6 *
                        static_cast<double>(lane.gate.kept_ppm) * 1e-6;
    missing[kind] += part * (mean - lane.gate.seen);
  }
  const auto permille = [](double use) {
    return static_cast<std::int32_t>(std::lround(use * 1000.0));
  };
  p.weights.observe(permille(seen[0]), permille(seen[1]), total_mw);
  const double correction = missing[0] * static_cast<double>(p.weights.gpu_mw()) +
                            missing[1] * static_cast<double>(p.weights.cpu_mw());
  return std::clamp<std::int64_t>(total_mw + static_cast<std::int64_t>(correction), 1, kCapMwMax);
}

// The next instant at which this part of the core has something to do.
TimeNs Stepper::power_due_at() const {
  if (s_.shutting_down || s_.policy == nullptr) return kNever;
  TimeNs due = s_.power.governor.blind_at();
  if (s_.power.operator_cap_mw) due = std::min(due, s_.power.operator_cap_until);
  for (const Lane& lane : s_.lanes) {
    if (!lane.running.empty() || !is_wanted(lane)) continue;
    const TimeNs rest = rest_ends_at(lane.gate);
    if (rest > s_.now) due = std::min(due, rest);
  }
  return due;
}

}  // namespace laird::core
