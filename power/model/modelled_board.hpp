// A board made of numbers: what it would draw and how warm it would get, for laptops, simulation
// and the governor's closed loop.
//
// P(t)  = idle + gpu_dynamic * use_gpu * (f_gpu / f_max)^e + cpu_dynamic * use_cpu * (f_cpu /
// f_max)^e Pm    follows P with a time constant of kSupplyLagNs: regulators and the meter's own
// averaging. T     follows ambient + R * Pm with the board's thermal time constant. Symbols: use in
// [0, 1]; f in permille of the highest clock; e, R from the board file. Assumptions: dynamic power
// is linear in use at fixed clock; lanes do not disturb one another; leakage does not grow with
// temperature. Good enough to close a loop around, not to predict watts.
#pragma once

#include <cstdint>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "power/model/board.hpp"
#include "power/model/reading.hpp"

namespace laird::power {

struct ModelledLoad {
  double gpu_use = 0;  // 0 to 1
  double cpu_use = 0;
  std::int32_t gpu_clock_permille = 1000;
  std::int32_t cpu_clock_permille = 1000;
};

class ModelledBoard {
 public:
  explicit ModelledBoard(const Board& board, std::int64_t ambient_mc = 25'000);

  // Power in steady state under a load.
  [[nodiscard]] double power_mw(const ModelledLoad& load) const;
  // Lets `dt` pass under a load.
  void advance(DurationNs dt, const ModelledLoad& load);
  // What the meter shows now, rounded to the board's step.
  [[nodiscard]] PowerReading read(TimeNs at, const ModelledLoad& load) const;
  [[nodiscard]] double supply_mw() const { return supply_mw_; }
  [[nodiscard]] double temperature_mc() const { return temperature_mc_; }
  void archive(Archive& ar);

  static constexpr DurationNs kSupplyLagNs = 50 * kMillisecond;

 private:
  PowerModel model_;
  std::string total_rule_;
  Scope scope_ = Scope::kUnknown;
  std::int64_t step_mw_ = 0;
  double ambient_mc_ = 25'000;
  double supply_mw_ = 0;
  double temperature_mc_ = 25'000;
};

}  // namespace laird::power
