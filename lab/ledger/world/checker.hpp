// The invariants of the ledger (docs/ledger.md, "Invariants"), checked from outside the ledgers
// after every tick, in integers:
//
// I1 what one end of an edge has heard never exceeds what the other end has sent
// I2 no holding is negative
// I3 the enforced shares and the shares in flight together never exceed the whole
// I4 the bases of the newest register sum to the whole, exactly
// I5 an account that the newest register calls dead, or does not know, uses nothing
#pragma once

#include <string>

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

struct CheckResult {
  Parts excess_max = 0;     // the largest violation, over all resources
  std::string first_break;  // empty: every invariant held
};

class Checker {
 public:
  void check(const World& world);
  [[nodiscard]] const CheckResult& result() const { return result_; }

 private:
  void note(const World& world, const std::string& what, Parts excess);
  void check_register(const World& world, const Ledger& newest);

  CheckResult result_;
};

// How much of the whole no running board holds and that is not on its way to one.
[[nodiscard]] Parts stranded(const World& world, std::size_t resource);

// The reason why the fleet cannot recover everything without an operator; empty: it can. There are
// two reasons. Fewer keepers than a majority are left with their journals while some board stays
// away: a founding needs every board. Or a board that stays down has a quorum of neighbours that
// stay down too: nobody can tell such a group from one that is cut off and at work. Ask only when
// faults have stopped: every board that is down stays down, every other board is up and connected.
[[nodiscard]] std::string needs_operator(const World& world);

}  // namespace laird::lab
