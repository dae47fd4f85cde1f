// Lists that boards answer page by page: the same question goes to many boards at once, and to each
// board again for what is older, until it has told everything.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// No list of a board has more pages: bounds how long one that misbehaves is asked.
inline constexpr int kPagesMax = 64;

struct BoardsAsked {
  std::set<std::string> told;     // answered, with at least one page
  std::set<std::string> refused;  // said no; why has been shown
};

// Takes a page of a board's answer and returns where the next one begins, or nothing when there is
// no more.
using TakePage =
    std::function<std::optional<json::Value>(const std::string& board, const json::Value& data)>;

// Asks `boards` with the verb get and the body `first`. The place that `take` returns goes under
// the key `next_key` into the body for the next page. Fails when a question cannot be sent.
[[nodiscard]] Result<BoardsAsked> ask_pages(FleetClient& client,
                                            const std::set<std::string>& boards,
                                            const json::Value& first, const char* next_key,
                                            DurationNs timeout, const TakePage& take);

}  // namespace laird::control
