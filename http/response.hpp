// The head of an answer. Pure.
#pragma once

#include <string>
#include <string_view>

namespace laird::http {

struct Response {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body;
  std::string headers;  // more of them, each with its \r\n
};

// "404 Not Found"
[[nodiscard]] std::string_view status_text(int status);

// The whole answer, after which the connection closes. Nothing of it may be kept by a cache.
// `head`: the request was a HEAD, which wants no body.
[[nodiscard]] std::string to_text(const Response& response, bool head = false);

}  // namespace laird::http
