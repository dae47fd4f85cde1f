// Addresses of brokers: mqtts://host[:8883], mqtt://host[:1883].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::mqtt {

struct Address {
  bool tls = true;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 8883;

  [[nodiscard]] std::string host_and_port() const;
};

[[nodiscard]] Result<Address> parse_address(std::string_view text);

}  // namespace laird::mqtt
