// What became of each message that boards of a fleet sent one another, by the journals of both:
// when it was there, or that it was lost. A message of another life between the same two boards at
// the same time fares alike.
//
// Assumptions: the boards' clocks agree, as they do by the fleet's own rules; a board listens at
// its timers alone (agent/agent.cpp, set_wake), so a message came between two of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/whatif/recording.hpp"

namespace laird::whatif {

class Carrier {
 public:
  Carrier() = default;
  // Takes the messages out of the recordings: they are as large as all the rest.
  explicit Carrier(std::span<Recording* const> boards);

  // When the nth message that was sent at that moment arrives, by the wall clock; nothing: it is
  // lost.
  [[nodiscard]] std::optional<TimeNs> arrives(const std::string& from, const std::string& to,
                                              TimeNs sent_wall, std::size_t nth) const;
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  static constexpr DurationNs kLost = -1;
  // In the order in which they were sent.
  struct Fate {
    TimeNs sent_wall = 0;
    DurationNs took = 0;
  };
  using Pair = std::pair<std::string, std::string>;  // from, to
  struct Mail;

  void match(Mail& mail);
  static void keep_fates(std::vector<Fate>& fates, const Mail& mail);

  std::map<Pair, std::vector<Fate>> fates_;
  std::uint64_t messages_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace laird::whatif
