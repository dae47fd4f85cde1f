// What a power reading shows of the lanes' use: their own on and off through the meter's lag, as
// the core takes it (agent/core/state/power.hpp, "Readings"), by kind of lane.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "agent/core/state/state.hpp"
#include "agent/core/step/gate.hpp"
#include "power/model/power_gate.hpp"

namespace laird::whatif {

class LaneUse {
 public:
  // Time passes with what ran until now.
  void advance(TimeNs now) {
    const DurationNs passed = std::clamp<DurationNs>(now - at_, 0, kHour);
    for (Use& lane : lanes_) {
      lane.seen = power::seen_after(lane.seen, lane.busy ? 1.0 : 0.0, passed, core::kMeterLag).use;
    }
    at_ = now;
  }
  // After a step: what runs from now on.
  void see(const core::State& state) {
    lanes_.resize(state.lanes.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const core::Lane& lane = state.lanes[i];
      lanes_[i].busy = !lane.running.empty();
      lanes_[i].kind = static_cast<std::size_t>(lane.config.kind);
      lanes_[i].cores = lane.config.cores_milli;
    }
    rungs_ = static_cast<double>(core::other_rungs_permille(state.power.governor)) * 1e-3;
  }
  // Of each kind of lane, 0 to 1.
  [[nodiscard]] std::array<double, 2> use() const {
    std::array<double, 2> sum{};
    std::array<double, 2> all{};
    for (const Use& lane : lanes_) {
      sum[lane.kind] += lane.seen * lane.cores;
      all[lane.kind] += lane.cores;
    }
    for (std::size_t k = 0; k < 2; ++k) sum[k] = all[k] > 0.0 ? rungs_ * sum[k] / all[k] : 0.0;
    return sum;
  }

 private:
  struct Use {
    bool busy = false;
    std::size_t kind = 0;
    double cores = 1.0;
    double seen = 0.0;
  };
  std::vector<Use> lanes_;
  double rungs_ = 1.0;
  TimeNs at_ = 0;
};

}  // namespace laird::whatif
