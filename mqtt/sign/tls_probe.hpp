// Finds out why there is no link: goes the way to a broker step by step (resolve, connect, TLS) and
// says at which step it fails. The MQTT library only says that it failed.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::mqtt {

struct ProbeTarget {
  std::string host;
  std::uint16_t port = 8883;
  bool tls = true;
  std::string ca;  // files, as a client has them
  std::string cert;
  std::string key;
};

// Succeeds when the broker was reached and, with TLS, both sides accepted each other's certificate.
// Blocks. `wait_max` bounds each step except resolving the name, which has its own limits.
[[nodiscard]] Status probe(const ProbeTarget& target, DurationNs wait_max);

}  // namespace laird::mqtt
