// What this machine's kernel offers to read, found by label and name, never by number: hwmon
// numbers move between boots.
//
//   ina3221x, iio (JetPack 4)   rail_name_N, in_powerN_input in mW
//   ina3221, hwmon (5 and on)   inN_label, inN_input in mV, currN_input in mA, N = 1 to 3; in4 and
//                               up are shunt voltages and their sum, not rails
//   ina238, hwmon (Thor)        power1_input in uW, the board's input
#pragma once

#include <string>
#include <vector>

#include "power/model/reading.hpp"

namespace laird::power {

enum class ChannelKind : std::uint8_t { kMilliwatts, kMicrowatts, kVoltsTimesAmps };

struct Channel {
  std::string rail;
  ChannelKind kind = ChannelKind::kMilliwatts;
  Source source = Source::kNone;
  std::string path;          // power, or voltage in mV
  std::string current_path;  // mA, for kVoltsTimesAmps
};

struct Zone {
  std::string name;
  std::string path;
};

struct SysfsInventory {
  std::vector<Channel> channels;
  std::vector<Zone> zones;
  std::vector<std::string> cpu_clocks;  // one scaling_cur_freq per core, kHz
  std::string gpu_clock;                // cur_freq, Hz
  std::string gpu_clock_min;
  std::string gpu_clock_max;
  std::string gpu_clocks_available;
  std::string gpu_load;              // permille
  std::vector<std::string> notes;    // what was found but cannot be read, and why
  std::vector<std::string> cooling;  // cooling_device*/cur_state of throttles

  // Same channels, so open files need not be opened again.
  [[nodiscard]] bool same_channels(const SysfsInventory& other) const;
};

// Looks below `root` ("" for the real tree). Never fails: what is not there is not listed.
[[nodiscard]] SysfsInventory discover_sysfs(const std::string& root);

}  // namespace laird::power
