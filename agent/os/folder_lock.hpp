#pragma once

#include <string>

#include "agent/os/loop.hpp"
#include "base/error.hpp"

namespace laird::shell {

// One agent per state folder: two with one identity would each start every task. Held until the
// returned descriptor closes, or the process dies.
[[nodiscard]] Result<Fd> lock_folder(const std::string& folder);

}  // namespace laird::shell
