// A story in short, for programs: docs/schema/journal-report.json.
#pragma once

#include <span>

#include "json/value.hpp"
#include "report/story/verdict.hpp"

namespace laird::report {

[[nodiscard]] json::Value summary_of(std::span<const story::BoardStory> boards,
                                     const story::Verdict& verdict);

}  // namespace laird::report
