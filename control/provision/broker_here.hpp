// The broker's folder put into place on the broker's own machine, with Debian's mosquitto.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

struct BrokerInstalled {
  std::string at;                    // where the folder stands
  std::vector<std::string> changed;  // files that were written; none when all was there
  bool started = false;              // by systemd; without one somebody has to
};

// Copies the folder to where its files name each other by, for mosquitto's user alone, puts its
// mosquitto.conf in the place of Debian's, which is kept as mosquitto.conf.before-laird, and
// restarts the service. Needs root.
[[nodiscard]] Result<BrokerInstalled> install_broker_here(const std::string& folder);

}  // namespace laird::control
