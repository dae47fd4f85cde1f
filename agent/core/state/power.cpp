#include "agent/core/state/power.hpp"

namespace laird::core {

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
  ar(fleet_ceiling_ppm);
  ar(governor);
  ar(weights);
  ar(held_since);
  ar(mean_mw);
  ar(hottest_mc);
  ar(mean_at);
  if (ar.since(2)) ar(read_at);
}
}  // namespace laird::core
