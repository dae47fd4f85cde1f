// Boards that run, reached by the ssh and scp of this machine: with our terminal, environment and
// agent of keys, for passwords and host keys. No shell of this machine is involved.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

// USER@ADDRESS of plain characters, and none in front that ssh would take for an option.
[[nodiscard]] bool is_destination(const std::string& text);

// Runs it to its end; with `dry_run` says what would be run.
[[nodiscard]] Status run_visibly(const std::vector<std::string>& argv, bool dry_run);

// What a line of shell prints on the board. Bounded in size, not in time: a password may be typed.
[[nodiscard]] Result<std::string> ask_over_ssh(const std::string& at, const std::string& script);

}  // namespace laird::control
