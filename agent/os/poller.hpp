// Waits until a file descriptor is ready or time is up. The Loop waits through one, so that a test
// can put virtual time in the place of the machine's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::agent {

class Poller {
 public:
  struct Ready {
    int fd = -1;
    std::uint32_t events = 0;
  };
  // At most so many descriptors are told of in one round; the next round tells of the others.
  static constexpr std::size_t kReadyMax = 64;
  using Round = std::array<Ready, kReadyMax>;

  virtual ~Poller() = default;
  // EPOLLIN and friends, until remove(fd).
  [[nodiscard]] virtual Status add(int fd, std::uint32_t events) = 0;
  virtual void change(int fd, std::uint32_t events) = 0;
  virtual void remove(int fd) = 0;
  // Waits for at most `wait_max`; how many of `round` are filled.
  [[nodiscard]] virtual Result<std::size_t> wait(DurationNs wait_max, Round& round) = 0;
};

// Asks the kernel.
[[nodiscard]] Result<std::unique_ptr<Poller>> open_epoll();

}  // namespace laird::agent
