// Splits a byte stream into lines within a fixed bound, so that no writer can grow the agent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace laird {

class LineBuffer {
 public:
  explicit LineBuffer(std::size_t line_max) : line_max_(line_max) {}

  // Calls take(line) for each complete line. A line beyond the bound is cut there; the rest of it
  // up to its newline is dropped, and overlong() counts it.
  template <class Take>
  void feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      const std::size_t room = line_max_ - held_.size();
      if (part.size() > room && !dropping_) {
        held_.append(part.substr(0, room));
        dropping_ = true;
        ++overlong_;
      } else if (!dropping_) {
        held_.append(part);
      }
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      take(std::string_view(held_), dropping_);
      held_.clear();
      dropping_ = false;
    }
  }

  [[nodiscard]] std::size_t overlong() const { return overlong_; }

 private:
  std::size_t line_max_;
  std::string held_;
  bool dropping_ = false;
  std::size_t overlong_ = 0;
};

}  // namespace laird
