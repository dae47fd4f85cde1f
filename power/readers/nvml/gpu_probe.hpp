// Asks NVML on a thread of its own, so that a driver that hangs holds up nothing: neither the
// agent's loop nor the thread that reads the power rails.
//
// The thread is detached and shares what it writes to by reference count. One that hangs for ever
// is left behind with it; no second one is started beside it.
#pragma once

#include <memory>
#include <string>

#include "base/time.hpp"
#include "power/readers/nvml/library.hpp"

namespace laird::power::nvml {

// What the probe knows at some instant.
struct Finding {
  Sample sample;       // empty when nothing fresh is known
  std::string detail;  // for people: where the values come from, or why there are none
  bool asked = false;  // an answer, good or bad, has come since the start
};

class GpuProbe {
 public:
  GpuProbe(const std::string& library, DurationNs period_ns);
  // Waits a moment for the thread; a thread that hangs is left behind.
  ~GpuProbe();
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // Never blocks. A sample older than three periods and a second is not given any more.
  [[nodiscard]] Finding finding(TimeNs now) const;
  // For a command that runs once: waits for the first answer, `patience` at most.
  [[nodiscard]] Finding first_finding(DurationNs patience) const;

  // NVML averages over a sixth of a second to a second: asking more often gives nothing new.
  static constexpr DurationNs kPeriodMin = 200 * kMillisecond;
  // After a failure, doubled up to the longest.
  static constexpr DurationNs kRetryMin = 2 * kSecond;
  static constexpr DurationNs kRetryMax = kMinute;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  DurationNs period_ns_;
};

}  // namespace laird::power::nvml
