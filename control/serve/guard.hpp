// Who may see the page and who may not: the judgement of a request before anything is done. Pure.
//
// A page on the loopback is reached by every program and every web page of the machine. The token
// keeps out programs of others; it travels in a header that only our own page sets, so a foreign
// page that makes the browser send requests has no part of it. The name in Host keeps out a foreign
// page whose name was made to point here (DNS rebinding), Origin and Sec-Fetch-Site whatever a
// foreign page sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/request.hpp"

namespace laird::control::serve {

struct Guard {
  std::string token;
  std::vector<std::string> hosts;  // names and addresses that the page is known by
  bool any_address = false;        // it listens everywhere: any address in numbers will do
  bool control = false;
};

struct Judgement {
  int status = 200;  // 200: go on
  std::string why;
};

// The page's own files hold no data of the fleet and need no token; all else does.
[[nodiscard]] bool is_public(std::string_view path);
[[nodiscard]] Judgement judge(const http::Request& request, const Guard& guard);

// Takes as long for texts that differ in their first letter as for those that differ in the last.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

// "127.0.0.1" of "127.0.0.1:9478", "[::1]" of "[::1]:9478"; empty when it is neither.
[[nodiscard]] std::string host_of(std::string_view host_and_port);

// What every answer of the page says to the browser.
[[nodiscard]] std::string_view safety_headers();

}  // namespace laird::control::serve
