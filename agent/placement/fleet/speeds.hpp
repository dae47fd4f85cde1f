// How fast each board of a fleet would do a task, from what any board has measured.
//
// Source: ours. The first of these that there is decides, for all boards alike:
//   1. The board has measured the work itself.
//   2. Other boards have measured it: their speed times the ratio of the two boards. The ratio is 1
//      for boards of one module; else the median ratio of the works that both have measured; else
//      that of their hardware. The closest kin speaks: one module before common works before
//      hardware.
//   3. The fleet has measured other works of the trainer: the hardware's index times the median of
//      speed per index over all of them.
//   4. The hardware's index alone: a ratio between boards, no speed.
// The index of a GPU lane is (cores x clock x bandwidth)^(1/4), of a CPU lane clock x sqrt(cores).
// Deviation from physics: training is bound by memory, arithmetic and overhead in turn, so no one
// number is right. This one was chosen because it puts the modules of the one published table of
// training times (MemBatch: Nano 1, Xavier NX 1.0 to 1.4, Orin NX 1.7 to 2.6) into their order, at
// ratios 1, 1.7 and 2.4. It counts only until somebody measures.
// A board of unknown hardware counts as the slowest that is known.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "agent/placement/fleet/facts.hpp"

namespace laird::placement {

[[nodiscard]] double speed_index(const Hardware& hardware, bool gpu);  // 0: not known

enum class SpeedBasis : std::uint8_t {
  kMeasured,    // on the board itself
  kSameModule,  // on a board of the same module
  kOtherBoard,  // on another board, scaled
  kOtherWork,   // other works of the trainer, scaled
  kHardware,    // a ratio only
};
[[nodiscard]] std::string_view name(SpeedBasis basis);

struct SpeedGuess {
  double speed = 0.0;  // samples per second; of kHardware: only comparable between boards
  SpeedBasis basis = SpeedBasis::kHardware;
  [[nodiscard]] bool is_absolute() const { return basis != SpeedBasis::kHardware; }
};

class Speeds {
 public:
  // Keeps a reference to the facts.
  explicit Speeds(const FleetFacts& facts);
  [[nodiscard]] SpeedGuess of(const TaskFact& task, std::size_t board) const;
  // Samples that the work took until that target, by the boards' runs; 0: nobody knows.
  [[nodiscard]] double samples_of(const TaskFact& task) const;

 private:
  using ByBoard = std::map<std::size_t, double>;

  void learn(std::size_t board, const WorkFact& work);
  [[nodiscard]] double index(std::size_t board, bool gpu) const;
  struct Ratio {
    double value = 1.0;
    int distance = 0;  // 0: one module, 1: by common works, 2: by hardware
  };
  [[nodiscard]] Ratio ratio(std::size_t to, std::size_t from, bool gpu) const;

  const FleetFacts& facts_;
  std::map<std::string, ByBoard> measured_[2];  // by lane kind; by work
  std::map<std::string, double> per_index_[2];  // by trainer: speed per index, the median
  double slowest_[2] = {1.0, 1.0};              // index of the slowest that is known
};

}  // namespace laird::placement
