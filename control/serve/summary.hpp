// The first thing that the page says: are the tasks on time, is the budget kept, what needs
// somebody. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"

namespace laird::control::serve {

// A board that tells its power every second is silent after this, and another one after that.
inline constexpr std::int64_t kSilentAfterMs = 4'000;
inline constexpr std::int64_t kSilentWithoutPowerMs = 15'000;
inline constexpr std::size_t kAttentionMax = 12;

struct Link {
  bool connected = true;
  std::int64_t since_ms = 0;  // of this state
};

using Heard = std::map<std::string, std::int64_t, NaturalLess>;  // by board, Unix milliseconds

struct TaskCounts {
  std::size_t live = 0;
  std::size_t on_time = 0;  // the forecast says it is more likely met than missed
  std::size_t at_risk = 0;
  std::size_t unknown = 0;  // too young for a forecast
  std::size_t met = 0;      // of those that ended not long ago
  std::size_t missed = 0;   // or failed, or had no data left
};
[[nodiscard]] TaskCounts count_tasks(const FleetView& view);

// Whether a live board has not been heard for too long.
[[nodiscard]] bool is_silent(const BoardView& board, std::int64_t heard_ms, std::int64_t now_ms);

struct Attention {
  bool bad = false;  // else a warning
  std::string text;
  std::string board;
  std::string task;
};
// The worst first. At most kAttentionMax, and then how many more.
[[nodiscard]] std::vector<Attention> attention_of(const FleetView& view, const Link& link,
                                                  const Heard& heard, std::int64_t now_ms);

// "All 5 tasks are on time."
[[nodiscard]] std::string headline_of(const FleetView& view, const TaskCounts& tasks);

[[nodiscard]] json::Value summary_of(const FleetView& view, const Link& link, const Heard& heard,
                                     std::int64_t now_ms);

}  // namespace laird::control::serve
