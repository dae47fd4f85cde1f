// The library opens the sockets and gives no way to them; two things it leaves undone matter here.
//
// - Without TCP_NODELAY a small packet waits for the acknowledgement of the one before, which the
//   other side delays by 40 ms: a command and its answer took 90 ms on loopback, now about 1.
// - Without close-on-exec every program we start holds the connection open: the broker would not
//   notice that we died while one of them lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace laird::mqtt {

// Sets both on this process's TCP connections to one of the ports; how many there are.
std::size_t tend_connections(const std::vector<std::uint16_t>& ports);

}  // namespace laird::mqtt
