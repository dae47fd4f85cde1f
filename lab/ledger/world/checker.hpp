// The invariants, checked from outside the ledgers after every tick, in integers.
//
// I1 what one end has heard never exceeds what the other has sent
// I2 no holding is negative
// I3 enforced shares plus shares in flight never exceed the whole
// I4 the bases of the newest register sum to the whole, exactly
// I5 an account that the newest register calls dead, or does not know, uses nothing
#pragma once

#include <string>

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

struct CheckResult {
  Parts excess_max = 0;     // over all resources: how far I3 or I4 was exceeded
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

// The part of the whole that no running board holds and that is not on its way to one.
[[nodiscard]] Parts stranded(const World& world, std::size_t resource);

// Why what is left of the fleet cannot recover everything without an operator; empty: it can. True
// when fewer keepers than a majority are left with their memory while some board stays away (a
// founding needs everyone), or when a board that stays down has a quorum of neighbours that stay
// down too (nobody can tell such a group from one that is cut off and at work). To be asked when
// faults have stopped: every board that is down stays down, every other is up and connected.
[[nodiscard]] std::string needs_operator(const World& world);

}  // namespace laird::lab
