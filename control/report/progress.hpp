// Tells how far it is, once it has taken longer than a second: on a terminal in one line, elsewhere
// now and then a line.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/time.hpp"

namespace laird::control {

class Progress {
 public:
  // On standard error.
  Progress();
  Progress(std::function<TimeNs()> clock, std::function<void(const std::string&)> write,
           bool terminal);

  // May be called from several threads.
  void see(const std::string& what, std::uint64_t events);
  // The line on a terminal goes; messages may follow.
  void clear();
  // Says how long it took, if that was longer than a second.
  void end(std::uint64_t events);

 private:
  std::mutex mutex_;
  const std::function<TimeNs()> clock_;
  const std::function<void(const std::string&)> write_;
  const bool terminal_;
  const TimeNs begun_;
  TimeNs told_ = 0;
  bool shown_ = false;
};

}  // namespace laird::control
