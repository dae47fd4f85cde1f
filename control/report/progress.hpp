// Tells how far it is, once it has taken longer than a second: on a terminal in one line, elsewhere
// now and then a line.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/time.hpp"
#include "os/clock.hpp"

namespace laird::control {

class Progress {
 public:
  // May be called from several threads.
  void see(const std::string& what, std::uint64_t events);
  // The line on a terminal goes; messages may follow.
  void clear();
  // Says how long it took, if that was longer than a second.
  void end(std::uint64_t events);

 private:
  std::mutex mutex_;
  SystemClock clock_;
  TimeNs begun_ = clock_.boot_ns();
  TimeNs told_ = 0;
  bool shown_ = false;
};

}  // namespace laird::control
