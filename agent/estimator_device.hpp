// The device that computes forecasts in this process, as the settings wish it (estimators/cuda). It
// is the process's and not the agent's: whatever it is, the agent decides the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/settings/settings.hpp"
#include "estimators/cuda/bank_device.hpp"
#include "os/clock.hpp"

namespace laird::agent {

class EstimatorDevice {
 public:
  // `unclaimed_bytes`: of the memory for tasks, what no trainer has claimed.
  // The clock outlives this.
  EstimatorDevice(const Settings& settings, Clock& clock,
                  std::function<std::int64_t()> unclaimed_bytes);
  ~EstimatorDevice();
  EstimatorDevice(const EstimatorDevice&) = delete;
  EstimatorDevice& operator=(const EstimatorDevice&) = delete;

  // How often to call look_after.
  static constexpr DurationNs kEvery = 10 * kSecond;
  // Gives back what is idle; what there is to log, or nothing.
  [[nodiscard]] std::optional<std::string> look_after();

 private:
  std::unique_ptr<estimators::BankDevice> device_;  // null: the CPU, by the settings
};

}  // namespace laird::agent
