// The workload and the energy of the robustness study.
//
// Source: Hasan, Pena, "Robustness-Efficiency Trade-offs in Learning-Aware Distributed Scheduling",
// section 3: five nodes of 30 samples per step, a network of 100 samples per step, a mean delay of
// three steps with jitter, tasks that arrive over time, send their data and then learn by
// loss(s) = a s^-b + N(0, sigma), idle nodes that cost energy. The paper prints no more, so the
// ranges below are ours, chosen so that Uniform at 60 tasks succeeds about as often, takes about as
// long and costs as much energy as in its Table 1 (50%, 27.4 steps, 1852) while everybody does well
// with 10 tasks.
// Symbols: one step is one unit of time; s in samples; energy in the paper's units; efficiency is
// percent of tasks that succeed over energy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/simulator/cluster.hpp"

namespace laird::lab {

inline constexpr std::size_t kStudyNodes = 5;
inline constexpr double kNodeSamplesPerStep = 30.0;
inline constexpr double kLinkSamplesPerStep = 100.0;

struct Workload {
  std::vector<ClusterTask> tasks;
  std::vector<std::unique_ptr<std::vector<double>>> curves;  // what the tasks point to
};

[[nodiscard]] Workload draw_workload(std::size_t tasks, std::uint64_t seed);

// A node costs idle power all the time and the rest in proportion to its lane in use.
[[nodiscard]] double energy_of(const ClusterResult& run);

}  // namespace laird::lab
