// A question to a driver, asked in a process of its own: a driver in trouble may hang or crash
// whoever asks.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::agent::selftest {

// What `ask` returns, in a child that ends after `patience` at the latest. What begins with "! " is
// the words of an error.
[[nodiscard]] Result<std::string> ask_in_own_process(const std::function<std::string()>& ask,
                                                     DurationNs patience);

}  // namespace laird::agent::selftest
