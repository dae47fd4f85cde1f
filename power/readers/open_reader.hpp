// Chooses where readings come from.
#pragma once

#include <memory>
#include <string>

#include "power/readers/nvml/library.hpp"
#include "power/readers/reader.hpp"

namespace laird::power {

struct ReaderOptions {
  // auto, sysfs, tegrastats, recorded, modelled or none. auto takes sysfs where it has a power
  // sensor, else tegrastats where it is installed, else none.
  std::string kind = "auto";
  std::string file;                    // for recorded
  std::string program = "tegrastats";  // for tegrastats
  std::string root;                    // prefix of /sys and /proc, for tests
  DurationNs period_ns = kSecond;
  double speed = 1.0;                 // for recorded
  std::string nvml = nvml::kLibrary;  // for boards whose GPU load comes from NVML
};

[[nodiscard]] Result<std::unique_ptr<Reader>> open_reader(const ReaderOptions& options,
                                                          const Board& board);

}  // namespace laird::power
