// Power and energy as OpenMetrics text (application/openmetrics-text; version=1.0.0).
#pragma once

#include <optional>
#include <string>

#include "power/model/meter.hpp"
#include "power/model/reading.hpp"

namespace laird::power {

// `reading` is the newest, if there is one; counters come from the meter. Ends with "# EOF".
[[nodiscard]] std::string openmetrics(const Board& board, const Meter& meter,
                                      const std::optional<PowerReading>& reading);

}  // namespace laird::power
