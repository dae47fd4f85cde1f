#include "base/harmless.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace laird {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode 15: general categories Cc, Cf, Zl and Zp.
constexpr std::array kUnsafe = {
    Range{0x0000, 0x001F},   Range{0x007F, 0x009F},   Range{0x00AD, 0x00AD},
    Range{0x0600, 0x0605},   Range{0x061C, 0x061C},   Range{0x06DD, 0x06DD},
    Range{0x070F, 0x070F},   Range{0x0890, 0x0891},   Range{0x08E2, 0x08E2},
    Range{0x180E, 0x180E},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x206F},   Range{0xFEFF, 0xFEFF},   Range{0xFFF9, 0xFFFB},
    Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD}, Range{0x13430, 0x1343F},
    Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A}, Range{0xE0000, 0xE007F},
};

bool is_unsafe(std::uint32_t c) {
  return std::any_of(kUnsafe.begin(), kUnsafe.end(),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// The character at the start of a text that is not empty.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  static constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes, true};
}

// How many bytes of the text are one of the sequences that painted() makes: ESC [ digits m.
std::size_t colour_at(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", 2);
  const bool colour = end != std::string_view::npos && end > 2 && end <= 4 && text[end] == 'm';
  return colour ? end + 1 : 0;
}

// "\\u202e"
std::string escape_of(std::uint32_t unit) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 0xFU];
  return out;
}

std::string escaped(std::uint32_t code) {
  if (code < 0x10000) return escape_of(code);
  const std::uint32_t rest = code - 0x10000;
  return escape_of(0xD800 + (rest >> 10)) + escape_of(0xDC00 + (rest & 0x3FF));
}

// `replaced` tells what stands for an unsafe character.
template <class Replaced>
std::string cleaned(std::string_view text, const Replaced& replaced) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (!c.valid) {
      out += '?';
    } else if (is_unsafe(c.code)) {
      out += replaced(c.code);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string harmless(std::string_view text) {
  return cleaned(text, [](std::uint32_t) { return std::string(1, ' '); });
}

std::string harmless_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t stays = text[0] == '\n' || text[0] == '\t' ? 1 : colour_at(text);
    const std::size_t until =
        stays > 0 ? stays : std::min(text.find_first_of("\n\t\033", 1), text.size());
    out += stays > 0 ? std::string(text.substr(0, until)) : harmless(text.substr(0, until));
    text.remove_prefix(until);
  }
  return out;
}

std::string harmless_json(std::string_view text) {
  return cleaned(
      text, [](std::uint32_t code) { return code == '\n' ? std::string("\n") : escaped(code); });
}

}  // namespace laird
