// The fleet's list of revoked certificates as this board knows it: in the state folder, so that it
// holds from the first moment of the next start, and never replaced by an older one.
#pragma once

#include <string>
#include <string_view>

#include "mqtt/sign/revocations.hpp"

namespace laird::agent {

class RevocationStore {
 public:
  // `ca`: the PEM file of the authority. A list that is there and not signed by it counts as none:
  // the fleet has a new authority.
  RevocationStore(std::string ca, std::string path);

  [[nodiscard]] const mqtt::Revocations& list() const { return list_; }
  // Why the list that was there at the start is not used; empty when it is, or when there was none.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // A message on the fleet's topic. True when it holds a newer list, which is now in force and on
  // the disk; false when it is the one in force already. An error says why it is refused.
  [[nodiscard]] Result<bool> take(std::string_view payload);

 private:
  const std::string ca_;
  const std::string path_;
  mqtt::Revocations list_;
  std::string problem_;
};

}  // namespace laird::agent
