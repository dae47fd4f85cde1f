#include "http/request.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace laird::http {
namespace {

constexpr std::size_t kTargetMax = 2'048;

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// RFC 9110, 5.6.2: what a method and the name of a header are made of.
bool is_token(std::string_view text) {
  static constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= ' ' && c < '\x7f') || c == '\t'; });
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool read_first_line(std::string_view line, Request& out) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  const bool known = version.size() == 8 && version.starts_with("HTTP/1.") &&
                     (version.back() == '0' || version.back() == '1');
  if (!known || !is_token(method) || !target.starts_with('/') || target.size() > kTargetMax ||
      !is_visible(target)) {
    return false;
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  out.method = method;
  out.path = target.substr(0, mark);
  out.query = target.substr(std::min(mark + 1, target.size()));
  return true;
}

// Headers that steer the connection or the judgement of a request: two of one are a trick.
bool may_come_once(std::string_view name) {
  static constexpr std::string_view kOnce[] = {"host",           "origin",       "authorization",
                                               "content-length", "content-type", "sec-fetch-site"};
  return std::find(std::begin(kOnce), std::end(kOnce), name) != std::end(kOnce);
}

bool read_header(std::string_view line, Request& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || out.headers.size() >= kHeadersMax) return false;
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_token(line.substr(0, colon)) || !is_value(value)) return false;
  std::string name = lower_case(line.substr(0, colon));
  if (may_come_once(name)) {
    for (const auto& [known, unused] : out.headers) {
      if (known == name) return false;
    }
  }
  out.headers.emplace_back(std::move(name), value);
  return true;
}

// Nothing when the head is not one.
std::optional<Request> read_head(std::string_view head) {
  Request out;
  bool first = true;
  while (first || !head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    if (first ? !read_first_line(line, out) : !read_header(line, out)) return std::nullopt;
    head.remove_prefix(std::min(end + 2, head.size()));
    first = false;
  }
  return out;
}

// How many bytes of a body follow; nothing when that is not told in a plain way.
std::optional<std::size_t> body_length(const Request& request) {
  if (!request.header("transfer-encoding").empty()) return std::nullopt;
  const std::string_view told = request.header("content-length");
  if (told.empty()) return 0;
  std::size_t out = 0;
  const char* end = told.data() + told.size();
  const auto parsed = std::from_chars(told.data(), end, out);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) return {};
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

std::string_view Request::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

Parsed parse_request(std::string_view bytes, const Limits& limits) {
  const std::size_t end = bytes.substr(0, limits.head_max).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    return {bytes.size() >= limits.head_max ? Verdict::kHeadTooLarge : Verdict::kIncomplete, {}};
  }
  std::optional<Request> request = read_head(bytes.substr(0, end));
  if (!request) return {Verdict::kBad, {}};
  const std::optional<std::size_t> length = body_length(*request);
  if (!length) return {Verdict::kBad, {}};
  if (*length > limits.body_max) return {Verdict::kBodyTooLarge, {}};
  const std::string_view body = bytes.substr(end + 4);
  if (body.size() < *length) return {Verdict::kIncomplete, {}};
  request->body = body.substr(0, *length);
  return {Verdict::kWhole, std::move(*request)};
}

std::string query_value(std::string_view query, std::string_view key) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == key) {
      return decoded(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return {};
}

}  // namespace laird::http
