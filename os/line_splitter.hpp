// Cuts a byte stream into lines with bounded memory, so that no writer can grow the reader. A line
// that lies whole inside a block is handed on without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace laird {

// What becomes of a line beyond the bound. The rest of it, up to its newline, is dropped either
// way.
enum class Overlong : std::uint8_t {
  kCut,   // its first bytes, as many as the bound, are handed on
  kSkip,  // nothing of it is
};

class LineSplitter {
 public:
  // `line_max` is in bytes, without the newline, and above 0.
  LineSplitter(std::size_t line_max, Overlong policy) : line_max_(line_max), policy_(policy) {}

  // The next complete line, taken off the front of `block`, newline left out. Without one the rest
  // of the block is held and `block` comes back empty. The view is good until the next call, and no
  // longer than the block.
  [[nodiscard]] std::optional<std::string_view> next(std::string_view& block) {
    forget_given();
    while (!block.empty()) {
      const void* found = std::memchr(block.data(), '\n', block.size());
      if (found == nullptr) {
        hold(block);
        block = {};
        return std::nullopt;
      }
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
      const std::string_view part = block.substr(0, length);
      block.remove_prefix(length + 1);
      if (held_.empty() && !dropping_ && part.size() <= line_max_) {
        was_cut_ = false;
        return part;
      }
      hold(part);
      if (const std::optional<std::string_view> line = give()) return line;
    }
    return std::nullopt;
  }

  // The last line of a stream that does not end in a newline.
  [[nodiscard]] std::optional<std::string_view> finish() {
    forget_given();
    if (held_.empty()) {
      dropping_ = false;
      return std::nullopt;
    }
    return give();
  }

  // Whether the line handed on last is the beginning of an overlong one.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  // Calls take(line), or take(line, was_cut), for each complete line of `block`.
  template <class Take>
  void feed(std::string_view block, Take&& take) {
    while (const std::optional<std::string_view> line = next(block)) hand_on(*line, take);
  }
  template <class Take>
  void finish(Take&& take) {
    if (const std::optional<std::string_view> line = finish()) hand_on(*line, take);
  }

  // Lines beyond the bound; one counts as soon as it has passed it.
  [[nodiscard]] std::uint64_t overlong() const { return overlong_; }

 private:
  template <class Take>
  void hand_on(std::string_view line, Take& take) {
    if constexpr (std::is_invocable_v<Take&, std::string_view, bool>) {
      take(line, was_cut_);
    } else {
      take(line);
    }
  }

  void hold(std::string_view part) {
    if (dropping_) return;
    const std::size_t room = line_max_ - held_.size();
    if (part.size() <= room) {
      held_.append(part);
      return;
    }
    dropping_ = true;
    ++overlong_;
    if (policy_ == Overlong::kCut) {
      held_.append(part.substr(0, room));
    } else {
      held_.clear();
    }
  }

  // The held line is complete.
  std::optional<std::string_view> give() {
    was_cut_ = dropping_;
    dropping_ = false;
    if (was_cut_ && policy_ == Overlong::kSkip) return std::nullopt;
    given_ = true;
    return std::string_view(held_);
  }

  void forget_given() {
    if (!given_) return;
    held_.clear();
    given_ = false;
  }

  std::size_t line_max_;
  Overlong policy_;
  std::string held_;
  bool given_ = false;     // held_ was handed on
  bool dropping_ = false;  // the line at hand has passed the bound
  bool was_cut_ = false;
  std::uint64_t overlong_ = 0;
};

}  // namespace laird
