// One HTTP/1.1 request, cut out of what a connection has sent so far. Pure.
//
// As much of HTTP as a page on the same machine and a scraper need: a head of bounded size, a body
// whose length is told. Whatever is beyond that (chunks, folded lines, two values of a header that
// must have one) is refused, since servers that read it differently have been tricked by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace laird::http {

inline constexpr std::size_t kHeadersMax = 64;

struct Limits {
  std::size_t head_max = 8 * 1024;  // bytes up to the empty line
  std::size_t body_max = 0;
};

enum class Verdict : std::uint8_t {
  kIncomplete,  // read on
  kWhole,
  kBad,
  kHeadTooLarge,
  kBodyTooLarge,
};

struct Request {
  std::string method;
  std::string path;                                          // without the query, not decoded
  std::string query;                                         // behind the ?, not decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  // Its value; empty when it is not there. Headers that must not come twice do not.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

struct Parsed {
  Verdict verdict = Verdict::kIncomplete;
  Request request;  // filled in when it is whole
};

[[nodiscard]] Parsed parse_request(std::string_view bytes, const Limits& limits);

// The value of a key of a query, decoded; empty when it is not there or not decodable.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view key);

}  // namespace laird::http
