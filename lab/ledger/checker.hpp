// The invariants, checked from outside the ledgers after every tick, in integers.
//
// I1 what one end has heard never exceeds what the other has sent
// I2 no holding is negative
// I3 enforced shares plus shares in flight never exceed the whole
// I4 nothing is created: the unsettled accounts' bases and loose edges never exceed the whole, and
//    equal it when nothing is lost
// I5 an account whose settlement takes effect is not at work
#pragma once

#include <string>

#include "lab/ledger/world.hpp"

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

  std::size_t absorbed_seen_ = 0;
  CheckResult result_;
};

// The part of the whole that no running board holds and that is not on its way to one.
[[nodiscard]] Parts stranded(const World& world, std::size_t resource);

}  // namespace laird::lab
