// What an operator asked for, as the agent puts it down for root: the signed envelope, as it came.
#pragma once

#include <string>
#include <string_view>

#include "agent/settings/settings.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::agent {

struct UpgradeRequested {
  std::string id;  // of the command
  std::string by;
  std::string version;
};

// Where the agent puts it: below its state folder.
[[nodiscard]] std::string upgrade_request_path(const std::string& state_dir);
// The envelope judged by the board's own config: form, signature, freshness, addressee, right.
[[nodiscard]] Result<UpgradeRequested> judged_upgrade(std::string_view envelope,
                                                      const Settings& settings, TimeNs wall_ns);

}  // namespace laird::agent
