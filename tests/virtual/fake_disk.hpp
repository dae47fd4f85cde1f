// A disk under every SQLite file of this process: it can be full, fail, refuse or be slow, and a
// power cut takes from it whatever was written and not yet synced. The files lie in a real folder,
// best one in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace laird::test {

class FakeDisk {
 public:
  // SQLite writes through it from now on; once in a process.
  static void install();

  enum class Fault : std::uint8_t {
    kNone,
    kFull,      // writes fail with "disk full"
    kIo,        // writes and syncs fail
    kReadOnly,  // writes are refused
    kSlow,      // writes call `stand_still` before they are done
  };
  static void set_fault(const std::string& folder, Fault fault,
                        std::function<void()> stand_still = {});
  // Calls `meet` before the write of that number below the folder, counted from now on.
  static void before_write(const std::string& folder, std::uint64_t number,
                           std::function<void()> meet);
  // Writes below the folder since before_write().
  [[nodiscard]] static std::uint64_t writes(const std::string& folder);
  // From now on nothing below the folder is written, and nobody is told. Call before the process
  // that has its files open is taken down, then settle_power_cut() after it.
  static void cut_power(const std::string& folder);
  static void settle_power_cut(const std::string& folder);
};

}  // namespace laird::test
