// Any text as JSON: what parses is written and parses again to the same text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "json/value.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird;
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  json::ParseLimits limits;
  limits.comments = (data[0] & 1) != 0;
  const Result<json::Value> value = json::parse(text, "input", limits);
  if (!value) {
    LAIRD_REQUIRE(value.error().context.starts_with("input"), "a refusal names its source");
    return 0;
  }
  const std::string written = json::to_text(*value);
  json::ParseLimits roomy;
  roomy.bytes_max = written.size();
  const Result<json::Value> again = json::parse(written, "written", roomy);
  LAIRD_REQUIRE(again.has_value(), "what is written parses");
  LAIRD_REQUIRE(json::to_text(*again) == written, "what is written stays the same");
  const std::string pretty = json::to_pretty_text(*value);
  roomy.bytes_max = pretty.size();
  const Result<json::Value> third = json::parse(pretty, "pretty", roomy);
  LAIRD_REQUIRE(third.has_value() && json::to_text(*third) == written, "indented it is the same");
  return 0;
}
