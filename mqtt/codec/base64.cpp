#include "mqtt/codec/base64.hpp"

#include <array>
#include <cstdint>

namespace laird::mqtt {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t kNoDigit = 255;

constexpr std::array<std::uint8_t, 256> digits() {
  std::array<std::uint8_t, 256> out{};
  out.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    out[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return out;
}
constexpr std::array<std::uint8_t, 256> kDigits = digits();

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t three =
        byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
    const std::size_t left = bytes.size() - i;
    out += kAlphabet[three >> 18];
    out += kAlphabet[three >> 12 & 63];
    out += left > 1 ? kAlphabet[three >> 6 & 63] : '=';
    out += left > 2 ? kAlphabet[three & 63] : '=';
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return fail(Code::kInvalid, "base64 text has a length that is a multiple of 4");
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t four = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const std::uint8_t digit = pad ? 0 : kDigits[static_cast<std::uint8_t>(text[i])];
    if (digit == kNoDigit) {
      return fail(Code::kInvalid, "a character that base64 does not have");
    }
    four = four << 6 | digit;
    if (i % 4 != 3) continue;
    const std::size_t kept = i + 1 == text.size() ? 3 - padding : 3;
    // The bits under the padding must be zero, or two texts would mean the same bytes.
    if ((kept == 2 && (four & 0xFF) != 0) || (kept == 1 && (four & 0xFFFF) != 0)) {
      return fail(Code::kInvalid, "base64 text whose last bits are not zero");
    }
    out += static_cast<char>(four >> 16 & 0xFF);
    if (kept > 1) out += static_cast<char>(four >> 8 & 0xFF);
    if (kept > 2) out += static_cast<char>(four & 0xFF);
    four = 0;
  }
  return out;
}

}  // namespace laird::mqtt
