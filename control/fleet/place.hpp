// Which board gets a task: the order in which boards that bid are tried. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control {

// A board that is at least this likely to meet the deadline counts as meeting it, and among those
// the one that needs the least energy comes first. Of the others the likeliest comes first.
inline constexpr double kMeetsDeadline = 0.8;

struct Offer {
  std::string board;
  bool admits = false;
  std::string why;  // why the board does not admit the task
  double probability = 0.0;
  std::optional<double> finish_in_s;
  std::optional<double> energy_j;
  std::string basis;

  [[nodiscard]] bool meets() const { return probability >= kMeetsDeadline; }
};

[[nodiscard]] Offer offer_of(const mqtt::Reply& reply);

// The boards that admit the task, the best first, then those that do not, by name.
[[nodiscard]] std::vector<Offer> ranked(const Replies& bids);

}  // namespace laird::control
