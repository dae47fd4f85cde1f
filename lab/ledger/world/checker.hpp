// The invariants of the ledger (docs/ledger.md, "Invariants"), checked from outside the ledgers
// after every tick, in integers:
//
// I1 what one end of an edge has heard never exceeds what the other end has sent
// I2 no holding is negative
// I3 the enforced shares and the shares in flight together never exceed the whole
// I4 the bases of the newest register sum to the whole, exactly
// I5 an account that the newest register calls dead, or does not know, uses nothing
// I6 boards that hold the same version of a founding hold the same register
#pragma once

#include <map>
#include <string>

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

//
// Where a member lies, the checks look at the honest boards alone, and at what they use:
// - I2 does not hold, because a liar may close an edge with numbers that leave its neighbour less
//   than nothing; nor I5, because a liar may be the only keeper of two boards.
// - In I3 the honest boards may use more than the whole by what the liar has pretended to grant or
// to
//   have received, and by no more.
// - I6 holds for groups of four keepers and more.

struct CheckResult {
  Parts excess_max = 0;      // the largest violation, over all resources
  Parts overstated_max = 0;  // what honest boards used above the whole on a liar's word
  std::string first_break;   // empty: every invariant held
};

class Checker {
 public:
  void check(const World& world);
  [[nodiscard]] const CheckResult& result() const { return result_; }

 private:
  void note(const World& world, const std::string& what, Parts excess);
  void check_register(const World& world, const Ledger& newest);
  void check_agreement(const World& world);

  CheckResult result_;
  std::map<std::pair<consensus::Epoch, std::uint32_t>, consensus::Register> decided_;
};

// What is not in order yet among the honest boards that run: one is fenced or not entered, or the
// account of a board that is down still has a share. Empty: everything is.
[[nodiscard]] std::string unsettled_business(const World& world);

// How much of the whole no running board holds and that is not on its way to one.
[[nodiscard]] Parts stranded(const World& world, std::size_t resource);

// The reason why the fleet cannot recover everything without an operator; empty: it can. There are
// two reasons. Fewer keepers than can decide are left with their journals while some board stays
// away: a founding needs every board. Or a board that stays down has a quorum of neighbours that
// stay down too: nobody can tell such a group from one that is cut off and at work. Ask only when
// faults have stopped: every board that is down stays down, every other board is up and connected.
[[nodiscard]] std::string needs_operator(const World& world);

}  // namespace laird::lab
