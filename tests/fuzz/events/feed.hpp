// Hands out the fuzzer's bytes as small choices and numbers; zeros once they are used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace laird::fuzz {

class Feed {
 public:
  Feed(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  [[nodiscard]] bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // One of `count` choices, at most 256.
  std::uint32_t below(std::uint32_t count) { return byte() % count; }
  std::uint64_t word() {
    std::uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8 | byte();
    return out;
  }
  std::string_view rest() {
    const std::string_view out(reinterpret_cast<const char*>(data_), left_);
    data_ += left_;
    left_ = 0;
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace laird::fuzz
