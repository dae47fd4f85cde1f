// Events of many boards, from their memories and as they happen, put together: each once, by time.
// Pure.
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
  // A board's answer to `get` events. Where to go on asking, {"epoch":..,"seq":..}, when it has
  // more.
  [[nodiscard]] std::optional<json::Value> take(const std::string& board, const json::Value& data);
  // By wall clock; those of one board in their own order, whatever its clock did.
  [[nodiscard]] std::vector<EventView> in_order() const;
  // For one that came live: false when it was in an answer or came before.
  [[nodiscard]] bool is_new(const EventView& event);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // epoch, seq
  static std::optional<Place> place_of(const json::Value& event);

  std::map<std::string, std::map<Place, json::Value>> events_;  // by board
};

}  // namespace laird::control
