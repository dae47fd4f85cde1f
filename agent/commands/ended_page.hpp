// The tasks that are over, a page at a time: what the board's state still knows of them. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/core/state/state.hpp"
#include "json/value.hpp"

namespace laird::agent {

inline constexpr std::size_t kEndedPageBytesMax = 40 * 1024;

// {"ended":[...],"more":bool}: those that ended last and fit into one answer, the latest first, of
// those that ended not before `since_ms` (Unix time) and, when given, before the task `before` did.
// Tasks that were put away are left out. `more`: older ones were left out.
[[nodiscard]] json::Value ended_page(const core::State& state, std::int64_t since_ms,
                                     std::optional<core::TaskKey> before);

}  // namespace laird::agent
