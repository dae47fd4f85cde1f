// The fleet's plan as lairctl changes it: read what is in force, change it, sign it, see it taken.
#pragma once

#include <string>

#include "agent/core/state/fleet.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// The plan in force. The retained one counts when this operator signed it; otherwise the boards are
// asked, which have checked whose signature it bears, and the highest revision counts. Not found
// when neither is there.
[[nodiscard]] Result<core::FleetPlan> plan_in_force(FleetClient& client, DurationNs timeout);

// The changes, each to the next revision.
[[nodiscard]] core::FleetPlan with_power(core::FleetPlan plan, std::int64_t power_mw);
[[nodiscard]] core::FleetPlan with_power_until(core::FleetPlan plan, std::int64_t power_mw,
                                               std::int64_t until_unix_ms);
// `budget_too`: also the lasting power budget, so that nothing is limited.
[[nodiscard]] core::FleetPlan without_power_cap(core::FleetPlan plan, bool budget_too);

[[nodiscard]] core::FleetPlan with_member(core::FleetPlan plan, const std::string& id,
                                          std::int64_t floor_mw);
// Its floor is free for the others. Founders stay named: they never change within an epoch.
[[nodiscard]] core::FleetPlan without_member(core::FleetPlan plan, const std::string& id);
// In its place by name, without a floor; nothing when it is there.
void add_member(core::FleetPlan& plan, const std::string& id);

// "power 60.0 W until 2026-11-16T07:00:00.000Z, then 80.0 W"
[[nodiscard]] std::string power_text(const core::FleetPlan& plan, std::int64_t now_unix_ms);
// Publishes and waits until every live board of the plan reports its revision; says how far it came
// ("in force on 7 of 8; n-3 is lost") and gives the exit code. A plan no board would take is not
// published. The client should listen to events, so that refusals are told.
[[nodiscard]] int put_in_force(FleetClient& client, const core::FleetPlan& plan,
                               DurationNs timeout);

}  // namespace laird::control
