// The fleet's plan as the JSON operators sign (docs/mqtt-api.md, ctl/all/config).
#pragma once

#include "agent/core/state/fleet.hpp"
#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::shell {

[[nodiscard]] Result<core::FleetPlan> parse_plan(const json::Value& body);
[[nodiscard]] json::Value plan_json(const core::FleetPlan& plan);

}  // namespace laird::shell
