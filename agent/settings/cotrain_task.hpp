// Co-training tasks: one model, trained by every board that has a task of the same name, each on
// its own data. A section "fleet" in the task's params marks it, so that trainer and journal have
// the mark.
#pragma once

#include <map>
#include <string>

#include "agent/core/state/state.hpp"
#include "agent/settings/trainer_program.hpp"
#include "json/value.hpp"

namespace laird::agent {

[[nodiscard]] bool has_cotrain_mark(const json::Value& params);

// Sets TaskSpec::cotrain of every task of a state that was read from a journal.
void mark_cotrain_tasks(core::State& state);

// Why this board cannot run a co-training task, with the remedy; empty when it can, or when the
// task is no such task.
[[nodiscard]] std::string cotrain_task_problem(
    const core::TaskSpec& spec, const std::map<std::string, TrainerProgram>& trainers,
    bool board_in_fleet);

}  // namespace laird::agent
