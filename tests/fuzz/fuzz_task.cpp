// Any JSON as a task, and any text as a quantity.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/shell/settings.hpp"
#include "base/require.hpp"
#include "config/units.hpp"
#include "json/value.hpp"

namespace {

using namespace laird;

void check_units(std::string_view text) {
  if (const auto duration = config::parse_duration(text)) {
    const auto again = config::parse_duration(config::format_duration(*duration));
    LAIRD_REQUIRE(again.has_value() && *again == *duration, "a duration is written exactly");
  }
  if (const auto size = config::parse_size(text)) {
    const auto again = config::parse_size(config::format_size(*size));
    LAIRD_REQUIRE(again.has_value() && *again == *size, "a size is written exactly");
  }
  if (const auto power = config::parse_power(text)) {
    const auto again = config::parse_power(config::format_power(*power));
    LAIRD_REQUIRE(again.has_value() && *again == *power, "a power is written exactly");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_units(text.substr(0, 64));
  json::ParseLimits limits;
  limits.comments = true;
  const Result<json::Value> value = json::parse(text, "task", limits);
  if (!value) return 0;
  static_cast<void>(shell::kind_of_file(*value));
  std::vector<config::Problem> problems;
  const core::TaskSpec spec = shell::parse_task(*value, "task", problems);
  if (!problems.empty()) {
    for (const config::Problem& problem : problems) {
      LAIRD_REQUIRE(!problem.text().empty(), "a problem has words");
    }
    return 0;
  }
  LAIRD_REQUIRE(!spec.name.empty() && spec.name.size() <= core::kNameBytesMax, "a name fits");
  LAIRD_REQUIRE(spec.params.size() <= core::kParamsBytesMax, "params fit");
  LAIRD_REQUIRE((spec.deadline_after > 0) != (spec.deadline_wall > 0), "one deadline is set");
  LAIRD_REQUIRE(spec.memory_bytes > 0, "memory is asked for");
  return 0;
}
