// The events of many boards, those that the boards remember and those that happen now, in one list:
// each event once, ordered by time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"

namespace laird::control {

class EventHistory {
 public:
  // Takes a board's answer to `get` events. When the board has older ones, returns the place to go
  // on asking from: {"epoch":..,"seq":..}.
  [[nodiscard]] std::optional<json::Value> take(const std::string& board, const json::Value& data);
  // Ordered by wall clock. Events of one board keep their own order, whatever its clock did.
  [[nodiscard]] std::vector<EventView> in_order() const;
  // Takes an event that happens now: false when it is known already.
  [[nodiscard]] bool is_new(const EventView& event);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // epoch, seq
  static std::optional<Place> place_of(const json::Value& event);

  std::map<std::string, std::map<Place, json::Value>> events_;  // by board
};

}  // namespace laird::control
