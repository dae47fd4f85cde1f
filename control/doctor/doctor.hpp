// What doctor looks at, and what it found.
#pragma once

#include <string>
#include <vector>

#include "control/fleet/access.hpp"

namespace laird::control {

enum class Health : unsigned char { kOk, kSkipped, kWarning, kFailed };

[[nodiscard]] std::string_view name(Health health);

struct Finding {
  Health health = Health::kOk;
  std::string subject;
  std::string text;
  std::string remedy;  // empty when there is nothing to mend
};

using Findings = std::vector<Finding>;

// This machine: clock, agent, journal, disk, files, control groups, power readers.
[[nodiscard]] Findings check_machine(const std::string& socket, DurationNs timeout);
// The way to the fleet and the fleet itself, with commands that change nothing.
[[nodiscard]] Findings check_fleet(Access access, DurationNs timeout);

// For tests: the same checks over given facts.
[[nodiscard]] Finding judge_disk(const std::string& path, std::uint64_t free_bytes,
                                 std::uint64_t all_bytes);
// `cell` as the agent's status has it.
[[nodiscard]] Finding judge_cell(const json::Value& cell);
[[nodiscard]] Finding judge_certificate(const std::string& path, std::int64_t valid_for_s);
[[nodiscard]] Finding judge_clock(const std::string& board, double ahead_s);

}  // namespace laird::control
