// A trainer's cell by the board's own file: for the agent, which asks for it, and for the
// laird-cell that root starts, which believes the file alone.
#pragma once

#include <string>

#include "agent/settings/settings.hpp"
#include "cell/message.hpp"

namespace laird::cell {

inline constexpr const char* kDefaultSocket = "/run/laird-cell/laird-cell.sock";

// Without a program when `trainer` is null: to try the guards.
[[nodiscard]] Spec spec_of(const agent::Settings& settings, const std::string& config_path,
                           const agent::TrainerProgram* trainer, const std::string& task,
                           std::int64_t memory_bytes, bool check = false);

// What a request means by the file at `config_path`, which must be root's, and changed by nobody
// else: of the request only the names of the trainer and the task count, and its memory.
[[nodiscard]] Result<Spec> listed(const std::string& config_path, const Request& request);

}  // namespace laird::cell
