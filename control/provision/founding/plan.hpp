// What a fleet is founded with: who its boards are, what each keeps whatever happens, and what all
// may draw together. `lairctl fleet create` writes it into the folder of the fleet's certificates
// (fleet.json), so that a second call goes on where the first one ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/state/fleet.hpp"
#include "base/error.hpp"

namespace laird::control {

struct PlannedBoard {
  std::string id;
  std::string type;  // a file of board_configs: "orin-nano-8gb"; empty: unknown
  std::int64_t floor_mw = 0;
  bool operator==(const PlannedBoard&) const = default;
};

struct FoundingPlan {
  std::string fleet;
  std::vector<std::string> hosts;  // the names and addresses the broker is reached by
  std::uint16_t port = 8883;
  std::string op;  // the first operator
  std::int64_t budget_mw = core::kUnlimited;
  std::vector<PlannedBoard> boards;  // ascending by id; they are the founders
  bool operator==(const FoundingPlan&) const = default;

  [[nodiscard]] std::string broker_url() const;
  // The budget that every board's own config says.
  [[nodiscard]] core::FleetBudget budget() const;
};

// "n-1=orin-nano-8gb", or "n-1" alone. The floor is the asked one, else the lowest cap of the
// board's file that is not below what the module draws idle. A floor below that draw is refused
// with the number: the board would exceed it doing nothing.
[[nodiscard]] Result<PlannedBoard> plan_board(const std::string& text,
                                              std::optional<std::int64_t> floor_mw);
// The same for a module whose name is known: what `join` knows of a board.
[[nodiscard]] Result<std::int64_t> floor_for(const std::string& id, const std::string& type,
                                             std::optional<std::int64_t> floor_mw);

// Names, counts, and that the floors together fit the budget.
[[nodiscard]] Status check_plan(const FoundingPlan& plan);

[[nodiscard]] std::string plan_text(const FoundingPlan& plan);
[[nodiscard]] Result<FoundingPlan> parse_plan(std::string_view text, const std::string& path);
// The plan of the fleet whose certificates are in the folder; kNotFound when there is none.
[[nodiscard]] Result<FoundingPlan> read_plan(const std::string& pki);
[[nodiscard]] Status write_plan(const std::string& pki, const FoundingPlan& plan);

}  // namespace laird::control
