#include "control/plan/offer_order.hpp"

#include <utility>

namespace laird::control {

OfferOrder offer_order(const placement::FleetFacts& facts, const placement::TaskFact& task,
                       const std::set<std::string>& boards) {
  OfferOrder out;
  auto planned = placement::places_for(facts, task);
  if (!planned) {
    out.unplanned = planned.error().context;
    out.bidders = boards;
    return out;
  }
  for (const placement::BoardFact& board : facts.boards) {
    if (!board.kinds_known && boards.count(board.name) != 0) out.bidders.insert(board.name);
  }
  for (placement::NewPlace& place : planned->places) {
    if (boards.count(place.board) == 0) continue;
    out.bidders.erase(place.board);
    out.places.push_back(std::move(place));
  }
  for (placement::NewPlaces::Not& no : planned->cannot) {
    if (out.bidders.count(no.board) == 0) out.cannot.push_back(std::move(no));
  }
  return out;
}

}  // namespace laird::control
