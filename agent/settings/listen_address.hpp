// An address to listen on, as the config names it.
#pragma once

#include <sys/socket.h>

#include <string>

#include "base/error.hpp"

namespace laird::agent {

// "127.0.0.1:9477" or "[::1]:9477": numbers only, since a name could mean any address.
struct ListenAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  bool loopback = false;
};
[[nodiscard]] Result<ListenAddress> parse_listen_address(const std::string& text);

}  // namespace laird::agent
