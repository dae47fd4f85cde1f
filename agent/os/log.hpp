// The agent's log, as its parts see it: a level and a line for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace laird::agent {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

using Log = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace laird::agent
