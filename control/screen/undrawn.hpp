// Who holds what nobody uses: shares that are not drawn while tasks elsewhere wait for power.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"

namespace laird::control {

// So much of the budget may be undrawn before it is worth a word: draws swing, and shares follow.
inline constexpr double kUndrawnMin = 0.1;

struct Undrawn {
  double watts = 0.0;  // of the budget, that no board draws
  double budget_w = 0.0;
  double nobodys_w = 0.0;                               // of `watts`, that no board holds either
  std::vector<std::pair<std::string, double>> holders;  // boards and watts, the most first
  std::vector<std::string> throttled;  // tasks that a share holds back, with boards
};

// Nothing unless more than kUndrawnMin of the budget is undrawn while a task is throttled by its
// board's share of the power.
[[nodiscard]] std::optional<Undrawn> undrawn_of(const FleetView& view);
// "21.0 W of 60.0 W is drawn by nobody while 'a' on n-2 is throttled", and "9.0 W is given to no
// board; held by n-1 (12.0 W)".
[[nodiscard]] std::string what_text(const Undrawn& undrawn);
[[nodiscard]] std::string holders_text(const Undrawn& undrawn);
// Both, a line each.
[[nodiscard]] std::string text_of(const Undrawn& undrawn);
[[nodiscard]] json::Value json_of(const Undrawn& undrawn);

}  // namespace laird::control
