#include "agent/view/http_request.hpp"

#include <algorithm>

namespace laird::agent {
namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

HttpRequest judge_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || first == 0) {
    return {HttpVerdict::kBad, false};
  }
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!version.starts_with("HTTP/1.") || version.size() != 8 || !is_printable(target) ||
      !target.starts_with('/') || !is_printable(method)) {
    return {HttpVerdict::kBad, false};
  }
  target = target.substr(0, target.find('?'));
  if (target != "/metrics") return {HttpVerdict::kNotFound, method == "HEAD"};
  if (method != "GET" && method != "HEAD") return {HttpVerdict::kNotAllowed, false};
  return {HttpVerdict::kMetrics, method == "HEAD"};
}

std::string_view status_of(HttpVerdict verdict) {
  switch (verdict) {
    case HttpVerdict::kMetrics: return "200 OK";
    case HttpVerdict::kNotFound: return "404 Not Found";
    case HttpVerdict::kNotAllowed: return "405 Method Not Allowed";
    case HttpVerdict::kTooLarge: return "431 Request Header Fields Too Large";
    default: return "400 Bad Request";
  }
}

}  // namespace

HttpRequest judge_request(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kHttpRequestMax).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    return {bytes.size() >= kHttpRequestMax ? HttpVerdict::kTooLarge : HttpVerdict::kIncomplete,
            false};
  }
  return judge_line(bytes.substr(0, bytes.find("\r\n")));
}

std::string http_response(const HttpRequest& request, std::string_view body) {
  const bool good = request.verdict == HttpVerdict::kMetrics;
  const std::string_view status = status_of(request.verdict);
  const std::string text =
      good ? std::string(body) : std::string(status) + "; GET /metrics is all there is\n";
  std::string out = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: ";
  out += good ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
              : "text/plain; charset=utf-8";
  out += "\r\nContent-Length: " + std::to_string(text.size());
  if (request.verdict == HttpVerdict::kNotAllowed) out += "\r\nAllow: GET, HEAD";
  out += "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
  return request.head ? out : out + text;
}

}  // namespace laird::agent
