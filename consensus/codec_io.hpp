// The numbers and lists of the ledger's messages, as bytes (docs/wire-ledger.md). A Writer takes
// values, a Reader fills them in; a function that is given one or the other describes both
// directions of a message.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/archive.hpp"
#include "consensus/counters.hpp"

namespace laird::consensus::wire {

class Writer {
 public:
  static constexpr bool kReading = false;
  explicit Writer(Bytes& out) : out_(out) {}
  void byte(std::uint8_t v) { out_.push_back(v); }
  void varint(std::uint64_t v) {
    while (v >= 0x80) {
      byte(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    byte(static_cast<std::uint8_t>(v));
  }
  void u8(const std::uint8_t& v) { byte(v); }
  void u32(const std::uint32_t& v, std::uint32_t = UINT32_MAX) { varint(v); }
  void u64(const std::uint64_t& v) { varint(v); }
  // A digest is spread over all its bits: eight bytes, the low ones first.
  void digest(const std::uint64_t& v) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(v >> shift));
  }
  void parts(const Parts& v) { varint(static_cast<std::uint64_t>(v)); }
  void zigzag(const std::int64_t& v) {
    varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void count(std::size_t v, std::size_t) { varint(v); }
  [[nodiscard]] bool failed() const { return false; }

 private:
  Bytes& out_;
};

class Reader {
 public:
  static constexpr bool kReading = true;
  explicit Reader(std::string_view in) : in_(in) {}
  [[nodiscard]] std::uint8_t byte() {
    if (in_.empty()) {
      failed_ = true;
      return 0;
    }
    const std::uint8_t v = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }
  [[nodiscard]] std::uint64_t varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = byte();
      const std::uint64_t digit = b & 0x7FU;
      if (shift == 63 && digit > 1) failed_ = true;
      v |= digit << shift;
      if ((b & 0x80U) == 0) {
        // A leading zero would be a second encoding of the same value.
        if (digit == 0 && shift > 0) failed_ = true;
        return failed_ ? 0 : v;
      }
    }
    failed_ = true;
    return 0;
  }
  void u8(std::uint8_t& v) { v = byte(); }
  void u32(std::uint32_t& v, std::uint32_t limit = UINT32_MAX) {
    const std::uint64_t wide = varint();
    if (wide > limit) failed_ = true;
    v = failed_ ? 0 : static_cast<std::uint32_t>(wide);
  }
  void u64(std::uint64_t& v) {
    v = varint();
    if (v > kCountMax) failed_ = true;
    if (failed_) v = 0;
  }
  void digest(std::uint64_t& v) {
    v = 0;
    for (int shift = 0; shift < 64; shift += 8) v |= static_cast<std::uint64_t>(byte()) << shift;
    if (failed_) v = 0;
  }
  void parts(Parts& v) {
    const std::uint64_t wide = varint();
    if (wide > static_cast<std::uint64_t>(kNumberMax)) failed_ = true;
    v = failed_ ? 0 : static_cast<Parts>(wide);
  }
  void zigzag(std::int64_t& v) {
    const std::uint64_t wide = varint();
    v = static_cast<std::int64_t>(wide >> 1) ^ -static_cast<std::int64_t>(wide & 1);
    if (v > kNumberMax || v < -kNumberMax) failed_ = true;
    if (failed_) v = 0;
  }
  [[nodiscard]] std::size_t count(std::size_t, std::size_t limit) {
    const std::uint64_t n = varint();
    // Every element takes at least one byte.
    if (n > limit || n > in_.size()) failed_ = true;
    return failed_ ? 0 : static_cast<std::size_t>(n);
  }
  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

 private:
  std::string_view in_;
  bool failed_ = false;
};

template <class Io, class T, class F>
void list(Io& io, T& items, std::size_t limit, F each) {
  if constexpr (Io::kReading) {
    items.clear();
    items.resize(io.count(0, limit));
  } else {
    io.count(items.size(), limit);
  }
  for (auto& item : items) {
    each(item);
    if (io.failed()) return;
  }
}

}  // namespace laird::consensus::wire
