#include "power/readers/tegrastats/tegrastats_reading.hpp"

#include <algorithm>

namespace laird::power {
namespace {

std::int64_t bytes_of(std::int32_t amount, char unit) {
  const std::int64_t scale = unit == 'k' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1 << 30;
  return amount * scale;
}

void fill_cpu(const Line& line, PowerReading& out) {
  std::int64_t sum = 0;
  std::int32_t on = 0;
  std::int32_t fastest = kUnknownValue;
  for (const Core& core : line.cores()) {
    if (core.off || core.load_percent == kUnknownValue) continue;
    sum += core.load_percent;
    ++on;
    fastest = std::max(fastest, core.clock_mhz);
  }
  if (line.core_count == 0) return;
  out.cpu_cores_on = on;
  if (on > 0) out.cpu_load_permille = static_cast<std::int32_t>(sum * 10 / on);
  if (fastest != kUnknownValue) out.cpu_clock_mhz = fastest;
  for (const Item& item : line.items()) {
    if (item.kind == ItemKind::kCpu && item.v[0] != kUnknownValue) out.cpu_clock_mhz = item.v[0];
  }
}

void fill_gpu(const Line& line, PowerReading& out) {
  const Item* gpu = line.gpu();
  if (gpu == nullptr) return;
  if (gpu->count > 0 && gpu->v[0] != kUnknownValue) out.gpu_load_permille = gpu->v[0] * 10;
  std::int32_t fastest = kUnknownValue;
  for (std::uint8_t i = 1; i < gpu->count; ++i) fastest = std::max(fastest, gpu->v[i]);
  if (fastest != kUnknownValue) out.gpu_clock_mhz = fastest;
}

}  // namespace

PowerReading reading_of(const Line& line, const Board& board, TimeNs at, Source source) {
  PowerReading out;
  out.at = at;
  out.source = source;
  for (const Item& item : line.items()) {
    if (item.kind == ItemKind::kRail && item.name != "NC" && out.rails.size() < kReadingRailsMax) {
      out.rails.push_back(
          RailReading{std::string(item.name.substr(0, kReadingNameMax)), item.v[0]});
    }
    if (item.kind == ItemKind::kTemperature && out.zones.size() < kReadingZonesMax) {
      out.zones.push_back(
          ZoneReading{std::string(item.name.substr(0, kReadingNameMax)), item.v[0]});
    }
  }
  fill_cpu(line, out);
  fill_gpu(line, out);
  if (const Item* ram = line.memory("RAM")) {
    out.memory_used_bytes = bytes_of(ram->v[0], ram->unit);
    out.memory_total_bytes = bytes_of(ram->v[1], ram->unit);
  }
  apply_total(board, out);
  return out;
}

RuleTotal total_of(const Line& line, const Board& board) {
  return total_by_rules(board, [&](const std::string& name) -> std::optional<std::int64_t> {
    const Item* rail = line.rail(name);
    if (rail == nullptr) return std::nullopt;
    return rail->v[0];
  });
}

}  // namespace laird::power
