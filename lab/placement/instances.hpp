// Instances to plan for: the MemBatch paper's own, generated ones in its setting, and files.
//
// Source: Mathkar, Pinki, Naik, "Memory-aware Hierarchical Scheduling of ML Tasks in Heterogeneous
// Clusters of Edge Computing Devices with GPUs". The paper prints no profile; the one here is
// fitted to every number that it does print: Chest X-ray (7 GB) is split into 4 GB and 3 GB, two
// Chest parts on an Orin NX take 70 + 53 = 123 minutes.
#pragma once

#include <cstdint>
#include <string>

#include "agent/placement/planner/instance_json.hpp"

namespace laird::lab {

// The paper's boards, largest first: a quarter Orin NX, a quarter Xavier NX, the rest Nano. 7: its
// workers; 8: its head works too; 100: the same mix.
[[nodiscard]] placement::Instance paper_fleet(std::size_t boards);

// `tasks` of the paper's five workloads in turn, in the order of its text. A Chest X-ray task
// counts once and is there as its two parts.
[[nodiscard]] placement::Instance paper_instance(std::size_t tasks, std::size_t boards);

// `items` (tasks or parts) drawn from the paper's six profiles, each time varied by up to 15%, GPU
// share by 5%, memory by 10%.
[[nodiscard]] placement::Instance generated_instance(std::size_t items, std::size_t boards,
                                                     std::uint64_t seed);

// By name: "paper5:8" (five tasks on eight boards; any number of either), "gen:ITEMS:BOARDS:SEED",
// or a file of the format laird.placement/1.
[[nodiscard]] Result<placement::ReadInstance> find_instance(const std::string& name);

}  // namespace laird::lab
