// One line of tegrastats, from any release, taken apart by name.
//
// Grammar (gathered from captures of R24 to R39; order is free, runs of blanks are fine):
//   MM-DD-YYYY HH:MM:SS                              time, first only
//   RAM u/tMB (lfb nxsMB) | SWAP u/tMB (cached cMB) | IRAM u/tkB(lfb skB)
//   CPU [l%@f,off,..] | cpu [l%,..]@f                per core; one shared clock on old releases
//   NAME off | NAME v | NAME l% | NAME l%@f | NAME @f | NAME l%@[f,..] | NAME @[f,..]    engines
//   MTS fg l% bg l% | EDP limit f
//   zone@tC | zone@tC/tC                             temperatures; -256 is a gated zone
//   RAIL a/b | RAIL amW/bmW | RAIL amW/bmW/cmW       milliwatts: now, running mean, peak
//
// The same word can be a rail (`GPU 465/465`), a zone (`GPU@26C`) and a field (`CPU [`), so what
// follows the name decides. A token that fits nothing is kept as unknown; a value that is missing
// is kUnknownValue, never 0. One pass, no allocation, every word looked at no more than twice,
// so hostile input costs time linear in its length. Views point into the text given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace laird::power {

// No release writes a line of a fraction of this; a longer one is something else and is skipped.
inline constexpr std::size_t kLineBytesMax = 64 * 1024;

inline constexpr std::int32_t kUnknownValue = std::numeric_limits<std::int32_t>::min();
// What tegrastats prints for a zone whose power is gated.
inline constexpr std::int32_t kGatedMilliC = -256'000;

enum class ItemKind : std::uint8_t {
  kTime,
  kMemory,
  kCpu,
  kEngine,
  kMts,
  kTemperature,
  kRail,
  kUnknown,
};

enum class EngineForm : std::uint8_t { kOff, kValue, kLoad, kClock, kClockList, kLimit };

struct Item {
  static constexpr std::size_t kValuesMax = 6;

  ItemKind kind = ItemKind::kUnknown;
  EngineForm form = EngineForm::kOff;  // engines only
  std::uint8_t count = 0;              // values in use
  bool unit_mw = false;                // rails: the numbers carried mW
  char unit = 'M';                     // memory: k, M or G bytes
  char detail_unit = 'M';              // memory: unit of the largest free block or cache
  std::string_view name;               // for kUnknown the whole token
  // kMemory: used, total, then blocks x size of (lfb ..) or cached, each unknown when absent.
  // kEngine: load %, then clocks in MHz (or the bare value). kMts: foreground %, background %.
  // kTemperature: milli-Celsius, one or two. kRail: now, mean, peak. kCpu: shared clock.
  std::array<std::int32_t, kValuesMax> v{};
};

struct Core {
  std::int32_t load_percent = kUnknownValue;
  std::int32_t clock_mhz = kUnknownValue;
  bool off = false;
};

struct Line {
  static constexpr std::size_t kItemsMax = 192;
  static constexpr std::size_t kCoresMax = 128;
  static constexpr std::size_t kRailsMax =
      32;  // found by name; more are kept as items all the same
  static_assert(kItemsMax <= 256, "an item's index fits a byte");

  std::array<Item, kItemsMax> item_store;
  std::array<Core, kCoresMax> core_store;
  std::array<std::uint8_t, kRailsMax> rail_store;  // items that are rails
  std::uint32_t item_count = 0;
  std::uint32_t rail_count = 0;
  std::uint32_t core_count = 0;
  std::uint32_t dropped = 0;  // items beyond kItemsMax
  bool has_memory = false;    // a RAM field: it is a line of tegrastats at all
  bool has_time = false;
  std::int64_t time_s = 0;  // as if the board's local time were UTC: the line names no zone

  [[nodiscard]] std::span<const Item> items() const { return {item_store.data(), item_count}; }
  [[nodiscard]] std::span<const Core> cores() const { return {core_store.data(), core_count}; }
  [[nodiscard]] const Item* rail(std::string_view name) const;
  // GR3D, GR3D_FREQ: the GPU under the name of any release; nullptr when the line has none.
  [[nodiscard]] const Item* gpu() const;
  [[nodiscard]] const Item* engine(std::string_view name) const;
  [[nodiscard]] const Item* memory(std::string_view name) const;
};

// Any bytes but newline; `line` is overwritten.
void parse_line(std::string_view text, Line& line);

// The line written back from the parsed values with single blanks. For a line of tegrastats this
// is the text it came from, blanks aside: nothing was lost.
[[nodiscard]] std::string render(const Line& line);

}  // namespace laird::power
