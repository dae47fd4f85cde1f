#include "control/fleet/place.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "control/fleet/fleet_view.hpp"

namespace laird::control {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

bool is_better(const Offer& a, const Offer& b) {
  if (a.admits != b.admits) return a.admits;
  if (!a.admits) return a.board < b.board;
  if (a.meets() != b.meets()) return a.meets();
  const auto rank = [](const Offer& o) {
    const double energy = o.energy_j.value_or(kUnknown);
    const double finish = o.finish_in_s.value_or(kUnknown);
    const double hope = o.meets() ? 0.0 : -o.probability;
    return std::tuple(hope, energy, finish, o.board);
  };
  return rank(a) < rank(b);
}

}  // namespace

Offer offer_of(const mqtt::Reply& reply) {
  Offer out;
  out.board = reply.node;
  const json::Value* admits = reply.data.find("admits", json::Kind::kBool);
  out.admits = reply.code == mqtt::ReplyCode::kOk && admits != nullptr && admits->as_bool();
  if (!out.admits) {
    const json::Value* why = reply.data.find("why", json::Kind::kString);
    out.why = why == nullptr ? reply.text : why->as_string();
    return out;
  }
  out.probability = std::clamp(number_at(reply.data, "probability").value_or(0.0), 0.0, 1.0);
  out.finish_in_s = number_at(reply.data, "finish_in_s");
  out.energy_j = number_at(reply.data, "energy_j");
  if (const json::Value* basis = reply.data.find("basis", json::Kind::kString)) {
    out.basis = basis->as_string();
  }
  return out;
}

std::vector<Offer> ranked(const Replies& bids) {
  std::vector<Offer> out;
  out.reserve(bids.size());
  for (const auto& [board, reply] : bids) out.push_back(offer_of(reply));
  std::sort(out.begin(), out.end(), is_better);
  return out;
}

}  // namespace laird::control
