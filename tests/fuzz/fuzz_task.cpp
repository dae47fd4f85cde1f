// Any JSON as a task, and any text as a quantity.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/settings/settings.hpp"
#include "base/require.hpp"
#include "config/units.hpp"
#include "json/value.hpp"
#include "tests/fuzz/events/feed.hpp"

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

// A good task but for one value, which is the input, quoted or as it is: mutations alone would not
// find eleven keys.
std::string almost_good(fuzz::Feed& feed) {
  constexpr std::pair<const char*, const char*> kGood[] = {
      {"name", "\"t\""},       {"trainer", "\"mlp\""},  {"params", "{}"},
      {"deadline", "\"90s\""}, {"target_loss", "0.5"},  {"memory", "\"100MB\""},
      {"lane", "\"gpu\""},     {"report_every", "100"}, {"planned_samples", "0"},
      {"seed", "1"},           {"splittable", "true"}};
  const std::uint32_t odd = feed.below(std::size(kGood));
  const bool as_text = feed.below(2) == 0;
  const std::string rest(feed.rest());
  std::string out = "{";
  for (std::uint32_t i = 0; i < std::size(kGood); ++i) {
    if (i > 0) out += ",";
    out += json::quoted(kGood[i].first) + ":";
    out += i != odd ? kGood[i].second : as_text ? json::quoted(rest) : rest;
  }
  return out + "}";
}

void check_task(std::string_view text) {
  json::ParseLimits limits;
  limits.comments = true;
  const Result<json::Value> value = json::parse(text, "task", limits);
  if (!value) return;
  static_cast<void>(agent::kind_of_file(*value));
  std::vector<config::Problem> problems;
  const core::TaskSpec spec = agent::parse_task(*value, "task", problems);
  if (!problems.empty()) {
    for (const config::Problem& problem : problems) {
      LAIRD_REQUIRE(!problem.text().empty(), "a problem has words");
    }
    return;
  }
  LAIRD_REQUIRE(!spec.name.empty() && spec.name.size() <= core::kNameBytesMax, "a name fits");
  LAIRD_REQUIRE(spec.params.size() <= core::kParamsBytesMax, "params fit");
  LAIRD_REQUIRE((spec.deadline_after > 0) != (spec.deadline_wall > 0), "one deadline is set");
  LAIRD_REQUIRE(spec.memory_bytes > 0, "memory is asked for");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_units(text.substr(0, 64));
  check_task(text);
  fuzz::Feed feed(data, size);
  check_task(almost_good(feed));
  return 0;
}
