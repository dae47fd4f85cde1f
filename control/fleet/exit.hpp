// Exit codes are part of the interface: scripts rely on them.
#pragma once

#include "base/error.hpp"

namespace laird::control {

inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNotFound = 3;
inline constexpr int kRefused = 4;
inline constexpr int kPartial = 5;
inline constexpr int kBug = 70;
inline constexpr int kTimedOut = 124;

[[nodiscard]] int exit_code_of(const Error& error);

// Tells the error on standard error, as "lairctl: ...", and gives the code to exit with.
[[nodiscard]] int complain(const Error& error);

}  // namespace laird::control
