// What a board says of itself so that others can plan with it: its module, and what it has learned
// of the works that it was given. It is part of its info.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mqtt/codec/messages.hpp"

namespace laird::mqtt {

// What the board's file says of its module; 0: not known.
struct NodeHardware {
  std::int64_t cpu_cores = 0;
  std::int64_t cpu_mhz = 0;
  std::int64_t cuda_cores = 0;
  std::int64_t gpu_mhz = 0;
  double memory_gb_s = 0.0;
  std::int64_t idle_mw = 0;
  std::int64_t gpu_mw = 0;  // what the lane in use draws above idle
  std::int64_t cpu_mw = 0;
};

// What the board has learned of one work (agent/placement/measured_works.hpp).
struct NodeWork {
  std::string trainer;
  std::string work;
  std::string lane;  // its kind
  double samples_per_s = 0.0;
  double samples = 0.0;  // until the target was reached; 0: it was not yet
  double target_loss = 0.0;
  std::uint64_t runs = 0;
};

struct BoardFacts {
  std::string module;  // the name of its board file
  NodeHardware hardware;
  std::vector<std::string> lane_kinds;  // of each of its lanes
  std::vector<NodeWork> works;
};

[[nodiscard]] json::Value to_json(const NodeInfo& info);
// The whole info, with the facts in it.
[[nodiscard]] std::string to_text(const NodeInfo& info, const BoardFacts& facts);

}  // namespace laird::mqtt
