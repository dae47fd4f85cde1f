// A reader of rails that also asks NVML for the GPU, on boards whose kernel shows no GPU load.
//
// What the rails' reader gives stays; only what it lacks is filled in. Power by NVML becomes a rail
// of its own, kNvmlRail, which no total rule names, so it is shown and never added twice.
#pragma once

#include <memory>
#include <string>

#include "power/readers/nvml/gpu_probe.hpp"
#include "power/readers/reader.hpp"

namespace laird::power {

inline constexpr const char* kNvmlRail = "NVML_GPU";
inline constexpr const char* kNvmlZone = "nvml-gpu";

// Fills what `reading` lacks and the sample has.
void fill_in(const nvml::Sample& sample, PowerReading& reading);

class GpuReader final : public Reader {
 public:
  GpuReader(std::unique_ptr<Reader> rails, const std::string& library, DurationNs period_ns)
      : rails_(std::move(rails)), probe_(library, period_ns) {}

  [[nodiscard]] std::optional<PowerReading> poll(TimeNs now) override;
  [[nodiscard]] int fd() const override { return rails_->fd(); }
  [[nodiscard]] TimeNs next_poll_at(TimeNs now) const override { return rails_->next_poll_at(now); }
  [[nodiscard]] ReaderStatus status(TimeNs now) const override;

 private:
  std::unique_ptr<Reader> rails_;
  nvml::GpuProbe probe_;
};

}  // namespace laird::power
