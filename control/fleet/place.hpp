// Which board gets a task: the bids in the order in which they are tried. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mqtt/codec/messages.hpp"

namespace laird::control {

// A board that is this likely to meet the deadline counts as one that meets it; among those the
// least energy decides. Below, the likeliest comes first.
inline constexpr double kMeetsDeadline = 0.8;

struct Offer {
  std::string board;
  bool admits = false;
  std::string why;  // it does not
  double probability = 0.0;
  std::optional<double> finish_in_s;
  std::optional<double> energy_j;
  std::string basis;

  [[nodiscard]] bool meets() const { return probability >= kMeetsDeadline; }
};

[[nodiscard]] Offer offer_of(const mqtt::Reply& reply);

// Those that admit it, best first, then those that do not, by name.
[[nodiscard]] std::vector<Offer> ranked(const std::map<std::string, mqtt::Reply>& bids);

}  // namespace laird::control
