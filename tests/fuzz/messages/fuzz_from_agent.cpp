// Any bytes from the agent's side, cut into lines and parsed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "os/line_splitter.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird::trainer_protocol;
  laird::LineSplitter lines(kLineFromAgentMax, laird::Overlong::kSkip);
  const auto take = [](std::string_view line) {
    LAIRD_REQUIRE(line.size() <= kLineFromAgentMax, "a line is within its bound");
    const auto message = parse_from_agent(line);
    if (message) return;
    const std::string told = error_line(message.error().context);
    LAIRD_REQUIRE(told.size() <= kLineToAgentMax, "an error fits its line");
  };
  // In blocks, so that lines are also put together from pieces.
  constexpr std::size_t kBlock = 100;
  for (std::string_view left(reinterpret_cast<const char*>(data), size); !left.empty();
       left.remove_prefix(std::min(kBlock, left.size()))) {
    lines.feed(left.substr(0, kBlock), take);
  }
  return 0;
}
