// Readings of a modelled board, for machines without meters: the load comes from the caller.
#pragma once

#include "power/model/modelled_board.hpp"
#include "power/readers/reader.hpp"

namespace laird::power {

class ModelledReader final : public Reader {
 public:
  ModelledReader(const Board& board, DurationNs period_ns) : model_(board), period_ns_(period_ns) {}

  // From `at` on.
  void set_load(TimeNs at, const ModelledLoad& load) {
    advance(at);
    load_ = load;
  }
  [[nodiscard]] std::optional<PowerReading> poll(TimeNs now) override {
    if (now < next_at_) return std::nullopt;
    advance(now);
    // A late poll gives one reading, not the ones that were missed.
    next_at_ = now + period_ns_;
    return model_.read(now, load_);
  }
  [[nodiscard]] TimeNs next_poll_at(TimeNs now) const override {
    return next_at_ > now ? next_at_ : now;
  }
  [[nodiscard]] ReaderStatus status(TimeNs) const override {
    return ReaderStatus{Source::kModelled, true, false, "modelled, not measured", {}};
  }

 private:
  void advance(TimeNs to) {
    if (at_ > INT64_MIN / 2 && to > at_) model_.advance(to - at_, load_);
    at_ = to;
  }

  ModelledBoard model_;
  ModelledLoad load_;
  DurationNs period_ns_;
  TimeNs at_ = INT64_MIN / 2;
  TimeNs next_at_ = INT64_MIN / 2;
};

}  // namespace laird::power
