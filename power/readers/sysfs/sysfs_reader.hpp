// Live readings from sysfs. The reading happens on a thread of its own, as a read can hang for as
// long as the I2C bus does; the loop sees a mailbox of at most kMailboxMax readings.
#pragma once

#include <memory>
#include <string>

#include "power/readers/reader.hpp"

namespace laird::power {

class SysfsReader final : public Reader {
 public:
  SysfsReader(std::string root, const Board& board, DurationNs period_ns);
  // Returns within a fraction of a second also when a read hangs: the thread is then left behind
  // with everything it uses.
  ~SysfsReader() override;

  [[nodiscard]] std::optional<PowerReading> poll(TimeNs now) override;
  [[nodiscard]] int fd() const override;
  [[nodiscard]] TimeNs next_poll_at(TimeNs now) const override;
  [[nodiscard]] ReaderStatus status(TimeNs now) const override;

  static constexpr std::size_t kMailboxMax = 16;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  DurationNs period_ns_;
};

}  // namespace laird::power
