#include "config/units.hpp"

#include <array>
#include <span>

namespace laird::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

constexpr std::array kDurations = {
    Unit{"d", kDay},          Unit{"h", kHour},         Unit{"m", kMinute}, Unit{"s", kSecond},
    Unit{"ms", kMillisecond}, Unit{"us", kMicrosecond}, Unit{"ns", 1}};
constexpr std::array kSizes = {
    Unit{"GiB", 1 << 30}, Unit{"GB", 1'000'000'000}, Unit{"MiB", 1 << 20}, Unit{"MB", 1'000'000},
    Unit{"KiB", 1 << 10}, Unit{"kB", 1'000},         Unit{"B", 1}};
constexpr std::array kPowers = {Unit{"kW", 1'000'000}, Unit{"W", 1'000}, Unit{"mW", 1}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Decimal text times a scale in integers, so "0.1s" is exactly 100,000,000 ns.
Result<std::int64_t> parse_quantity(std::string_view text, std::span<const Unit> units,
                                    std::string_view example) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalid, "'" + std::string(text.substr(0, 40)) + "' " + std::string(why) +
                                    "; write a number and a unit, like " + std::string(example));
  };
  std::size_t at = 0;
  std::int64_t whole = 0;
  while (at < text.size() && is_digit(text[at])) {
    if (whole > (INT64_MAX - 9) / 10) return refuse("is too large");
    whole = whole * 10 + (text[at] - '0');
    ++at;
  }
  if (at == 0) return refuse("does not start with a number");
  std::int64_t fraction = 0;
  std::int64_t fraction_scale = 1;
  if (at < text.size() && text[at] == '.') {
    const std::size_t dot = at++;
    while (at < text.size() && is_digit(text[at])) {
      if (fraction_scale >= 1'000'000'000) return refuse("has more than nine decimals");
      fraction = fraction * 10 + (text[at] - '0');
      fraction_scale *= 10;
      ++at;
    }
    if (at == dot + 1) return refuse("has no digit after the point");
  }
  while (at < text.size() && text[at] == ' ') ++at;
  const std::string_view unit_name = text.substr(at);
  if (unit_name.empty()) return refuse("has no unit");
  for (const Unit& unit : units) {
    if (unit.name != unit_name) continue;
    std::int64_t out = 0;
    if (__builtin_mul_overflow(whole, unit.scale, &out)) return refuse("is too large");
    std::int64_t part = 0;
    // A fraction below one unit is at most 1e9 * scale / 10; scale above 9.2e9 is split first.
    if (unit.scale % fraction_scale == 0) {
      part = fraction * (unit.scale / fraction_scale);
    } else {
      __extension__ using Wide = __int128;
      part = static_cast<std::int64_t>(static_cast<Wide>(fraction) * unit.scale / fraction_scale);
    }
    if (__builtin_add_overflow(out, part, &out)) return refuse("is too large");
    return out;
  }
  std::string known;
  for (const Unit& unit : units) {
    if (!known.empty()) known += ", ";
    known += unit.name;
  }
  return refuse("has an unknown unit (known: " + known + ")");
}

std::string format_quantity(std::int64_t value, std::span<const Unit> units) {
  if (value == 0) return "0" + std::string(units.size() > 3 ? units[3].name : units[1].name);
  for (const Unit& unit : units) {
    if (value % unit.scale == 0) return std::to_string(value / unit.scale) + std::string(unit.name);
  }
  return std::to_string(value);
}

}  // namespace

Result<DurationNs> parse_duration(std::string_view text) {
  return parse_quantity(text, kDurations, "\"90s\", \"500ms\" or \"2h\"");
}
Result<std::int64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizes, "\"512MB\" or \"4GiB\"");
}
Result<std::int64_t> parse_power(std::string_view text) {
  return parse_quantity(text, kPowers, "\"15W\" or \"7500mW\"");
}

std::string format_duration(DurationNs value) { return format_quantity(value, kDurations); }
std::string format_size(std::int64_t bytes) { return format_quantity(bytes, kSizes); }
std::string format_power(std::int64_t milliwatts) { return format_quantity(milliwatts, kPowers); }

}  // namespace laird::config
