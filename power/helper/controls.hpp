// What the privileged helper may write, and within what range: a fixed list, in code.
//
//   gpu-max-freq HZ      max_freq of the GPU's devfreq; one of available_frequencies, not below
//                        min_freq
//   cpu-max-freq N KHZ   scaling_max_freq of core N; within cpuinfo_min_freq and cpuinfo_max_freq
//   nvpmodel ID          runs nvpmodel -m ID; one of the ids in the live-modes file, which only
//                        root can write; none when the file is absent. A mode that nvpmodel.conf
//                        gives other cores or GPU partitions than the one in force would need a
//                        reboot, and is refused though it be listed
//
// A path is built from constants and checked numbers, never from text of the caller's, and what it
// leads to must lie below /sys/devices: a symbolic link out of there is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::power::priv {

// Prefix of every path; "" in production. See main.cpp for who may set another.
struct Place {
  std::string root;
  std::string nvpmodel = "/usr/sbin/nvpmodel";
  std::string live_modes = "/etc/laird/live_modes";
};

struct Control {
  std::string key;   // "gpu-max-freq", "cpu-max-freq 3": names the value in the journal
  std::string path;  // canonical; empty for nvpmodel
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::vector<std::int64_t> allowed;  // when not empty, exactly these
};

inline constexpr int kCoreMax = 255;
inline constexpr std::size_t kRequestBytesMax = 256;

// From "gpu-max-freq" or "cpu-max-freq 3": the control with its present range.
[[nodiscard]] Result<Control> find_control(const Place& place, const std::string& key);

[[nodiscard]] Result<std::int64_t> read_value(const std::string& path);
// Writes and reads back; the value that holds afterwards may differ from the one asked for.
[[nodiscard]] Result<std::int64_t> write_value(const Control& control, std::int64_t value);

// Refuses what the control does not allow, with the nearest that it does.
[[nodiscard]] Status check_value(const Control& control, std::int64_t value);

// The ids in the live-modes file, which must be a file that only root can write.
[[nodiscard]] Result<std::vector<std::int64_t>> live_power_modes(const Place& place);
// Refuses a mode that is not in the live-modes file, or that cannot be reached from `from` without
// a reboot.
[[nodiscard]] Status check_power_mode(const Place& place, std::int64_t from, std::int64_t id);
// Runs nvpmodel for a mode that was checked, without a shell or an environment, for at most ten
// seconds, and asks it afterwards which mode holds.
[[nodiscard]] Result<std::int64_t> set_power_mode(const Place& place, std::int64_t id);
[[nodiscard]] Result<std::int64_t> query_power_mode(const Place& place);

}  // namespace laird::power::priv
