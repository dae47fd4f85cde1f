#include "mqtt/client/address.hpp"

#include <algorithm>
#include <charconv>

namespace laird::mqtt {
namespace {

constexpr std::string_view kWithTls = "mqtts://";
constexpr std::string_view kWithoutTls = "mqtt://";
constexpr std::size_t kHostBytesMax = 253;

bool is_host(std::string_view text, bool bracketed) {
  const auto fine = [bracketed](char c) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    return plain || (bracketed && (c == ':' || c == '%'));
  };
  return !text.empty() && text.size() <= kHostBytesMax &&
         std::all_of(text.begin(), text.end(), fine);
}

}  // namespace

std::string Address::host_and_port() const {
  const bool bracketed = host.find(':') != std::string::npos;
  return (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parse_address(std::string_view text) {
  const auto refuse = [text] {
    return fail(Code::kInvalid, "'" + std::string(text.substr(0, 100)) +
                                    "' is no broker's address: write mqtts://host:8883");
  };
  Address out;
  std::string_view rest = text;
  if (rest.substr(0, kWithTls.size()) == kWithTls) {
    rest.remove_prefix(kWithTls.size());
  } else if (rest.substr(0, kWithoutTls.size()) == kWithoutTls) {
    rest.remove_prefix(kWithoutTls.size());
    out.tls = false;
    out.port = 1883;
  } else {
    return refuse();
  }
  const bool bracketed = !rest.empty() && rest.front() == '[';
  std::size_t host_end = std::min(rest.find(':'), rest.size());
  if (bracketed) {
    host_end = rest.find(']');
    if (host_end == std::string_view::npos) return refuse();
    out.host = rest.substr(1, host_end - 1);
    ++host_end;
  } else {
    out.host = rest.substr(0, host_end);
  }
  if (!is_host(out.host, bracketed)) return refuse();
  rest.remove_prefix(host_end);
  if (rest.empty()) return out;
  if (rest.front() != ':') return refuse();
  rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.port);
  if (error != std::errc{} || end != rest.data() + rest.size() || out.port == 0) return refuse();
  return out;
}

}  // namespace laird::mqtt
