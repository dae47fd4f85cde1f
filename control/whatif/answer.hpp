// Recorded lives of one board or several, run again: what an answer of `lairctl replay --what-if`
// is made of.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/whatif/compare.hpp"
#include "agent/whatif/fleet_rerun.hpp"
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

// Boards that were asked about together.
struct RecordedBoards {
  std::vector<RecordedBoard> boards;
  // They are one fleet, whose ledgers run again; nothing: each is run again by itself.
  std::optional<whatif::Carrier> carrier;
  std::string apart;  // why not, where there are several
};

// What would have been of a board. Low and high: with the ends of the forecasts' bands in place of
// their medians, where some task of some board got further than it did.
struct BoardAnswer {
  std::string node;
  std::optional<std::size_t> recorded;  // which of the boards; nothing: it was added
  bool left_out = false;
  whatif::Rerun median;
  std::optional<whatif::Rerun> low;
  std::optional<whatif::Rerun> high;
  std::optional<story::BoardStory> story;
  // Tasks that came from other boards, and from which.
  std::map<whatif::TaskId, std::size_t> moved_here;
};

using Tick = std::function<void(const std::string& doing, std::uint64_t events)>;

struct ReadWishes {
  bool story = false;
  bool as_fleet = false;  // where they are a fleet, all of it
};
// Reads the journals, and runs them again with nothing changed. Those that cannot be read are told
// of in `left_out`.
[[nodiscard]] Result<RecordedBoards> read_boards(const std::vector<std::string>& paths,
                                                 ReadWishes wishes, const Tick& tick,
                                                 std::vector<Error>& left_out);
// A board each, in their order; then those that were added.
[[nodiscard]] Result<std::vector<BoardAnswer>> answers_for(const RecordedBoards& boards,
                                                           const whatif::Changes& changes,
                                                           bool with_story, const Tick& tick);

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
