// Power and energy as OpenMetrics text (application/openmetrics-text; version=1.0.0).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "power/model/meter.hpp"
#include "power/model/reading.hpp"

namespace laird::power {

// The text, family by family.
class OpenMetrics {
 public:
  // `unit` is the end of the name, or empty; `type`: gauge, counter or info.
  void family(std::string_view name, std::string_view type, std::string_view unit,
              std::string_view help);
  // Of the family begun last; `labels` as label() makes them, with commas between.
  void sample(std::string_view labels, double v);
  void info(std::string_view labels);
  [[nodiscard]] static std::string label(std::string_view key, std::string_view value);
  [[nodiscard]] std::string finish() &&;

 private:
  std::string out_;
  std::string name_;
  bool counter_ = false;
};

// What a task is called; one without a name is left out.
using TaskName = std::function<std::string(TaskKey)>;
void add_power(OpenMetrics& text, const Board& board, const Meter& meter,
               const std::optional<PowerReading>& reading, const TaskName& task_name);

// `reading` is the newest, if there is one; counters come from the meter. Ends with "# EOF".
[[nodiscard]] std::string openmetrics(const Board& board, const Meter& meter,
                                      const std::optional<PowerReading>& reading);

}  // namespace laird::power
