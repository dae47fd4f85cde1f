// Reads what the inventory found. Files are opened once and read with pread; a value that cannot
// be read is absent from the reading, and a rail that goes away is looked for again.
//
// Not for the agent's loop: a read may hang as long as the bus does. See sysfs_reader.hpp.
#pragma once

#include <string>
#include <vector>

#include "power/model/board.hpp"
#include "power/model/reading.hpp"
#include "power/readers/sysfs/sysfs_inventory.hpp"

namespace laird::power {

// An open file read from its start each time; moves only.
class SampleFile {
 public:
  SampleFile() = default;
  explicit SampleFile(const std::string& path);
  SampleFile(SampleFile&& other) noexcept;
  SampleFile& operator=(SampleFile&& other) noexcept;
  ~SampleFile();

  // The integer at the start of the file; absent on any error (EAGAIN of a gated zone, ENODEV of a
  // rail that went away).
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // Up to `limit` bytes.
  [[nodiscard]] std::string text(std::size_t limit) const;
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class SysfsSampler {
 public:
  SysfsSampler(std::string root, const Board& board);

  // Looks again for channels when there are none, when one stopped reading, or each minute.
  [[nodiscard]] PowerReading sample(TimeNs at);
  [[nodiscard]] const SysfsInventory& inventory() const { return inventory_; }

 private:
  struct OpenChannel {
    Channel channel;
    SampleFile first;
    SampleFile current;
  };

  void rescan(TimeNs at);
  void read_rails(PowerReading& out);
  void read_cpu(PowerReading& out);
  void read_memory(PowerReading& out);

  // While something is missing; longer each time nothing new is found, as a channel may be dead.
  static constexpr DurationNs kRescanFirstNs = 2 * kSecond;
  static constexpr DurationNs kRescanMissingMaxNs = 16 * kSecond;
  static constexpr DurationNs kRescanNs = kMinute;

  std::string root_;
  Board board_;
  SysfsInventory inventory_;
  std::vector<OpenChannel> channels_;
  std::vector<SampleFile> zones_;
  std::vector<SampleFile> cpu_clocks_;
  SampleFile gpu_clock_;
  SampleFile gpu_load_;
  SampleFile stat_;
  SampleFile meminfo_;
  TimeNs scanned_at_ = INT64_MIN / 2;
  bool missing_ = true;
  DurationNs missing_wait_ns_ = kRescanFirstNs / 2;  // doubled by the first look that finds nothing
  std::int64_t cpu_busy_ = -1;
  std::int64_t cpu_total_ = -1;
};

}  // namespace laird::power
