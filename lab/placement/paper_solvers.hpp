// The three schedulers of the MemBatch paper, as it describes them, and the exact programme for
// mode S: what the planner is compared with.
//
// Source: Mathkar, Pinki, Naik (instances.hpp), algorithms 1 and 2. Where the listing is silent:
//  - makespan >= the sum of the times on each board: the listing names the variable and gives no
//  row;
//  - leaving a task for the next round costs the longest time of any pair (MemBatch), or the task's
//    mean time over the boards (baseline: with this one the paper's 123 and 221 minutes come out);
//  - the rounds and batches of MemBatch run one after another, with barriers; those of the baseline
//    are queues of the boards, each task as early as it fits.
#pragma once

#include "agent/placement/planner/plan.hpp"
#include "lab/placement/ilp/ilp.hpp"

namespace laird::lab {

// Batches by the memory of all boards; in each, rounds of "minimise the makespan plus a penalty for
// what is left over". Tasks that are splittable and larger than the smallest board must have been
// split before (split_oversized with SplitRule::kSmallestBoard).
[[nodiscard]] Result<placement::Plan> membatch(const placement::Instance& instance,
                                               IlpSolver& solver, double seconds_per_solve);
// Rounds of "minimise the sum of all times plus a penalty for what is left over".
[[nodiscard]] Result<placement::Plan> baseline_ilp(const placement::Instance& instance,
                                                   IlpSolver& solver, double seconds_per_solve);
// First come, first served; each task to the board that is used least of those it fits on now, the
// first listed among equals. The head of the queue blocks the rest.
[[nodiscard]] Result<placement::Plan> fcfs_least_loaded(const placement::Instance& instance);
// Mode S only: minimise the makespan over all assignments. Says whether the plan is proved best.
[[nodiscard]] Result<placement::Plan> exact_ilp(const placement::Instance& instance,
                                                IlpSolver& solver, double seconds, bool* proved);

}  // namespace laird::lab
