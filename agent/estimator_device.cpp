#include "agent/estimator_device.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "estimators/bank/runner.hpp"

namespace laird::agent {
namespace {

using estimators::BankDevice;
using estimators::DeviceChoice;

// What the kernel believes that a new process could have; all there is where it does not say.
std::int64_t available_bytes() {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return INT64_MAX;
  char line[128];
  long long kb = -1;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %lld kB", &kb) == 1) break;
  }
  std::fclose(file);
  return kb < 0 ? INT64_MAX : kb * 1024;
}

}  // namespace

EstimatorDevice::EstimatorDevice(const Settings& settings, Clock& clock,
                                 std::function<std::int64_t()> unclaimed_bytes) {
  // One report into one bank at a time, which is all an agent does, is never worth a launch: `auto`
  // is the CPU here, and a calibration would only cost memory.
  if (settings.estimator_device != "gpu") return;
  // Where the driver keeps what it compiled; a service has no home. Not over somebody's own wish.
  ::setenv("CUDA_CACHE_PATH", (settings.state_dir + "/cuda").c_str(), 0);
  device_ = std::make_unique<BankDevice>(
      DeviceChoice::kGpu, estimators::DeviceWorld{estimators::cuda_plugin(), "libcuda.so.1",
                                                  [&clock] { return clock.boot_ns(); },
                                                  available_bytes, std::move(unclaimed_bytes)});
  device_->try_at_start();
  estimators::use_bank_runner(device_.get());
}

EstimatorDevice::~EstimatorDevice() {
  if (device_ != nullptr) estimators::use_bank_runner(nullptr);
}

std::optional<std::string> EstimatorDevice::look_after() {
  if (device_ == nullptr) return std::nullopt;
  device_->rest();
  return device_->remark();
}

}  // namespace laird::agent
