// Boards that hold titles, in virtual time, under one schedule of faults drawn from a seed:
// messages lost, late, repeated and out of order; boards cut off, crashed before or after they
// journalled, rebooted into a new account with their journal or without. The register is an oracle
// here: it declares an account dead only a margin after the account's fence, and enters a node's
// next one only after that; boards see it late (docs/ledger.md says why the real one keeps this).
#pragma once

#include <cstdint>
#include <string>

#include "consensus/titles/titles.hpp"

namespace laird::lab {

struct TitleSimConfig {
  std::uint64_t seed = 1;
  int boards = 5;
  int titles = 4;
  int fault_ticks = 300;
  int heal_ticks = 300;
  consensus::TitleRules rules;
};

inline constexpr int kTitleLease = 10;  // ticks
inline constexpr int kTitleMargin = 3;  // between a fence and the register's word

struct TitleSimResult {
  int two_runners = 0;  // ticks at which some title was run by two boards
  int two_holders = 0;  // ticks at which two living accounts held some title
  // At the end nobody runs it, though at every tick its holder or its backup was a living account.
  int lost = 0;
  // Holder and backup had both lost their account or their journal at some tick:
  int stranded = 0;  // nobody runs it, a journal still has it
  int gone = 0;      // no journal has it
  int recovered = 0;
  int given = 0;      // hand-overs that arrived
  int reclaimed = 0;  // by backups
  std::string first;  // what went wrong first, and when

  [[nodiscard]] bool ok() const { return two_runners == 0 && two_holders == 0 && lost == 0; }
};

[[nodiscard]] TitleSimResult run_titles(const TitleSimConfig& config);

// One board dies for good while all else is well: ticks from its death until each of its titles
// runs elsewhere, the last one.
[[nodiscard]] int ticks_to_run_again(std::uint64_t seed);

}  // namespace laird::lab
