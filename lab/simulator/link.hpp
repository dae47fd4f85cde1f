// A network link in virtual time: every transfer under way gets an equal part of its bandwidth.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace laird::lab {

class Link {
 public:
  explicit Link(double amount_per_ns) : amount_per_ns_(amount_per_ns) {}

  void start(std::uint32_t id, double amount, TimeNs now);
  // When the next transfer ends if none is started before; kNever: none is under way.
  [[nodiscard]] TimeNs next_at() const;
  // Ends it at next_at() and says which it was; among equals the one started first.
  [[nodiscard]] std::uint32_t finish_next();
  [[nodiscard]] std::size_t under_way() const { return transfers_.size(); }
  // How long it was in use so far.
  [[nodiscard]] DurationNs busy_ns() const { return busy_ns_; }

 private:
  struct Transfer {
    std::uint32_t id;
    double left;
  };
  void advance(TimeNs now);

  double amount_per_ns_;
  std::vector<Transfer> transfers_;  // in the order they were started
  TimeNs now_ = 0;
  DurationNs busy_ns_ = 0;
};

}  // namespace laird::lab
