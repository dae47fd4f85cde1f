// A fake sysfs below a temporary folder, laid out as the board's file says its sensors are.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "power/model/board.hpp"

namespace laird::test {

inline void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Rail number n of the board carries 1000 + 100 n mW; the hwmon form as 5000 mV times a current.
inline std::int64_t fake_rail_mw(std::size_t n) {
  return 1000 + 100 * static_cast<std::int64_t>(n);
}

inline std::string sensor_folder(const std::string& root, const power::Sensor& sensor,
                                 std::size_t index) {
  const std::string address =
      sensor.address.empty() ? "2-004" + std::to_string(4 + index) : sensor.address;
  if (sensor.chip == "ina3221x") {
    return root + "/sys/bus/i2c/drivers/ina3221x/" + address + "/iio:device" +
           std::to_string(index);
  }
  // Numbers that move between boots: nothing may depend on them.
  return root + "/sys/bus/i2c/devices/" + address + "/hwmon/hwmon" + std::to_string(7 - index);
}

inline void make_sensors(const std::string& root, const power::Board& board) {
  std::size_t n = 0;
  for (std::size_t s = 0; s < board.sensors.size(); ++s) {
    const power::Sensor& sensor = board.sensors[s];
    const std::string folder = sensor_folder(root, sensor, s);
    put(folder + "/name", sensor.chip + "\n");
    for (std::size_t c = 0; c < sensor.rails.size(); ++c, ++n) {
      const std::string rail = sensor.rails[c];
      const std::string mw = std::to_string(fake_rail_mw(n));
      if (sensor.chip == "ina3221x") {
        const std::string k = std::to_string(c);
        put(folder + "/rail_name_" + k, rail + "\n");
        put(folder + "/in_power" + k + "_input", mw + "\n");
        put(folder + "/in_voltage" + k + "_input", "5000\n");
        put(folder + "/crit_current_limit_" + k, "32760 ma\n");
      } else if (sensor.chip == "ina238") {
        put(folder + "/power1_input", mw + "000\n");
      } else {
        const std::string k = std::to_string(c + 1);
        put(folder + "/in" + k + "_label", rail + "\n");
        put(folder + "/in" + k + "_input", "5000\n");
        put(folder + "/curr" + k + "_input", std::to_string(fake_rail_mw(n) / 5) + "\n");
        // Shunt voltages in uV, which are no rails.
        put(folder + "/in" + std::to_string(c + 4) + "_input", "777\n");
        put(folder + "/in7_label", "sum of shunt voltages\n");
        put(folder + "/in7_input", "999\n");
      }
    }
  }
}

}  // namespace laird::test
