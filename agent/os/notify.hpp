// systemd's notification protocol (sd_notify): ready, alive, stopping. Without systemd it does
// nothing. And whether what is written to a descriptor ends in systemd's log.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"

namespace laird::agent {

// Whether JOURNAL_STREAM names this very descriptor: its reader then has the time already, and
// takes "<4>" at a line's start for the line's priority.
[[nodiscard]] bool leads_to_journald(int fd);

class Notifier {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC, and takes them out of the environment.
  Notifier();

  // "READY=1", "STATUS=3 tasks"; dropped when systemd does not read it.
  void say(std::string_view text) const;
  // Puts both back into the environment, for the program that takes this one's place.
  void hand_on() const;
  // How often to say "WATCHDOG=1"; 0: nobody watches.
  [[nodiscard]] DurationNs watchdog_every() const { return watchdog_every_; }

 private:
  std::string socket_;
  DurationNs watchdog_every_ = 0;
};

}  // namespace laird::agent
