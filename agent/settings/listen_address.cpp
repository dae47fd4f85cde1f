#include "agent/settings/listen_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace laird::agent {

Result<ListenAddress> parse_listen_address(const std::string& text) {
  const auto wrong = [&text] {
    return fail(Code::kInvalid, "'" + text +
                                    "' is no address to listen on; write \"127.0.0.1:9477\" or "
                                    "\"[::1]:9477\"");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong();
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port == 0 || port > 65'535) return wrong();
  std::string host = text.substr(0, colon);
  ListenAddress out;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    host = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return wrong();
    out.loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
    out.length = sizeof v6;
    std::memcpy(&out.address, &v6, sizeof v6);
    return out;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return wrong();
  out.loopback = (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  out.length = sizeof v4;
  std::memcpy(&out.address, &v4, sizeof v4);
  return out;
}

}  // namespace laird::agent
