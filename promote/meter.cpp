#include "promote/meter.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "trainer_protocol/limits.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::promote {
namespace {

namespace protocol = trainer_protocol;

constexpr int kWaitMs = 10'000;
// Between two looks: the ends of an interval of readings lie up to one of them off.
constexpr std::uint64_t kReadingsMin = 4;

}  // namespace

Result<protocol::Metered> AskedMeter::look() {
  const std::string asked = protocol::meter_line();
  if (::send(socket_, asked.data(), asked.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(asked.size())) {
    return fail_errno(errno, "the agent is not asked for its meter");
  }
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < protocol::kLineFromAgentMax) {
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, kWaitMs) <= 0) {
      return fail(Code::kUnavailable, "the agent does not tell of its meter");
    }
    std::array<char, 512> block{};
    const ssize_t n = ::recv(socket_, block.data(), block.size(), 0);
    if (n <= 0) return fail(Code::kUnavailable, "the agent does not tell of its meter");
    line.append(block.data(), static_cast<std::size_t>(n));
  }
  const Result<protocol::FromAgent> message =
      protocol::parse_from_agent(std::string_view(line).substr(0, line.find('\n')));
  LAIRD_TRY(message);
  const auto* told = std::get_if<protocol::Metered>(&*message);
  if (told == nullptr) return fail(Code::kInvalid, "the agent tells of something else");
  if (!told->problem.empty()) return fail(Code::kUnavailable, told->problem);
  return *told;
}

Result<double> power_between(const protocol::Metered& first, const protocol::Metered& last) {
  const double seconds = last.metered_s - first.metered_s;
  if (last.readings < first.readings + kReadingsMin || seconds <= 0.0) {
    return fail(Code::kUnavailable, "the board's power was read too seldom while it was timed");
  }
  return std::max(0.0, last.above_idle_j - first.above_idle_j) / seconds;
}

}  // namespace laird::promote
