// From a parsed line of tegrastats to a reading, by a board's rules.
#pragma once

#include "power/model/reading.hpp"
#include "power/readers/tegrastats/tegrastats_line.hpp"

namespace laird::power {

// `at` is the caller's clock: the time in the line has no zone and a resolution of one second.
[[nodiscard]] PowerReading reading_of(const Line& line, const Board& board, TimeNs at,
                                      Source source);

// Total power of a line without building a reading.
[[nodiscard]] RuleTotal total_of(const Line& line, const Board& board);

// The line as one JSON object with no newline, appended to `out`.
void append_json(const Line& line, const Board& board, std::string& out);

}  // namespace laird::power
