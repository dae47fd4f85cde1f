// To which boards a new task is offered, and in what order. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/placement/fleet/new_task.hpp"

namespace laird::control {

struct OfferOrder {
  std::string unplanned;                          // why nothing could be planned; empty: it was
  std::vector<placement::NewPlace> places;        // the best first
  std::vector<placement::NewPlaces::Not> cannot;  // and nothing else is to be asked of them
  // Who is asked for a bid after those places: boards that do not say of which kind their lanes
  // are, as older agents do not; all boards when nothing could be planned.
  std::set<std::string> bidders;
};

// `boards`: those that may be asked.
[[nodiscard]] OfferOrder offer_order(const placement::FleetFacts& facts,
                                     const placement::TaskFact& task,
                                     const std::set<std::string>& boards);

}  // namespace laird::control
