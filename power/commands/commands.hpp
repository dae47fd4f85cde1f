// The commands `power watch|parse|report|metrics` and `board`, for any program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::cli {
class Command;
}

namespace laird::power {

// What `board --selftest` is asked for.
struct SelftestWish {
  std::string root;  // prefix of /sys, /proc and /etc of the board
  std::string tegrastats = "tegrastats";
  std::string priv;  // laird-priv; empty: where it is installed
  std::string report = "laird-selftest.json";
  DurationNs measuring = 20 * kSecond;  // how long meters are compared
  DurationNs training = 2 * kMinute;
  std::vector<std::string> only;  // its parts; empty: all
};

// Who carries it out, as this room knows no agent; its exit code.
using Selftest = std::function<int(const SelftestWish&, const MachineIdentity&, const Detection&)>;
// `board --gpu-check`, as JSON or not; its exit code.
using GpuCheck = std::function<int(bool)>;

// Adds them to `app`; running one leaves 0 (done), 1 (failed) or 2 (wrong use) in `exit_code`,
// which must outlive the parse.
void add_power_commands(cli::Command& app, int& exit_code, Selftest selftest, GpuCheck gpu_check);

}  // namespace laird::power
