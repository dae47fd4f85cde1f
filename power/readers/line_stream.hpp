// Cuts a byte stream into lines with bounded memory: a line longer than the limit is counted and
// skipped to its newline. Lines that lie whole inside a block are passed on without copying.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace laird::power {

inline constexpr std::size_t kLineBytesMax = 64 * 1024;

class LineStream {
 public:
  // Calls `on_line(std::string_view)` for each complete line of `block`, newline left out.
  template <class F>
  void feed(std::string_view block, F&& on_line) {
    while (!block.empty()) {
      const void* found = std::memchr(block.data(), '\n', block.size());
      if (found == nullptr) {
        hold(block);
        return;
      }
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
      const std::string_view part = block.substr(0, length);
      block.remove_prefix(length + 1);
      if (pending_.empty() && !skipping_) {
        if (part.size() > kLineBytesMax) {
          ++too_long_;
        } else {
          on_line(part);
        }
        continue;
      }
      hold(part);
      if (!skipping_) on_line(std::string_view(pending_));
      skipping_ = false;
      pending_.clear();
    }
  }

  // The last line of a stream that does not end in a newline.
  template <class F>
  void finish(F&& on_line) {
    if (!pending_.empty() && !skipping_) on_line(std::string_view(pending_));
    skipping_ = false;
    pending_.clear();
  }

  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }

 private:
  void hold(std::string_view part) {
    if (skipping_) return;
    if (pending_.size() + part.size() > kLineBytesMax) {
      ++too_long_;
      skipping_ = true;
      pending_.clear();
      return;
    }
    pending_ += part;
  }

  std::string pending_;
  bool skipping_ = false;
  std::uint64_t too_long_ = 0;
};

}  // namespace laird::power
