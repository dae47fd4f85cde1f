// Who gets how much, decided in one place: what the ledger is compared with.
#pragma once

#include <vector>

#include "agent/core/step/fleet_need.hpp"
#include "lab/watts/workload.hpp"

namespace laird::lab {

// The welfare problem of the ledger, with the same demands, solved exactly: each board's cap.
[[nodiscard]] std::vector<std::int64_t> caps_by_welfare(
    const WattsWorkload& workload, const std::vector<consensus::Demand>& demands,
    std::int64_t divided_mw);

// The demand of a board whose learning curves are known: what its tasks really need, and nothing
// for a task that will not succeed.
[[nodiscard]] consensus::Demand demand_of_oracle(const core::State& state, const WattsBoard& board,
                                                 const core::Division& division);

}  // namespace laird::lab
