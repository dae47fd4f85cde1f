#include "power/model/modelled_board.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"

namespace laird::power {
namespace {

double clock_factor(std::int32_t permille, double exponent) {
  if (permille >= 1000) return 1.0;
  return exact::pow(static_cast<double>(std::max(1, permille)) * 1e-3, exponent);
}

// Exact step of a first-order lag over dt towards a constant target.
double approach(double from, double target, DurationNs dt, DurationNs time_constant) {
  const double ratio = static_cast<double>(dt) / static_cast<double>(time_constant);
  return target + (from - target) * exact::exp(-ratio);
}

}  // namespace

ModelledBoard::ModelledBoard(const Board& board, std::int64_t ambient_mc)
    : model_(board.model), ambient_mc_(static_cast<double>(ambient_mc)) {
  if (!board.totals.empty()) {
    const TotalRule& rule = board.totals.front();
    total_rule_ = "model of " + rule.text();
    scope_ = rule.scope;
    for (const std::string& name : rule.rails) {
      const Rail* rail = board.rail(name);
      if (rail != nullptr) step_mw_ = std::max(step_mw_, rail->step_mw);
    }
  }
  if (model_.thermal_time_constant_ns <= 0) model_.thermal_time_constant_ns = kMinute;
  supply_mw_ = static_cast<double>(model_.idle_mw);
  temperature_mc_ = ambient_mc_ + supply_mw_ * model_.thermal_resistance_c_per_w;
}

double ModelledBoard::power_mw(const ModelledLoad& load) const {
  const double gpu =
      std::clamp(load.gpu_use, 0.0, 1.0) * static_cast<double>(model_.gpu_dynamic_mw);
  const double cpu =
      std::clamp(load.cpu_use, 0.0, 1.0) * static_cast<double>(model_.cpu_dynamic_mw);
  return static_cast<double>(model_.idle_mw) +
         gpu * clock_factor(load.gpu_clock_permille, model_.clock_exponent) +
         cpu * clock_factor(load.cpu_clock_permille, model_.clock_exponent);
}

void ModelledBoard::advance(DurationNs dt, const ModelledLoad& load) {
  if (dt <= 0) return;
  supply_mw_ = approach(supply_mw_, power_mw(load), dt, kSupplyLagNs);
  // Milliwatts times C/W is milli-C.
  const double warm = ambient_mc_ + supply_mw_ * model_.thermal_resistance_c_per_w;
  temperature_mc_ = approach(temperature_mc_, warm, dt, model_.thermal_time_constant_ns);
}

PowerReading ModelledBoard::read(TimeNs at, const ModelledLoad& load) const {
  PowerReading out;
  out.at = at;
  out.source = Source::kModelled;
  out.scope = scope_;
  out.total_rule = total_rule_;
  out.resolution_mw = step_mw_;
  std::int64_t mw = std::llround(supply_mw_);
  if (step_mw_ > 0) mw = (mw + step_mw_ / 2) / step_mw_ * step_mw_;
  out.total_mw = mw;
  out.rails.push_back(RailReading{"MODEL", mw});
  out.zones.push_back(ZoneReading{"model", static_cast<std::int64_t>(temperature_mc_)});
  out.gpu_load_permille = static_cast<std::int32_t>(std::clamp(load.gpu_use, 0.0, 1.0) * 1000);
  out.cpu_load_permille = static_cast<std::int32_t>(std::clamp(load.cpu_use, 0.0, 1.0) * 1000);
  return out;
}

void ModelledBoard::archive(Archive& ar) {
  ar(supply_mw_);
  ar(temperature_mc_);
}

}  // namespace laird::power
