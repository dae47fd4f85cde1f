// Both engines at the same work on this machine, every word compared: what the kernels' PTX became
// here, by the driver's own compiler, is the one thing that no test elsewhere can see.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "estimators/cuda/bank_device.hpp"

namespace laird::estimators {

struct KernelCheck {
  std::string kernel;
  std::size_t words = 0;
  std::size_t different = 0;
};

struct DeviceCheck {
  std::string device;
  std::string driver;  // and compute capability
  std::string cpu;     // the engine it was compared with
  std::vector<KernelCheck> kernels;
  EngineCost cpu_cost;
  EngineCost gpu_cost;
  std::size_t from_updates = kNeverUpdates;
  [[nodiscard]] std::size_t different() const;
};

// 500 steps of every kernel, then the two costs. An error: there is no GPU to check, and why.
[[nodiscard]] Result<DeviceCheck> check_device(const std::string& plugin, const std::string& driver,
                                               const std::function<TimeNs()>& now);

}  // namespace laird::estimators
