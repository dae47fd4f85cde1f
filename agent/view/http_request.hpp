// As much of HTTP/1.1 as a scraper needs: one GET, one answer, the connection closes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace laird::agent {

inline constexpr std::size_t kHttpRequestMax = 4096;

enum class HttpVerdict : unsigned char {
  kIncomplete,  // read on
  kMetrics,     // GET or HEAD /metrics
  kNotFound,
  kNotAllowed,  // another method
  kTooLarge,
  kBad,
};

struct HttpRequest {
  HttpVerdict verdict = HttpVerdict::kIncomplete;
  bool head = false;  // wants no body
};

// Of what has come so far.
[[nodiscard]] HttpRequest judge_request(std::string_view bytes);

// The whole answer; `body` is the metrics, and used for kMetrics only.
[[nodiscard]] std::string http_response(const HttpRequest& request, std::string_view body);

}  // namespace laird::agent
