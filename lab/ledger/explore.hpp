// Exhaustive searches over the real ledger code, within bounds. docs/ledger.md, "Measured", holds
// the results.
//
// explore_agreement: three keepers vote for whatever is proposed. The requests that they have heard
// conflict: both ends close the same edge with different numbers.
// Every message that was sent may arrive at any later time, any number of times, or never; every
// wait may be over at any time; one keeper may lose its journal. The search tries all orders with
// up to messages_max messages, breadth first, and expands no state twice.
//
// explore_lives: runs every combination of two crashes on a grid of times, with every way to
// return.
#pragma once

#include <cstdint>
#include <string>

namespace laird::lab {

struct ExploreResult {
  std::uint64_t states = 0;       // distinct states met, or runs
  std::uint64_t transitions = 0;  // steps tried
  bool complete = false;          // the search met everything within the bounds
  std::uint32_t versions = 0;     // the highest register version decided on any path
  std::uint64_t needs_operator = 0;
  std::string violation;  // empty: none
};

struct AgreementBounds {
  std::size_t states_max = 2'000'000;
  std::size_t messages_max = 12;  // on one path
  std::uint32_t moments_max = 2;  // how often time can pass
  bool amnesia = true;            // keeper 1 may start without its journal, once
  bool taken_over = false;        // start where one keeper has to finish what another proposed
  bool decided = false;           // start where keeper 0 has decided, and only keeper 1 could know
  bool established = false;       // start where keeper 1 may propose version 3 by earlier promises
  bool forgetful_promises = false;  // broken on purpose: a promise ends with its version
  bool forgetful_voters = false;    // broken on purpose: a restart forgets the votes, not the seat
};
[[nodiscard]] ExploreResult explore_agreement(const AgreementBounds& bounds);

struct LifeBounds {
  int nodes = 3;
  int grid_ticks = 6;  // between the times of the crashes that are tried
};
[[nodiscard]] ExploreResult explore_lives(const LifeBounds& bounds);

}  // namespace laird::lab
