// What a board asks for of its fleet's budget, beside what it gets and what it draws.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/core/state/state.hpp"

namespace laird::agent {

// What the board asks for of the resource, in the resource's unit: its floor, and above it what its
// ledger demands for its tasks. Nothing while there is no budget of it, or no ledger to ask with.
[[nodiscard]] std::optional<std::int64_t> demanded(const core::State& state,
                                                   core::Resource resource, TimeNs now);
// The mean power that the board draws now, in mW; nothing while it is not known.
[[nodiscard]] std::optional<std::int64_t> drawn_mw(const core::State& state);

}  // namespace laird::agent
