// A disk under every SQLite file of this process: it can be full, and a power cut takes from it
// whatever was written and not yet synced. The files lie in a real folder, best one in memory.
#pragma once

#include <string>

namespace laird::test {

class FakeDisk {
 public:
  // SQLite writes through it from now on; once in a process.
  static void install();

  // Writes below the folder fail with "disk full".
  static void set_full(const std::string& folder, bool full);
  // From now on nothing below the folder is written, and nobody is told. Call before the process
  // that has its files open is taken down, then settle_power_cut() after it.
  static void cut_power(const std::string& folder);
  static void settle_power_cut(const std::string& folder);
};

}  // namespace laird::test
