// `laird check`: what the trainer itself has to say about a task's params and data, before any
// board is asked. Built-in trainers have a check of their own; others are started only if the
// board's file says that they have one too.
#pragma once

#include <string>
#include <vector>

#include "agent/core/state/task.hpp"
#include "agent/settings/trainer_program.hpp"
#include "config/schema.hpp"

namespace laird::agent {

// Runs the check of the task's trainer on this machine, as whoever calls; a minute at most. What is
// wrong becomes a problem; what is only worth a word goes to `notes`.
// `no_data`: looks at the params alone, as on a machine that does not have the data.
void check_with_trainer(const core::TaskSpec& spec, const TrainerProgram& program, bool no_data,
                        const std::string& source, std::vector<config::Problem>& problems,
                        std::vector<std::string>& notes);

}  // namespace laird::agent
