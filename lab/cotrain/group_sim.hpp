// A whole co-training group in virtual time: boards that compute, a broker that delays and loses,
// and one thing that goes wrong. The rounds are the real ones (consensus/cotrain/group_rounds.hpp);
// the agents' view of each other and the trainers' processes are modelled.
//
// Each board's loss is a bowl of its own, so the model that all should reach is known exactly, and
// a board that is forgotten shows as a distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "consensus/cotrain/group_rounds.hpp"

namespace laird::lab {

enum class Trouble : std::uint8_t {
  kNone,
  kBrokerOff,    // nobody hears anybody for 10 s
  kStopped,      // a trainer stands still for 8 s
  kKilled,       // a board is gone for 6 s and begins again from its checkpoint
  kGone,         // a board never comes back, and is taken out of the fleet after 15 s
  kSilent,       // a board never comes back, and nobody takes it out: needs `wait`
  kLate,         // a board comes when the others are at work
  kAfterTheEnd,  // a board comes when the others are done
  kChurn,        // boards are killed and come back again and again
};
inline constexpr Trouble kTroubles[] = {Trouble::kNone,   Trouble::kBrokerOff,   Trouble::kStopped,
                                        Trouble::kKilled, Trouble::kGone,        Trouble::kSilent,
                                        Trouble::kLate,   Trouble::kAfterTheEnd, Trouble::kChurn};
[[nodiscard]] std::string_view name(Trouble trouble);

struct GroupSimConfig {
  Trouble trouble = Trouble::kNone;
  std::size_t boards = 4;
  std::uint32_t rounds = 120;
  double loss = 0.01;  // of messages
  DurationNs limit = 20 * kMinute;
  std::uint64_t seed = 1;
};

struct GroupSimResult {
  bool hung = false;        // a board that should have ended did not by the limit
  double apart = 0.0;       // the largest distance between two boards' models
  double off = 0.0;         // of any board's model to the best one, in distances of the start
  std::size_t made_by = 0;  // boards that the models say made them
  std::string note;         // what a board that ended says of who made its model
  DurationNs took = 0;
  double bytes = 0.0;  // sent by a board, mean
};

[[nodiscard]] GroupSimResult run_group(const GroupSimConfig& config);

}  // namespace laird::lab
