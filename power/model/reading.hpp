// A power reading as the rest of laird sees it, whatever it was read from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "power/model/board.hpp"

namespace laird::power {

enum class Source : std::uint8_t { kNone, kHwmon, kIio, kTegrastats, kRecorded, kModelled };

[[nodiscard]] std::string_view name(Source source);

struct RailReading {
  std::string name;
  std::int64_t mw = 0;

  void archive(Archive& ar);
};

struct ZoneReading {
  std::string name;
  std::int64_t milli_c = 0;

  void archive(Archive& ar);
};

inline constexpr std::size_t kReadingRailsMax = 32;
inline constexpr std::size_t kReadingZonesMax = 48;
inline constexpr std::size_t kReadingNameMax = 64;

// Every value that could not be read is absent, never 0.
struct PowerReading {
  TimeNs at = 0;
  Source source = Source::kNone;
  Scope scope = Scope::kUnknown;
  std::optional<std::int64_t> total_mw;
  std::string total_rule;  // "VDD_IN"; when the total is unknown, why
  // The steps of the meters behind the total, added up: they may all err the same way. 0: unknown.
  std::int64_t resolution_mw = 0;
  std::vector<RailReading> rails;
  std::vector<ZoneReading> zones;
  std::optional<std::int32_t> gpu_load_permille;
  std::optional<std::int32_t> gpu_clock_mhz;
  std::optional<std::int32_t> cpu_load_permille;  // mean over the cores that are on
  std::optional<std::int32_t> cpu_clock_mhz;      // highest of them
  std::optional<std::int32_t> cpu_cores_on;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<std::int64_t> memory_total_bytes;

  // The hottest zone that is a real sensor: PMIC reads a constant and gated zones read -256.
  [[nodiscard]] std::optional<std::int64_t> hottest_mc() const;
  [[nodiscard]] std::optional<std::int64_t> rail_mw(std::string_view rail_name) const;
  void archive(Archive& ar);
};

[[nodiscard]] bool is_real_zone(std::string_view zone, std::int64_t milli_c);

// The first of a board's total rules whose rails are all there, and their sum; rule is nullptr when
// none fits. `mw_of(name)` gives a rail's power as std::optional<std::int64_t>.
struct RuleTotal {
  const TotalRule* rule = nullptr;
  std::int64_t mw = 0;
};
template <class MwOf>
[[nodiscard]] RuleTotal total_by_rules(const Board& board, MwOf&& mw_of) {
  for (const TotalRule& rule : board.totals) {
    RuleTotal out{&rule, 0};
    for (const std::string& wanted : rule.rails) {
      const std::optional<std::int64_t> mw = mw_of(wanted);
      if (!mw) {
        out.rule = nullptr;
        break;
      }
      out.mw += *mw;
    }
    if (out.rule != nullptr) return out;
  }
  return {};
}

// Applies a board's total rules to `rails`: sets total_mw, scope, total_rule and resolution_mw.
void apply_total(const Board& board, PowerReading& reading);

}  // namespace laird::power
