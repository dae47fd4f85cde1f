// Assignments to begin with, and orders for the tasks of a board.
//
// Sources: MCT and LPT-MCT, minimum completion time in the order given and longest first (Ibarra
// and Kim, 1977); prices, each task where the bound's prices make it cheapest; shares, the
// fractional plan of the bound rounded (after Lenstra, Shmoys and Tardos, 1990: all but a few tasks
// are whole in it).
#pragma once

#include "agent/placement/planner/timetable.hpp"
#include "agent/placement/search/bound.hpp"
#include "agent/placement/search/row_search.hpp"

namespace laird::placement {

enum class FirstComes : std::uint8_t { kListed, kLongest, kDeadline };
[[nodiscard]] Assignment by_completion(const Instance& instance, const Rows& rows,
                                       FirstComes first);
[[nodiscard]] Assignment by_prices(const Instance& instance, const Rows& rows, const Bound& bound);
[[nodiscard]] Assignment by_shares(const Instance& instance, const Rows& rows, const Bound& bound);

// The best order of the tasks of a board among a few rules: deadlines first, then longest first,
// largest area first, most GPU first, most memory first.
[[nodiscard]] Order best_rule(const Instance& instance, Timetable& timetable, std::size_t board,
                              const Order& tasks, BoardResult* result);

// An order per board for an assignment, and what it gives.
[[nodiscard]] std::vector<Order> orders_for(const Instance& instance, const Assignment& assignment);

}  // namespace laird::placement
