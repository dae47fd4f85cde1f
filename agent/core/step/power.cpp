// Whose cap is in force, the governor, and what a reading of a gated board means
// (agent/core/state/power.hpp).
#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/core/step/gate.hpp"
#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

constexpr std::int64_t kTemperatureMcMax = 250'000;

std::string power_text(std::int64_t mw) {
  return mw % 1000 == 0 ? std::to_string(mw / 1000) + "W" : std::to_string(mw) + "mW";
}

power::PowerModel model_of(const PowerConfig& config) {
  power::PowerModel out;
  out.idle_mw = config.governor.idle_mw;
  out.gpu_dynamic_mw = config.gpu_dynamic_mw;
  out.cpu_dynamic_mw = config.cpu_dynamic_mw;
  return out;
}

bool is_knob(power::Rung rung) {
  return rung == power::Rung::kDevfreq || rung == power::Rung::kNvpmodel;
}

}  // namespace

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
  if (!is_knob(e.rung) || !rungs[e.rung].available) return;
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
      out_.push_back({LimitTrainer{task.process(), quota_of(lane, task.share_ppm)}});
    }
  }
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
    const double part = static_cast<double>(part_of_kind_permille(lane) * others) * 1e-6;
    const std::int64_t kind_mw =
        lane.config.kind == LaneKind::kGpu ? p.weights.gpu_mw() : p.weights.cpu_mw();
    between_mw += static_cast<double>(kind_mw) * part * take_mean_above_ends(gate, passed);
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
    const double part = static_cast<double>(part_of_kind_permille(lane) * others) * 1e-6;
    const auto kind = static_cast<std::size_t>(lane.config.kind);
    seen[kind] += part * lane.gate.seen;
    if (lane.gate.ceiling_ppm >= kShareWholePpm || !is_wanted(lane)) continue;
    missing[kind] += part * mean_above_seen(lane.gate);
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
