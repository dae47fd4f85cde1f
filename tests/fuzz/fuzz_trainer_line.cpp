// Any bytes from the agent's side, cut into lines and parsed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/require.hpp"
#include "trainers/protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird::trainers;
  std::string_view left(reinterpret_cast<const char*>(data), size);
  LineBuffer lines;
  while (!left.empty()) {
    const auto [at, space] = lines.space();
    const std::size_t n = std::min(space, left.size());
    if (n == 0) break;
    std::memcpy(at, left.data(), n);
    lines.commit(n);
    left.remove_prefix(n);
    while (const auto line = lines.next()) {
      const auto message = parse_message(*line);
      if (message) continue;
      const std::string told = error_line(message.error().context);
      LAIRD_REQUIRE(told.size() <= kLineToAgentMax, "an error fits its line");
    }
    if (lines.overlong()) break;
  }
  return 0;
}
