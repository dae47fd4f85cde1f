// The recorded lives of a whole fleet, run again together: each board as rerun.hpp does it, and
// with it its share ledger, whose messages go to the boards that run beside it. What the network
// did to a message then it does to the one that is sent in its place (carrier.hpp). So what a board
// may draw follows from what all boards ask for in this life, and a board can be left out or added.
//
// A board that ends before the fleet does is gone from then on. One that is added lives through the
// starts, clocks and power readings of the board that it is like, and nothing else of it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/whatif/carrier.hpp"
#include "agent/whatif/rerun.hpp"

namespace laird::whatif {

using RecordedBoards = std::span<const Recording* const>;

// Why these boards cannot be run again as one fleet; nothing: they can.
[[nodiscard]] std::optional<std::string> apart_because(RecordedBoards boards);

// The moment from which on the journals of all boards tell, by the wall clock: the last begin of a
// journal that does not begin with its board's first start.
[[nodiscard]] TimeNs begin_of(RecordedBoards boards);

struct BoardRerun {
  std::string node;
  std::optional<std::size_t> recorded;  // which of the recordings; nothing: an added board
  Rerun rerun;
  // Tasks that came from other boards: which of the recordings they are in.
  std::map<TaskId, std::size_t> moved_here;
};

// See each board's steps and its last state; by its place in the answer.
struct FleetWatch {
  std::function<void(std::size_t board, const core::Event& event, const core::State& state,
                     const core::Effects& effects)>
      step;
  std::function<void(std::size_t board, const core::State& state)> end;
  std::function<void(std::uint64_t events)> progress;  // now and then
};

// In the order of the recordings, without those left out, then the added ones.
[[nodiscard]] Result<std::vector<BoardRerun>> run_fleet_again(RecordedBoards boards,
                                                              const Carrier& carrier,
                                                              const Changes& changes, Beyond beyond,
                                                              const FleetWatch& watch = {});

}  // namespace laird::whatif
