// SHA-256, for names of things by their content: which instance a plan was made for.
//
// Source: FIPS 180-4 (NIST, 2015), section 6.2. Not for secrets: mqtt/sign has OpenSSL for those.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace laird {

[[nodiscard]] std::array<std::uint8_t, 32> sha256(std::string_view bytes);
// The first `digits` (at most 64) hexadecimal digits of it.
[[nodiscard]] std::string sha256_hex(std::string_view bytes, std::size_t digits = 64);

}  // namespace laird
