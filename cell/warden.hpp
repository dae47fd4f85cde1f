// The process outside of one cell: takes the agent's request, makes the cell with the strongest
// guards that the system allows, hands orders in and reports out, and ends the cell when either
// side is gone.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "cell/folder.hpp"
#include "cell/message.hpp"

namespace laird::cell {

struct Keeping {
  int control = 0;  // the agent's connection
  // What is to be done about a request: as asked, or by an allow-list.
  std::function<Result<Spec>(const Request&)> resolve;
  // Whose folders are given to trainers, and whose control groups they may be put into.
  Owner agent;
};

// Until the cell has ended; the program's exit code.
[[nodiscard]] int keep(const Keeping& keeping);

}  // namespace laird::cell
