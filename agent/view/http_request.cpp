#include "agent/view/http_request.hpp"

#include "http/request.hpp"
#include "http/response.hpp"

namespace laird::agent {
namespace {

int status_of(HttpVerdict verdict) {
  switch (verdict) {
    case HttpVerdict::kMetrics: return 200;
    case HttpVerdict::kNotFound: return 404;
    case HttpVerdict::kNotAllowed: return 405;
    case HttpVerdict::kTooLarge: return 431;
    default: return 400;
  }
}

}  // namespace

HttpRequest judge_request(std::string_view bytes) {
  // Whoever sends a body waits for its answer all the same.
  const http::Parsed parsed = http::parse_request(bytes, {kHttpRequestMax, 0});
  switch (parsed.verdict) {
    case http::Verdict::kIncomplete: return {HttpVerdict::kIncomplete, false};
    case http::Verdict::kHeadTooLarge: return {HttpVerdict::kTooLarge, false};
    case http::Verdict::kBodyTooLarge: return {HttpVerdict::kNotAllowed, false};
    case http::Verdict::kBad: return {HttpVerdict::kBad, false};
    case http::Verdict::kWhole: break;
  }
  const std::string& method = parsed.request.method;
  if (parsed.request.path != "/metrics") return {HttpVerdict::kNotFound, method == "HEAD"};
  if (method != "GET" && method != "HEAD") return {HttpVerdict::kNotAllowed, false};
  return {HttpVerdict::kMetrics, method == "HEAD"};
}

std::string http_response(const HttpRequest& request, std::string_view body) {
  const bool good = request.verdict == HttpVerdict::kMetrics;
  http::Response out;
  out.status = status_of(request.verdict);
  if (good) {
    out.type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    out.body = body;
  } else {
    out.body = std::string(http::status_text(out.status)) + "; GET /metrics is all there is\n";
  }
  if (request.verdict == HttpVerdict::kNotAllowed) out.headers = "Allow: GET, HEAD\r\n";
  return http::to_text(out, request.head);
}

}  // namespace laird::agent
