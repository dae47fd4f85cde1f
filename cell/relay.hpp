// Carries the lines between a trainer in a container and its agent: the trainer connects to a
// socket in a folder that it sees, once, and what either says goes to the other.
#pragma once

#include <poll.h>

#include <array>
#include <string>

#include "os/fd.hpp"

namespace laird::cell {

class Relay {
 public:
  Relay() = default;  // of nobody
  Relay(Fd listener, Fd agent);

  static constexpr std::size_t kWaits = 2;
  // What is to be waited for: the trainer's side, then the agent's. -1 where there is nothing.
  [[nodiscard]] std::array<pollfd, kWaits> waits() const;
  // Takes and gives what can be without waiting.
  void carry();
  // The trainer has ended: hands on what it said last, and closes.
  void finish();

 private:
  static constexpr std::size_t kHeldMax = 64 * 1024;
  struct Way {
    std::string held;
    bool has_ended = false;  // whoever speaks here says no more
  };

  void accept_trainer();
  // False when one of the two is gone.
  static bool move(int from, int to, Way& way);

  Fd listener_;
  Fd agent_;
  Fd trainer_;
  Way to_agent_;
  Way to_trainer_;
};

}  // namespace laird::cell
