// Tasks whose model is to be promoted: what a board needs for them beyond what the core checks.
#pragma once

#include <map>
#include <string>

#include "agent/core/state/task.hpp"
#include "agent/settings/trainer_program.hpp"
#include "config/schema.hpp"

namespace laird::agent {

// The section "promote" of a task.
extern const config::Schema kPromoteSchema;

// Why the board with these trainers cannot promote the task's model; empty when it can, or when the
// task does not ask for it.
[[nodiscard]] std::string promote_task_problem(
    const core::TaskSpec& spec, const std::map<std::string, TrainerProgram>& trainers);

}  // namespace laird::agent
