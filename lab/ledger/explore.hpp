// Exhaustive searches over the real ledger code, within bounds.
//
// explore_agreement: three keepers and a fourth account, with requests that conflict (an edge
// closed by both ends with different numbers). Every message once sent may arrive at any later
// time, any number of times or never; any wait may be over at any time; one keeper may lose its
// journal. All orders with so many messages are tried, breadth first; a state met before is not
// expanded again.
//
// explore_lives: every combination of two crashes on a grid of times, with every way to return.
#pragma once

#include <cstdint>
#include <string>

namespace laird::lab {

struct ExploreResult {
  std::uint64_t states = 0;       // distinct ones met, or runs
  std::uint64_t transitions = 0;  // steps tried
  bool complete = false;          // all within the bounds was met
  std::uint32_t versions = 0;     // the highest register version decided on any path
  std::uint64_t needs_operator = 0;
  std::string violation;  // empty: none
};

struct AgreementBounds {
  std::size_t states_max = 2'000'000;
  std::size_t messages_max = 12;  // on one path
  std::uint32_t moments_max = 2;  // times that can pass
  bool amnesia = true;            // keeper 1 may start without its journal, once
  bool taken_over = false;  // begins where one keeper is about to finish what another proposed
  bool forgetful_voters = false;  // broken on purpose: a restart forgets its votes, keeps its seat
};
[[nodiscard]] ExploreResult explore_agreement(const AgreementBounds& bounds);

struct LifeBounds {
  int nodes = 3;
  int grid_ticks = 6;  // between the times tried
};
[[nodiscard]] ExploreResult explore_lives(const LifeBounds& bounds);

}  // namespace laird::lab
