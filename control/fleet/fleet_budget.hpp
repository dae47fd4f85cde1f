// How lairctl changes the fleet's budget: it reads the one in force, changes it, signs it,
// publishes it and waits until the boards have taken it.
#pragma once

#include <string>

#include "agent/core/state/fleet.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// The budget in force. The retained one is believed when this operator signed it. Otherwise the
// boards are asked, because they check whose signature a budget bears, and the highest revision
// counts. kNotFound when there is neither.
[[nodiscard]] Result<core::FleetBudget> budget_in_force(FleetClient& client, DurationNs timeout);

// The changes. Each makes the next revision.
[[nodiscard]] core::FleetBudget with_power(core::FleetBudget budget, std::int64_t power_mw);
[[nodiscard]] core::FleetBudget with_power_until(core::FleetBudget budget, std::int64_t power_mw,
                                                 std::int64_t until_unix_ms);
// `budget_too`: also the lasting power budget, so that nothing is limited.
[[nodiscard]] core::FleetBudget without_power_cap(core::FleetBudget budget, bool budget_too);

[[nodiscard]] core::FleetBudget with_member(core::FleetBudget budget, const std::string& id,
                                            std::int64_t floor_mw);
// Without a member: its floor is free for the others. The founders stay as they are, because they
// never change within an epoch.
[[nodiscard]] core::FleetBudget without_member(core::FleetBudget budget, const std::string& id);
// Adds a member without a floor, in its place by name. Does nothing when it is a member already.
void add_member(core::FleetBudget& budget, const std::string& id);

// "power 60.0 W until 2026-11-16T07:00:00.000Z, then 80.0 W"
[[nodiscard]] std::string power_text(const core::FleetBudget& budget, std::int64_t now_unix_ms);
// Publishes a budget and waits until every live board of it reports the new revision. Says how far
// that went ("in force on 7 of 8; n-3 is lost") and returns the exit code. A budget that no board
// would take is not published. The client should listen to events, so that refusals are told.
[[nodiscard]] int put_in_force(FleetClient& client, const core::FleetBudget& budget,
                               DurationNs timeout);

}  // namespace laird::control
