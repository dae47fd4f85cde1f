// The budget of a fleet of two boards, for the tests of whoever changes or hands on a budget.
#pragma once

#include "agent/core/state/fleet.hpp"

namespace laird::test {

inline core::FleetBudget budget_of_two() {
  core::FleetBudget out;
  out.rev = 4;
  out.founding_epoch = 2;
  out.founders = {"n-1", "n-2"};
  out.members = {{"n-1", {0, 0, 2'000}}, {"n-2", {500, 250'000, 3'000}}};
  out.total = {core::kUnlimited, core::kUnlimited, 60'000};
  return out;
}

}  // namespace laird::test
