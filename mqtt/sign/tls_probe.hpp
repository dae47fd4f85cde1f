// Why is there no link? Walks the way to a broker step by step, resolve, connect, TLS, and says in
// words where it ends. The MQTT library only knows that it failed.
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

// Good when the broker was reached and, with TLS, both sides took each other's certificate. Blocks:
// `wait_max` bounds each step but the resolving of the name, which has its own limits.
[[nodiscard]] Status probe(const ProbeTarget& target, DurationNs wait_max);

}  // namespace laird::mqtt
