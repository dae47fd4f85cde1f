// Fleet tasks: one model, trained by every board that has a task of the name on its own data. The
// mark is a section "fleet" in the task's params, so that the trainer and the journal have it too.
#pragma once

#include <map>
#include <string>

#include "agent/core/state/task.hpp"
#include "agent/settings/trainer_program.hpp"

namespace laird::agent {

[[nodiscard]] bool is_cotrain_task(const core::TaskSpec& spec);

// Why this board cannot run a fleet task, with the remedy; empty when it can or it is none.
[[nodiscard]] std::string cotrain_task_problem(
    const core::TaskSpec& spec, const std::map<std::string, TrainerProgram>& trainers,
    bool board_in_fleet);

}  // namespace laird::agent
