// The fleet's budget as lairctl changes it: read what is in force, change it, sign it, see it
// taken.
#pragma once

#include <string>

#include "agent/core/state/fleet.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// The budget in force. The retained one counts when this operator signed it; otherwise the boards
// are asked, which have checked whose signature it bears, and the highest revision counts. Not
// found when neither is there.
[[nodiscard]] Result<core::FleetBudget> budget_in_force(FleetClient& client, DurationNs timeout);

// The changes, each to the next revision.
[[nodiscard]] core::FleetBudget with_power(core::FleetBudget budget, std::int64_t power_mw);
[[nodiscard]] core::FleetBudget with_power_until(core::FleetBudget budget, std::int64_t power_mw,
                                                 std::int64_t until_unix_ms);
// `budget_too`: also the lasting power budget, so that nothing is limited.
[[nodiscard]] core::FleetBudget without_power_cap(core::FleetBudget budget, bool budget_too);

[[nodiscard]] core::FleetBudget with_member(core::FleetBudget budget, const std::string& id,
                                            std::int64_t floor_mw);
// Its floor is free for the others. Founders stay named: they never change within an epoch.
[[nodiscard]] core::FleetBudget without_member(core::FleetBudget budget, const std::string& id);
// In its place by name, without a floor; nothing when it is there.
void add_member(core::FleetBudget& budget, const std::string& id);

// "power 60.0 W until 2026-11-16T07:00:00.000Z, then 80.0 W"
[[nodiscard]] std::string power_text(const core::FleetBudget& budget, std::int64_t now_unix_ms);
// Publishes and waits until every live board of the budget reports its revision; says how far it
// came
// ("in force on 7 of 8; n-3 is lost") and gives the exit code. A budget no board would take is not
// published. The client should listen to events, so that refusals are told.
[[nodiscard]] int put_in_force(FleetClient& client, const core::FleetBudget& budget,
                               DurationNs timeout);

}  // namespace laird::control
