// What a bad network does to one message, in virtual time: loses it, repeats it, holds it up, so
// that messages overtake one another. Everything is drawn from the user's own source of chance, in
// an order that never changes: seeds are recorded in documents and tests.
//
// Whether there is a way at all, or it is cut, the user asks first; a message without one draws
// nothing.
#pragma once

#include <algorithm>

#include "base/time.hpp"

namespace laird::lab {

// `quality` has the chances `loss` and `duplicate`, and `delay_min` and `delay_max` in whatever
// unit its user counts time. Calls arrive(delay) for every copy that arrives: none, one or two.
// The copy and the message itself take their own time, and one is lost without the other.
template <class Quality, class Random, class Arrive>
void carry(const Quality& quality, Random& random, Arrive arrive) {
  if (quality.duplicate > 0 && random.chance(quality.duplicate)) {
    arrive(random.between(quality.delay_min, quality.delay_max));
  }
  if (quality.loss > 0 && random.chance(quality.loss)) return;
  arrive(random.between(quality.delay_min, quality.delay_max));
}

// A way on which messages stay in order, as over TCP: none arrives before the one ahead of it.
class InOrder {
 public:
  // When a message arrives that would by itself arrive at `at`.
  [[nodiscard]] TimeNs arrival(TimeNs at) {
    last_ = std::max(last_, at);
    return last_;
  }

 private:
  TimeNs last_ = 0;
};

}  // namespace laird::lab
