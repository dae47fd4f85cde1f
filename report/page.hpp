// The story of one board or a fleet as one page that works from a file, without a network: the
// verdict first, then tables, and charts that a script draws. Without the script the verdict and
// the tables are there all the same.
#pragma once

#include <span>
#include <string>

#include "report/story/story.hpp"
#include "report/story/verdict.hpp"

namespace laird::report {

// A limit on everything the page holds; what it leaves out it says, and --csv has it.
inline constexpr std::size_t kPageTasksMax = 1000;   // in the table
inline constexpr std::size_t kPageDetailsMax = 200;  // with their why and their curve
inline constexpr std::size_t kPageForecastsMax = 2000;
inline constexpr std::size_t kPageEventsMax = 400;
inline constexpr std::size_t kPageDecisionsMax = 1500;
inline constexpr std::size_t kPagePlacesMax = 12'000;  // of all tasks' curves, and of their tracks

[[nodiscard]] std::string page_of(std::span<const story::BoardStory> boards,
                                  const story::Verdict& verdict);

}  // namespace laird::report
