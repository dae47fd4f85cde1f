// Quantities as people write them: "90s", "1500ms", "2h", "512MB", "15W".
//
// A bare number is refused: is 90 seconds or milliseconds? The error says what to write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::config {

// ns us ms s m h d; a decimal fraction is fine ("1.5h"). Refuses negatives and overflow.
[[nodiscard]] Result<DurationNs> parse_duration(std::string_view text);
// B kB MB GB (powers of 1000), KiB MiB GiB (powers of 1024); the answer is in bytes.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);
// mW W kW; the answer is in milliwatts.
[[nodiscard]] Result<std::int64_t> parse_power(std::string_view text);

// The shortest exact way to write it: 90 s -> "90s", 1500000000 -> "1500ms".
[[nodiscard]] std::string format_duration(DurationNs value);
[[nodiscard]] std::string format_size(std::int64_t bytes);
[[nodiscard]] std::string format_power(std::int64_t milliwatts);

}  // namespace laird::config
