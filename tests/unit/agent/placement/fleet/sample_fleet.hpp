// A small fleet for the tests: a Nano, a Xavier NX and an Orin NX, each with a GPU and a CPU lane.
#pragma once

#include "agent/placement/fleet/facts.hpp"

namespace laird::test {

inline placement::BoardFact board(const std::string& name, const std::string& module,
                                  placement::Hardware hardware, std::int64_t memory_gb) {
  placement::BoardFact out;
  out.name = name;
  out.module = module;
  out.hardware = hardware;
  out.lanes = {{"gpu0", true}, {"cpu0", false}};
  out.trainers = {"mlp", "softmax"};
  out.memory_bytes = memory_gb * 1'000'000'000;
  return out;
}

inline placement::FleetFacts three_modules() {
  placement::FleetFacts out;
  out.fleet = "lab";
  out.boards.push_back(board("n-1", "nano-4gb", {4, 1430, 128, 921, 25.6, 5.0, 3.0}, 3));
  out.boards.push_back(board("n-2", "xavier-nx-8gb", {6, 1900, 384, 1109, 59.7, 8.0, 6.0}, 6));
  out.boards.push_back(board("n-3", "orin-nx-16gb", {8, 1984, 1024, 918, 102.4, 16.0, 9.0}, 14));
  return out;
}

inline placement::TaskFact gpu_task(const std::string& name, double deadline_in_s = 3600.0) {
  placement::TaskFact out;
  out.name = name;
  out.trainer = "mlp";
  out.work = "work-" + name;
  out.gpu = true;
  out.memory_bytes = 1'000'000'000;
  out.deadline_in_s = deadline_in_s;
  return out;
}

}  // namespace laird::test
