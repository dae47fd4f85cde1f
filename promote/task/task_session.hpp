// A promotion under an agent: speaks the trainer protocol for a `build` that runs as a process of
// its own, which is stopped (SIGSTOP) whenever the task holds no grant. It counts the hundredths of
// a second that the build was let run for.
#pragma once

#include <string>
#include <vector>

namespace laird::promote {

struct TaskOptions {
  std::string program;             // this program, to start the build with
  std::vector<std::string> build;  // options of `build` that the board's file gives
};

// On the connected socket `fd` until stop, error or the agent is gone; the exit code.
[[nodiscard]] int run_task(int fd, const TaskOptions& options);

}  // namespace laird::promote
