#include "control/plan/fleet_facts.hpp"

#include <cstddef>

namespace laird::control {

placement::FleetFacts fleet_facts(const FleetView& view, const std::string& fleet) {
  placement::FleetFacts out;
  out.fleet = fleet;
  for (const auto& [name, board] : view.boards()) {
    out.boards.push_back(placement::board_fact(name, board.state, board.info));
  }
  // They come board by board.
  const std::string* board = nullptr;
  std::size_t of_board = 0;
  for (const auto& [place, task] : view.tasks()) {
    if (board == nullptr || *board != place.first) of_board = 0;
    board = &place.first;
    auto fact = placement::task_fact(place.first, task.task);
    // A payload must not speak of another task than its topic does.
    if (!fact || fact->name != place.second) continue;
    if (++of_board <= placement::kTasksOfBoardMax) out.tasks.push_back(std::move(*fact));
  }
  return out;
}

placement::BoardFact board_of_module(const power::Board& module) {
  placement::BoardFact out;
  out.module = module.name;
  out.hardware.cpu_cores = module.cpu_cores;
  out.hardware.cpu_mhz = module.cpu_clock_mhz_max;
  out.hardware.cuda_cores = module.gpu_cuda_cores;
  out.hardware.gpu_mhz = module.gpu_clock_mhz_max;
  out.hardware.memory_gb_s = module.memory_bandwidth_gb_s;
  out.hardware.gpu_w = static_cast<double>(module.model.gpu_dynamic_mw) / 1e3;
  out.hardware.cpu_w = static_cast<double>(module.model.cpu_dynamic_mw) / 1e3;
  for (const power::Lane& lane : module.lanes) {
    out.lanes.push_back({lane.name, lane.kind == power::LaneKind::kGpu});
  }
  out.memory_bytes = module.memory_for_tasks_bytes(0);
  return out;
}

}  // namespace laird::control
