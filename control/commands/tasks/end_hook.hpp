// watch --exec: runs a program for each end of a task, one after the other, without a shell.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// So many ends wait to be told at most.
inline constexpr std::size_t kEndsWaitingMax = 4096;

class EndHook {
 public:
  // A program that takes longer than `most` is killed.
  EndHook(std::string program, DurationNs most) : program_(std::move(program)), most_(most) {}
  ~EndHook();
  EndHook(const EndHook&) = delete;
  EndHook& operator=(const EndHook&) = delete;

  // Whether it can be run: a path, not a name that is looked for in PATH.
  [[nodiscard]] static Status check_program(const std::string& path);
  [[nodiscard]] static bool is_end(const EventView& event);
  // To be told; what cannot be started, fails, or comes when too many wait is said, and not tried
  // again.
  void take(const EventView& event);
  // Looks after the program that runs, and starts the next.
  void go_on();
  [[nodiscard]] bool busy() const { return child_ > 0 || !waiting_.empty(); }
  // Waits until all that was taken has been told.
  void finish();

 private:
  void start(const EventView& event);
  void collect(int status);

  const std::string program_;
  const DurationNs most_;
  std::deque<EventView> waiting_;
  pid_t child_ = 0;
  SteadyTime until_;
  std::string about_;  // the task that the program is told of
};

}  // namespace laird::control
