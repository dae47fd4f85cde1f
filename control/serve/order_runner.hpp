// Runs orders of the page: each is a run of lairctl, so that it does and says what it would in a
// terminal. A few at a time, none for ever, and what they print is bounded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "control/serve/orders.hpp"
#include "os/fd.hpp"

namespace laird::control::serve {

inline constexpr std::size_t kOrdersMax = 4;
inline constexpr std::size_t kOrderOutputMax = 16 * 1024;
inline constexpr DurationNs kOrderTimeMax =
    3 * kMinute;  // submit --any may wait for a command to die

class OrderRunner {
 public:
  struct Done {
    std::uint64_t number = 0;
    int code = 0;  // as lairctl exits
    std::string text;
  };

  // `access`: the options that say where a command goes.
  OrderRunner(std::string program, std::vector<std::string> access)
      : program_(std::move(program)), access_(std::move(access)) {}
  ~OrderRunner();
  OrderRunner(const OrderRunner&) = delete;
  OrderRunner& operator=(const OrderRunner&) = delete;

  // Its number. kFull when too many are under way.
  [[nodiscard]] Result<std::uint64_t> start(const Order& order, TimeNs now);
  // Files that are readable when there is something for collect().
  [[nodiscard]] std::vector<int> files() const;
  // Reads what was printed, and gives those that have ended.
  [[nodiscard]] std::vector<Done> collect(TimeNs now);

 private:
  struct Run {
    pid_t pid = -1;
    Fd output;
    std::string text;
    TimeNs until = 0;
  };
  static bool read_some(Run& run);
  [[nodiscard]] static Done ended(std::uint64_t number, Run& run, bool in_time);

  std::string program_;
  std::vector<std::string> access_;
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t last_ = 0;
};

}  // namespace laird::control::serve
