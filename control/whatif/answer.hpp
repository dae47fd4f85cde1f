// Recorded lives of one board or several, run again: what an answer of `lairctl replay --what-if`
// is made of.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/whatif/compare.hpp"
#include "agent/whatif/rerun.hpp"
#include "report/story/story.hpp"

namespace laird::control {

// A board's journal and how well it can be run again.
struct RecordedBoard {
  std::string path;
  whatif::Recording recording;
  whatif::Rerun same;  // with nothing changed
  whatif::Fidelity fidelity;
  std::optional<story::BoardStory> story;  // of the recorded life, where a page is wanted
  std::vector<std::string> notes;          // damage of the journal
  bool whole = true;
};

// What would have been. Low and high: with the ends of the forecasts' bands in place of their
// medians, where some task got further than it did.
struct BoardAnswer {
  whatif::Rerun median;
  std::optional<whatif::Rerun> low;
  std::optional<whatif::Rerun> high;
  std::optional<story::BoardStory> story;
};

using Tick = std::function<void(const std::string& doing, std::uint64_t events)>;

[[nodiscard]] Result<RecordedBoard> read_board(const std::string& path, bool with_story,
                                               const Tick& tick);
[[nodiscard]] Result<BoardAnswer> answer_for(const RecordedBoard& board,
                                             const whatif::Changes& changes, bool with_story);

// Of all boards together.
struct Sums {
  std::uint64_t tasks = 0;
  std::uint64_t succeeded = 0;
  double energy_j = 0.0;
  bool metered = false;
  std::uint64_t switches = 0;
  void add(const whatif::Tally& tally);
};

}  // namespace laird::control
