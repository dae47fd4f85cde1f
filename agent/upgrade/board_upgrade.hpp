// `laird upgrade`: another version of laird's package on this board, on trial. Root runs it
// (laird-upgrade.service) when the agent has put down what an operator asked for; it believes that
// file no more than the network: the operator's signature is checked again, against the config.
//
// The new version stays if, within the time, the agent answers steadily, still has every task that
// it had, and brings the operator's second word over the link it has made: the same request again.
// Otherwise the package of the version before, which is on the disk, is installed again: that needs
// no network. Whatever ends this program in between (a crash, a power cut) is a reason to go back;
// laird-upgrade-back.service does so with a copy of the program of the version before.
#pragma once

#include <string>

#include "base/time.hpp"

namespace laird::agent {

struct UpgradeOptions {
  std::string config = "/etc/laird/laird.json";
  std::string folder = "/var/lib/laird-upgrade";  // root's own
  DurationNs health = 5 * kMinute;                // for the new version to show that it is well
  DurationNs steady = 10 * kSecond;               // for which the agent must answer without a gap
  bool back = false;                              // only end what a run before left unfinished
};

// The code to exit with: 0 when nothing is to be done or the board has the version; 1 when it
// refused, or went back.
[[nodiscard]] int upgrade_board(const UpgradeOptions& options);

}  // namespace laird::agent
