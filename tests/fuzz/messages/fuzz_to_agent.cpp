// Any line a trainer might send, on its socket and on its standard output.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace {

using namespace laird::trainer_protocol;

void check(const TrainerMessage& message) {
  LAIRD_REQUIRE(message.samples <= kSamplesMax, "counts are exact");
  LAIRD_REQUIRE(message.planned_samples <= kSamplesMax, "plans are exact");
  LAIRD_REQUIRE(std::isfinite(message.loss), "a loss is a number");
  LAIRD_REQUIRE(message.text.size() <= kLineToAgentMax, "a text is no longer than its line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto message = parse_trainer_line(line)) {
    check(*message);
  } else {
    LAIRD_REQUIRE(!message.error().context.empty(), "a refusal says why");
  }
  if (const auto message = parse_progress_line(line)) check(*message);
  // A mutation seldom finds the mark of a progress line, so half of the work starts behind it.
  const std::string marked = "laird: samples=" + std::string(line);
  if (const auto message = parse_progress_line(marked)) check(*message);
  return 0;
}
