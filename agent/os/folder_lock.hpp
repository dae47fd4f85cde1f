#pragma once

#include <string>

#include "base/error.hpp"
#include "os/fd.hpp"

namespace laird::agent {

// One agent per state folder: two with one identity would each start every task. Held until the
// returned descriptor closes, or the process dies.
[[nodiscard]] Result<Fd> lock_folder(const std::string& folder);

}  // namespace laird::agent
