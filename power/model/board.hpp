// What a board is, as data: filled from board_configs/*.json, never from `if (board == ...)`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laird::power {

// What a power figure covers. A module figure leaves out the carrier; a rail sum is what the
// listed rails carry and no more.
enum class Scope : std::uint8_t { kUnknown, kRailSum, kModule, kBoard };

[[nodiscard]] std::string_view name(Scope scope);

// Where the load of the GPU is read; the clock and the rails always come from the kernel's files.
enum class GpuLoadFrom : std::uint8_t { kSysfs, kNvml };

enum class LaneKind : std::uint8_t { kGpu, kCpu };

[[nodiscard]] std::string_view name(LaneKind kind);

struct Lane {
  std::string name;
  LaneKind kind = LaneKind::kCpu;
};

// What a rail feeds; kAll marks a rail that carries the whole module or board.
enum class Feeds : std::uint8_t { kAll, kGpu, kCpu, kSoc, kMemory, kIo, kMixed };

[[nodiscard]] std::string_view name(Feeds feeds);

struct Rail {
  std::string name;
  Feeds feeds = Feeds::kMixed;
  std::int64_t step_mw = 0;  // resolution of its meter; 0 when unknown
};

struct Sensor {
  std::string chip;     // the driver's name file: "ina3221", "ina3221x", "ina238"
  std::string address;  // i2c bus and address, "1-0040"; a hint, discovery goes by label
  std::vector<std::string> rails;
};

// Total power is the sum of these rails. A board lists its rules best first, and the first rule
// whose rails are all present applies; with none present in full the total is unknown.
struct TotalRule {
  std::vector<std::string> rails;
  Scope scope = Scope::kUnknown;

  [[nodiscard]] std::string text() const;  // "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0"
};

struct PowerMode {
  std::int64_t id = 0;
  std::string name;
  bool live = false;  // known to switch without a reboot
};

// Parameters of the modelled board: P = idle + sum over lanes of dynamic * use * (f / f_max)^e.
struct PowerModel {
  std::int64_t idle_mw = 0;
  std::int64_t gpu_dynamic_mw = 0;
  std::int64_t cpu_dynamic_mw = 0;
  double clock_exponent = 2.0;
  double thermal_resistance_c_per_w = 2.0;
  std::int64_t thermal_time_constant_ns = 0;
};

enum class Evidence : std::uint8_t { kSourced, kCaptured, kDerived, kChosen, kUnconfirmed };

[[nodiscard]] std::string_view name(Evidence evidence);

struct EvidenceEntry {
  std::string of;  // a path in the file, "/gpu/sm"; it speaks for everything below it
  Evidence how = Evidence::kUnconfirmed;
  std::string from;
};

struct Board {
  std::string name;
  std::string title;
  std::vector<std::string> detect_modules;  // "p3767-0005", parts of device-tree compatible
  std::string detect_soc;                   // "tegra234"; empty for none
  std::int64_t cpu_cores = 0;               // 0: ask the machine
  std::int64_t cpu_clock_mhz_max = 0;
  std::int64_t gpu_cuda_cores = 0;
  std::int64_t gpu_tensor_cores = 0;
  std::int64_t gpu_sm = 0;  // 87 for sm_87; 0 for no CUDA GPU
  std::int64_t gpu_clock_mhz_max = 0;
  GpuLoadFrom gpu_load_from = GpuLoadFrom::kSysfs;
  std::int64_t memory_bytes = 0;  // as the kernel reports it; 0: ask the machine
  std::int64_t memory_reserve_bytes = 0;
  double memory_bandwidth_gb_s = 0;
  std::vector<Rail> rails;
  std::vector<Sensor> sensors;
  std::vector<TotalRule> totals;
  std::int64_t carrier_offset_mw = 0;
  std::int64_t power_mw_min = 0;  // the lowest and highest cap that make sense
  std::int64_t power_mw_max = 0;
  std::int64_t temperature_limit_mc = 0;
  std::vector<PowerMode> modes;
  PowerModel model;
  std::vector<Lane> lanes;
  std::vector<EvidenceEntry> evidence;

  // What tasks may use: the machine's memory (or, where `machine_bytes` is 0, the file's) less the
  // reserve. Never negative.
  [[nodiscard]] std::int64_t memory_for_tasks_bytes(std::int64_t machine_bytes) const;
  // The evidence that speaks for a path: the longest entry that is a prefix of it.
  [[nodiscard]] const EvidenceEntry* evidence_for(std::string_view path) const;
  [[nodiscard]] const Rail* rail(std::string_view rail_name) const;
};

}  // namespace laird::power
