// Any bytes as an HTTP request: what is whole stays whole when more follows, and keeps to its
// bounds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/require.hpp"
#include "http/request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const http::Limits limits{4'096, 1'024};
  const http::Parsed parsed = http::parse_request(bytes, limits);
  if (parsed.verdict == http::Verdict::kIncomplete) {
    LAIRD_REQUIRE(size < limits.head_max + limits.body_max, "a request has an end");
  }
  if (parsed.verdict != http::Verdict::kWhole) return 0;
  const http::Request& request = parsed.request;
  LAIRD_REQUIRE(request.path.starts_with('/'), "a path begins at the root");
  LAIRD_REQUIRE(request.body.size() <= limits.body_max, "a body keeps to its bound");
  LAIRD_REQUIRE(request.headers.size() <= http::kHeadersMax, "so do the headers");
  const std::string decoded = http::query_value(request.query, "task");
  LAIRD_REQUIRE(decoded.size() <= request.query.size(), "decoding makes nothing longer");
  const http::Parsed again = http::parse_request(std::string(bytes) + "x", limits);
  LAIRD_REQUIRE(again.verdict == http::Verdict::kWhole && again.request.body == request.body &&
                    again.request.path == request.path,
                "what follows a request does not change it");
  return 0;
}
