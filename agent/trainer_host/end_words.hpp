// What is told of a trainer that ended though nobody had told it to: the cause in words, so that
// nobody has to log in to the board to find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/os/cgroup.hpp"

namespace laird::agent {

// The last bytes that a trainer printed, at most kMost of them.
class LastWords {
 public:
  static constexpr std::size_t kMost = 512;
  void add(std::string_view printed);
  // The last line that is not empty, without the spaces around it.
  [[nodiscard]] std::string_view line() const;

 private:
  std::string bytes_;
};

struct TrainerEnd {
  std::int32_t code = 0;                // as of its exit; -signal when a signal ended it
  std::int64_t memory_limit_bytes = 0;  // 0: it had none
  MemoryUse memory;
  std::string_view last_line;  // that it printed
};

// Empty when there is nothing to tell beyond the code, which the core tells by itself.
[[nodiscard]] std::string end_words(const TrainerEnd& end);

}  // namespace laird::agent
