// SHA-256, for files that people and other programs check by the same number (sha256sum).
//
// Source: FIPS PUB 180-4, section 6.2. Input is taken in pieces of any size.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace laird {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // 64 hexadecimal digits. Nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  void block(const unsigned char* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> held_{};
  std::size_t held_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

[[nodiscard]] std::string sha256_of(std::string_view bytes);

}  // namespace laird
