#include "lab/simulator/link.hpp"

#include <algorithm>
#include <cmath>

#include "base/require.hpp"

namespace laird::lab {

void Link::advance(TimeNs now) {
  if (!transfers_.empty() && now > now_) {
    busy_ns_ += now - now_;
    const double each =
        amount_per_ns_ * static_cast<double>(now - now_) / static_cast<double>(transfers_.size());
    for (Transfer& transfer : transfers_) transfer.left -= each;
  }
  now_ = std::max(now_, now);
}

void Link::start(std::uint32_t id, double amount, TimeNs now) {
  advance(now);
  transfers_.push_back({id, amount});
}

TimeNs Link::next_at() const {
  if (transfers_.empty()) return kNever;
  double least = transfers_.front().left;
  for (const Transfer& transfer : transfers_) least = std::min(least, transfer.left);
  const double ns = std::max(0.0, least) * static_cast<double>(transfers_.size()) / amount_per_ns_;
  return now_ + static_cast<DurationNs>(std::ceil(ns));
}

std::uint32_t Link::finish_next() {
  LAIRD_REQUIRE(!transfers_.empty(), "no transfer is under way");
  advance(next_at());
  const auto done =
      std::min_element(transfers_.begin(), transfers_.end(),
                       [](const Transfer& a, const Transfer& b) { return a.left < b.left; });
  const std::uint32_t id = done->id;
  transfers_.erase(done);
  return id;
}

}  // namespace laird::lab
