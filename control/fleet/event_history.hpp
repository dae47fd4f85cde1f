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

// Until when each board's events are known without a gap. A lost link leaves a gap for every board,
// a board that was away leaves one of its own, and a gap stays until that board has answered: after
// a broker's restart the boards come back one by one, often later than lairctl.
class EventGaps {
 public:
  // Nothing before that moment is asked for.
  explicit EventGaps(std::int64_t began_ms) : began_ms_(began_ms) {}

  // The board has told all that it knows of.
  void closed(const std::string& board, std::int64_t now_ms);
  void link_lost();
  // Takes which boards are live, while the link is up, and returns those to ask now: a board that
  // does not answer is asked again later.
  [[nodiscard]] std::set<std::string> to_ask(const std::set<std::string>& live,
                                             std::int64_t now_ms);
  // From when on these boards' events may be missing.
  [[nodiscard]] std::int64_t since_ms(const std::set<std::string>& boards) const;

 private:
  struct Heard {
    std::int64_t whole_until_ms = 0;
    bool gap = true;
    std::int64_t ask_at_ms = 0;
  };
  std::int64_t began_ms_;
  std::map<std::string, Heard> boards_;
};

}  // namespace laird::control
