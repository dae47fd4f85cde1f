// What the page may ask for, as a run of lairctl itself: an order becomes the arguments of the verb
// that a person would have typed, with its checks, its signature and its answer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::control::serve {

inline constexpr std::size_t kOrderBytesMax = 64 * 1024;

struct Order {
  std::vector<std::string> arguments;  // without the program's name and the options of access
  std::string input;                   // for standard input: a task
};

// {"verb":"cancel","board":"n-1","task":"night-run"}; {"verb":"pause"|"resume"} alike;
// {"verb":"drain"|"undrain","board":"n-1"}; {"verb":"cap","power":"15W","for":"1h","board":"n-1"},
// without a board for the fleet, with the power "clear" to take it back;
// {"verb":"submit","task":"<text>","board":"n-1"}, without a board for the one that suits.
[[nodiscard]] Result<Order> parse_order(std::string_view body);

}  // namespace laird::control::serve
