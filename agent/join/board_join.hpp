// `laird join`: a board that came from an image gets its identity. Two halves, so that what speaks
// with the network cannot write the board's config, and what writes it hears nobody:
//
//   laird join            as the user laird: makes the key, asks, and keeps the answer
//   laird join --install  as root, without a network: judges the answer anew and puts it in place
//
// What came with the image (join.json, ca.crt, join.crt, join.key) belongs to root. Every file
// appears whole, laird.json last, so that a cut at any moment is healed by the next start.
#pragma once

#include <string>

namespace laird::agent {

struct JoinOptions {
  std::string version;
  std::string image = "/etc/laird/join";      // what came with it
  std::string state = "/var/lib/laird/join";  // the key and the answer, until they are installed
  std::string etc = "/etc/laird";             // where laird.json and tls/ go
  std::string group = "laird";                // may read them
  std::string root;                           // whose /sys tells the serial number
  bool install = false;
};

// The code to exit with: 0 when the board has what this half is for.
[[nodiscard]] int join_fleet(const JoinOptions& options);

}  // namespace laird::agent
