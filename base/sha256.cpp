#include "base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace laird {
namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::block(const unsigned char* bytes) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = std::uint32_t{bytes[4 * t]} << 24U | std::uint32_t{bytes[4 * t + 1]} << 16U |
           std::uint32_t{bytes[4 * t + 2]} << 8U | std::uint32_t{bytes[4 * t + 3]};
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t a = w[t - 15];
    const std::uint32_t b = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) + w[t - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U);
  }
  std::array<std::uint32_t, 8> s = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t e = s[4];
    const std::uint32_t a = s[0];
    const std::uint32_t one = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & s[5]) ^ (~e & s[6])) + kRound[t] + w[t];
    const std::uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                              ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < s.size(); ++i) state_[i] += s[i];
}

void Sha256::add(std::string_view bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (held_bytes_ == 0 && bytes.size() >= held_.size()) {
      block(reinterpret_cast<const unsigned char*>(bytes.data()));
      bytes.remove_prefix(held_.size());
      continue;
    }
    const std::size_t n = std::min(held_.size() - held_bytes_, bytes.size());
    std::memcpy(held_.data() + held_bytes_, bytes.data(), n);
    bytes.remove_prefix(n);
    held_bytes_ += n;
    if (held_bytes_ == held_.size()) {
      block(held_.data());
      held_bytes_ = 0;
    }
  }
}

std::string Sha256::hex() {
  const std::uint64_t bits = bytes_ * 8;
  const std::size_t zeros = (held_bytes_ < 56 ? 55 : 119) - held_bytes_;
  std::string end(1, '\x80');
  end.append(zeros, '\0');
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    end.push_back(static_cast<char>(bits >> (shift - 8) & 0xFFU));
  }
  add(end);
  std::string out;
  for (const std::uint32_t word : state_) {
    for (unsigned shift = 32; shift > 0; shift -= 4) {
      out.push_back("0123456789abcdef"[word >> (shift - 4) & 0xFU]);
    }
  }
  return out;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace laird
