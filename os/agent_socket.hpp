// How a trainer finds the agent that started it: an open socket whose number is in LAIRD_FD, or, in
// a container, a socket to connect to, whose path is in LAIRD_TRAINER_SOCKET.
#pragma once

#include <optional>

#include "base/error.hpp"

namespace laird {

// nullopt: nobody's trainer. An error says which variable is wrong.
[[nodiscard]] std::optional<Result<int>> find_agent();

}  // namespace laird
