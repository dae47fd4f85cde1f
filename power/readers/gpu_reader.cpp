#include "power/readers/gpu_reader.hpp"

namespace laird::power {

void fill_in(const nvml::Sample& sample, PowerReading& reading) {
  if (!reading.gpu_load_permille) reading.gpu_load_permille = sample.load_permille;
  if (!reading.gpu_clock_mhz) reading.gpu_clock_mhz = sample.clock_mhz;
  if (sample.power_mw && reading.rails.size() < kReadingRailsMax) {
    reading.rails.push_back(RailReading{kNvmlRail, *sample.power_mw});
  }
  if (sample.temperature_mc && reading.zones.size() < kReadingZonesMax) {
    reading.zones.push_back(ZoneReading{kNvmlZone, *sample.temperature_mc});
  }
}

std::optional<PowerReading> GpuReader::poll(TimeNs now) {
  std::optional<PowerReading> out = rails_->poll(now);
  if (out) fill_in(probe_.finding(now).sample, *out);
  return out;
}

ReaderStatus GpuReader::status(TimeNs now) const {
  ReaderStatus out = rails_->status(now);
  const nvml::Finding finding = probe_.finding(now);
  out.gpu = (finding.sample.load_permille ? "" : "unknown: ") + finding.detail;
  return out;
}

}  // namespace laird::power
