// Control groups of version 1 (JetPack 4 and 5) for an agent that is not root.
//
// systemd hands a service's groups over to its user on version 2 alone. On version 1 root makes one
// group for the agent in each hierarchy, before the agent starts; what is below is the agent's.
#pragma once

#include <string>

#include "base/error.hpp"
#include "cell/folder.hpp"

namespace laird::cell {

// The group's name in each hierarchy. agent/os/cgroup.cpp looks for it.
inline constexpr const char* kAgentGroup = "laird";

// Makes it below `root`, which is /sys/fs/cgroup. Returns which hierarchies have one now, in words
// ("cpu memory freezer pids"); empty where there is no version 1. Refuses a group of another
// user's.
[[nodiscard]] Result<std::string> make_agent_groups(const std::string& root, Owner agent);

}  // namespace laird::cell
