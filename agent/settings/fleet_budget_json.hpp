// The fleet's budget as the JSON operators sign (docs/mqtt-api.md, ctl/all/config).
#pragma once

#include "agent/core/state/fleet.hpp"
#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::agent {

[[nodiscard]] Result<core::FleetBudget> parse_fleet_budget(const json::Value& body);
[[nodiscard]] json::Value fleet_budget_json(const core::FleetBudget& budget);

}  // namespace laird::agent
