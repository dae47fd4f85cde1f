// Where power readings come from, seen from the agent's loop: nothing here ever blocks.
//
// A reader whose device can hang (sysfs behind a stuck I2C bus) does its reading on a thread of its
// own and hands results over through a small mailbox; one that follows a process reads its pipe
// without blocking. Instants are those of the caller's clock, which does not go back.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "power/model/board.hpp"
#include "power/model/reading.hpp"

namespace laird::power {

struct ReaderStatus {
  Source source = Source::kNone;
  bool working = false;  // a reading came within three periods
  bool ended = false;    // no reading will come any more
  std::string detail;    // for people: what is read, or why nothing comes
  std::string gpu;       // where GPU load comes from, or why not; empty: as the rest
};

class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  // The next reading that is due, if any; call again until it gives none.
  [[nodiscard]] virtual std::optional<PowerReading> poll(TimeNs now) = 0;
  // Becomes readable when poll may have something; -1 for none, then wake at next_poll_at.
  [[nodiscard]] virtual int fd() const { return -1; }
  [[nodiscard]] virtual TimeNs next_poll_at(TimeNs now) const = 0;
  [[nodiscard]] virtual ReaderStatus status(TimeNs now) const = 0;
};

// The clock of the live readers: the one that counts suspend, as the agent's loop does.
[[nodiscard]] TimeNs monotonic_now();

}  // namespace laird::power
