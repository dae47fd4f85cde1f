// A fleet of mixed boards and the tasks it gets, drawn from a seed: the same for every strategy.
//
// Boards follow each other through a fixed list of modules, from a random place on. Each has one
// lane, which in full use draws all that the module's model can. The floor of a board is half of
// what it draws idle. Tasks are made of real curves as in lab/scheduling/bundles.hpp, with
// kDeadlinePart of the deadlines there. They come in as many streams as half of the boards: a task
// goes to a random board on which no other task's time runs, and the next one of its stream comes
// after kNextPart of that time. So about half of the boards are busy, and not always the same ones.
// One task in five weighs four times as much as an ordinary one, and one in five half as much.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/forecast/curves.hpp"
#include "lab/simulator/curve_board.hpp"
#include "power/model/board.hpp"

namespace laird::lab {

inline constexpr double kDeadlinePart = 0.7;
inline constexpr double kNextPart = 0.65;
inline constexpr double kFirstUntilS = 150.0;
inline constexpr double kArriveUntilS = 1500.0;

struct WattsBoard {
  std::string node;
  power::PowerModel model;  // all that is dynamic is its lane's
  std::int64_t floor_mw = 0;
  std::vector<SimulatedTask> tasks;  // by arrival

  [[nodiscard]] std::int64_t most_mw() const { return model.idle_mw + model.gpu_dynamic_mw; }
};

struct WattsWorkload {
  std::vector<WattsBoard> boards;
  double until_s = 0.0;  // the last deadline

  [[nodiscard]] std::int64_t most_mw() const;
};

// `modules` at least one, `curves` not empty; both outlive the workload.
[[nodiscard]] WattsWorkload draw_watts(const std::vector<power::Board>& modules,
                                       const std::vector<Curve>& curves, std::size_t boards,
                                       std::uint64_t seed);

}  // namespace laird::lab
