#include "power/readers/sysfs/sysfs_inventory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "config/schema.hpp"

namespace laird::power {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntriesMax = 512;

// Names in natural order: zone2 before zone10.
bool natural_less(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (out.size() >= kEntriesMax) break;
    out.push_back(it->path().filename().string());
  }
  std::sort(out.begin(), out.end(), natural_less);
  return out;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
bool readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

std::string first_line(const std::string& path) {
  Result<std::string> text = config::read_file(path, 4096);
  if (!text) return {};
  const std::size_t end = text->find_first_of(std::string("\0\n\r", 3));
  return text->substr(0, std::min(end, text->size()));
}

class Discovery {
 public:
  explicit Discovery(const std::string& root) : root_(root) {}

  SysfsInventory run() {
    i2c_devices();
    hwmon_class();
    zones();
    cpus();
    gpu();
    cooling();
    return std::move(out_);
  }

 private:
  bool first_visit(const std::string& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    return seen_.insert(error ? folder : real.string()).second;
  }

  bool take(const std::string& path, const std::string& what) {
    if (readable(path)) return true;
    if (exists(path)) out_.notes.push_back(what + " is there but not readable: " + path);
    return false;
  }

  void add(Channel channel) {
    if (channel.rail.empty() || channel.rail == "NC") return;
    for (const Channel& known : out_.channels) {
      if (known.rail == channel.rail) return;
    }
    if (out_.channels.size() < kReadingRailsMax) out_.channels.push_back(std::move(channel));
  }

  void i2c_devices() {
    for (const char* folder : {"/sys/bus/i2c/drivers/ina3221x", "/sys/bus/i2c/drivers/ina3221",
                               "/sys/bus/i2c/drivers/ina238", "/sys/bus/i2c/devices"}) {
      const std::string base = root_ + folder;
      for (const std::string& device : entries(base)) {
        if (device.find("-00") == std::string::npos) continue;
        const std::string path = base + "/" + device;
        for (const std::string& inner : entries(path)) {
          if (inner.starts_with("iio:device")) iio(path + "/" + inner);
        }
        for (const std::string& inner : entries(path + "/hwmon")) {
          hwmon(path + "/hwmon/" + inner);
        }
      }
    }
  }

  void hwmon_class() {
    for (const std::string& entry : entries(root_ + "/sys/class/hwmon")) {
      hwmon(root_ + "/sys/class/hwmon/" + entry);
    }
  }

  void iio(const std::string& folder) {
    if (!first_visit(folder)) return;
    for (int n = 0; n <= 2; ++n) {
      const std::string number = std::to_string(n);
      const std::string rail = first_line(folder + "/rail_name_" + number);
      const std::string path = folder + "/in_power" + number + "_input";
      if (rail.empty() || !take(path, "rail " + rail)) continue;
      add(Channel{rail, ChannelKind::kMilliwatts, Source::kIio, path, {}});
    }
  }

  void hwmon(const std::string& folder) {
    const std::string chip = first_line(folder + "/name");
    if (!chip.starts_with("ina") || !first_visit(folder)) return;
    const std::string power = folder + "/power1_input";
    if (chip == "ina238" && exists(power)) {
      std::string rail = first_line(folder + "/power1_label");
      if (rail.empty()) rail = "VIN";
      if (take(power, "rail " + rail)) {
        add(Channel{rail, ChannelKind::kMicrowatts, Source::kHwmon, power, {}});
      }
      return;
    }
    for (int n = 1; n <= 3; ++n) {
      const std::string number = std::to_string(n);
      const std::string rail = first_line(folder + "/in" + number + "_label");
      const std::string volts = folder + "/in" + number + "_input";
      const std::string amps = folder + "/curr" + number + "_input";
      if (rail.empty() || !take(volts, "rail " + rail) || !take(amps, "rail " + rail)) continue;
      add(Channel{rail, ChannelKind::kVoltsTimesAmps, Source::kHwmon, volts, amps});
    }
  }

  void zones() {
    for (const char* folder : {"/sys/devices/virtual/thermal", "/sys/class/thermal"}) {
      for (const std::string& entry : entries(root_ + folder)) {
        if (!entry.starts_with("thermal_zone")) continue;
        const std::string base = root_ + folder + "/" + entry;
        if (!first_visit(base) || !readable(base + "/temp")) continue;
        const std::string type = first_line(base + "/type");
        if (out_.zones.size() < kReadingZonesMax) {
          out_.zones.push_back(Zone{type.empty() ? entry : type, base + "/temp"});
        }
      }
    }
  }

  void cpus() {
    const std::string base = root_ + "/sys/devices/system/cpu";
    for (const std::string& entry : entries(base)) {
      const bool core =
          entry.size() > 3 && entry.starts_with("cpu") && entry[3] >= '0' && entry[3] <= '9';
      const std::string path = base + "/" + entry + "/cpufreq/scaling_cur_freq";
      if (core && readable(path)) out_.cpu_clocks.push_back(path);
    }
  }

  void gpu() {
    static constexpr std::array<std::string_view, 5> kNames = {"gv11b", "gp10b", "ga10b", "gb10b",
                                                               "gpu"};
    const std::string base = root_ + "/sys/class/devfreq";
    for (const std::string& entry : entries(base)) {
      const std::string folder = base + "/" + entry;
      const std::string node = first_line(folder + "/device/of_node/name");
      const bool by_node = std::find(kNames.begin(), kNames.end(), node) != kNames.end();
      const bool by_entry = entry.starts_with("gpu-gpc") ||
                            std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
                              return entry.ends_with("." + std::string(name));
                            });
      if (!by_node && !by_entry) continue;
      if (!readable(folder + "/cur_freq")) continue;
      out_.gpu_clock = folder + "/cur_freq";
      out_.gpu_clock_min = folder + "/min_freq";
      out_.gpu_clock_max = folder + "/max_freq";
      out_.gpu_clocks_available = folder + "/available_frequencies";
      if (readable(folder + "/device/load")) out_.gpu_load = folder + "/device/load";
      break;
    }
    for (const char* path : {"/sys/devices/gpu.0/load", "/sys/devices/platform/gpu.0/load"}) {
      if (out_.gpu_load.empty() && readable(root_ + path)) out_.gpu_load = root_ + path;
    }
  }

  void cooling() {
    const std::string base = root_ + "/sys/class/thermal";
    for (const std::string& entry : entries(base)) {
      if (!entry.starts_with("cooling_device")) continue;
      const std::string type = first_line(base + "/" + entry + "/type");
      if (type.find("throttle") == std::string::npos && !type.starts_with("devfreq-")) continue;
      out_.cooling.push_back(base + "/" + entry + "/cur_state");
    }
  }

  std::string root_;
  SysfsInventory out_;
  std::set<std::string> seen_;
};

}  // namespace

bool SysfsInventory::same_channels(const SysfsInventory& other) const {
  if (channels.size() != other.channels.size() || zones.size() != other.zones.size()) return false;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (channels[i].rail != other.channels[i].rail || channels[i].path != other.channels[i].path) {
      return false;
    }
  }
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (zones[i].path != other.zones[i].path) return false;
  }
  return gpu_clock == other.gpu_clock;
}

SysfsInventory discover_sysfs(const std::string& root) { return Discovery(root).run(); }

}  // namespace laird::power
