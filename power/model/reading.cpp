#include "power/model/reading.hpp"

#include <algorithm>

namespace laird::power {
namespace {

// Below this no electronics runs: tegrastats writes -256, the kernel -256000, for a gated zone.
constexpr std::int64_t kColdestMilliC = -100'000;

}  // namespace

std::string_view name(Source source) {
  switch (source) {
    case Source::kNone: return "none";
    case Source::kHwmon: return "hwmon";
    case Source::kIio: return "iio";
    case Source::kTegrastats: return "tegrastats";
    case Source::kRecorded: return "recorded";
    case Source::kModelled: return "modelled";
  }
  return "none";
}

void RailReading::archive(Archive& ar) {
  ar.text(name, kReadingNameMax);
  ar(mw);
}

void ZoneReading::archive(Archive& ar) {
  ar.text(name, kReadingNameMax);
  ar(milli_c);
}

bool is_real_zone(std::string_view zone, std::int64_t milli_c) {
  const bool pmic = zone.starts_with("PMIC") || zone.starts_with("pmic");
  return !pmic && milli_c > kColdestMilliC;
}

std::optional<std::int64_t> PowerReading::hottest_mc() const {
  std::optional<std::int64_t> out;
  for (const ZoneReading& zone : zones) {
    if (!is_real_zone(zone.name, zone.milli_c)) continue;
    if (!out || zone.milli_c > *out) out = zone.milli_c;
  }
  return out;
}

std::optional<std::int64_t> PowerReading::rail_mw(std::string_view rail_name) const {
  for (const RailReading& rail : rails) {
    if (rail.name == rail_name) return rail.mw;
  }
  return std::nullopt;
}

void PowerReading::archive(Archive& ar) {
  ar(at);
  ar.bounded(source, Source::kModelled);
  ar.bounded(scope, Scope::kBoard);
  ar(total_mw);
  ar.text(total_rule, 512);
  ar(resolution_mw);
  ar.sequence(rails, kReadingRailsMax);
  ar.sequence(zones, kReadingZonesMax);
  ar(gpu_load_permille);
  ar(gpu_clock_mhz);
  ar(cpu_load_permille);
  ar(cpu_clock_mhz);
  ar(cpu_cores_on);
  ar(memory_used_bytes);
  ar(memory_total_bytes);
}

namespace {

// Names what is missing of the rule that came nearest, where one came near at all.
std::string why_no_total(const Board& board, const PowerReading& reading) {
  if (reading.rails.empty()) return "no rails";
  std::string out = "no total rule fits these rails";
  std::size_t fewest_missing = SIZE_MAX;
  for (const TotalRule& rule : board.totals) {
    std::string missing;
    std::size_t missing_count = 0;
    for (const std::string& wanted : rule.rails) {
      if (reading.rail_mw(wanted)) continue;
      missing += " " + wanted;
      ++missing_count;
    }
    if (missing_count < rule.rails.size() && missing_count < fewest_missing) {
      fewest_missing = missing_count;
      out = "missing for " + rule.text() + ":" + missing;
    }
  }
  return out;
}

}  // namespace

void apply_total(const Board& board, PowerReading& reading) {
  reading.total_mw.reset();
  reading.scope = Scope::kUnknown;
  reading.resolution_mw = 0;
  const RuleTotal total =
      total_by_rules(board, [&](const std::string& name) { return reading.rail_mw(name); });
  if (total.rule == nullptr) {
    reading.total_rule = why_no_total(board, reading);
    return;
  }
  reading.total_mw = total.mw;
  reading.scope = total.rule->scope;
  reading.total_rule = total.rule->text();
  for (const std::string& name : total.rule->rails) {
    const Rail* rail = board.rail(name);
    if (rail != nullptr) reading.resolution_mw += rail->step_mw;
  }
}

}  // namespace laird::power
