// `laird board --selftest`: on a board, everything that only a board can show. Its meters against
// tegrastats, its clocks set and given back, control groups that hold, the GPU, a training under a
// cap with its energy account against the meter, and TensorRT with the model that came of it. One
// file holds all of it, to be read by people who do not have the board.
//
// Nothing of the board is left changed: clocks go through laird-priv, which gives them back also
// when this program is killed; everything else happens in a folder and in groups of its own.
#pragma once

#include <string>
#include <vector>

#include "agent/selftest/finding.hpp"
#include "power/boards/catalogue.hpp"
#include "power/commands/commands.hpp"

namespace laird::agent::selftest {

struct Options : power::SelftestWish {
  std::string version;
};

struct Board {
  power::MachineIdentity machine;
  power::Detection found;
};

// Each gives its findings; none of them throws or hangs.
[[nodiscard]] Finding check_board(const Board& board);
[[nodiscard]] Finding check_sensors(const Options& options, const Board& board);
// Adds the lines of tegrastats, as they came, to `raw`.
[[nodiscard]] Finding check_meters(const Options& options, const Board& board,
                                   std::vector<std::string>& raw);
[[nodiscard]] std::vector<Finding> check_knobs(const Options& options);
[[nodiscard]] std::vector<Finding> check_groups();
[[nodiscard]] Finding check_gpu(const Board& board);
// Both engines of the estimators at the same work, every word compared.
[[nodiscard]] Finding check_engines();
// `laird board --gpu-check`: the same, printed. 0: the same bits; 1: not, or the driver failed; 3:
// this machine has no GPU that could be checked.
int run_gpu_check(bool as_json);
// Training, cap, energy account, export and TensorRT, in a folder of its own.
[[nodiscard]] std::vector<Finding> check_training(const Options& options, const Board& board,
                                                  const std::string& folder);

// Runs them all, prints a line for each, writes the report. 0: nothing failed; 1: something did;
// 2: the options make no sense.
int run(const Options& options, const Board& board);

}  // namespace laird::agent::selftest
