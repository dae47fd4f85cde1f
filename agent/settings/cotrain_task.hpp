// Fleet tasks: one model, trained by every board that has a task of the name on its own data. The
// mark is a section "fleet" in the task's params, so that the trainer and the journal have it too.
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

// Why this board cannot run a fleet task, with the remedy; empty when it can or it is none.
[[nodiscard]] std::string cotrain_task_problem(
    const core::TaskSpec& spec, const std::map<std::string, TrainerProgram>& trainers,
    bool board_in_fleet);

}  // namespace laird::agent
