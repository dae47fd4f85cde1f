// The founding of a fleet, or its founding anew when a majority of the keepers has lost its
// journals and with them the register.
//
// A founding is unanimous. The lowest member calls the roll. If all members answer, twice, and show
// that the register is lost, it names a new founding epoch. Every member then leaves all earlier
// epochs, journals that, and says so; the new epoch starts only when all have said so. So shares of
// two epochs are never in use at once. The number of an epoch is the configured one plus the sum of
// all incarnations: no two foundings share a number, even if nobody remembers the earlier one.
// docs/ledger.md, "Founding, and founding anew".
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

struct Founding {
  // Of every member: what it has agreed to.
  std::uint32_t promised = 0;  // the epoch for which it has left all others; 0: none
  std::vector<Account> accounts;
  TimeNs promised_at = 0;
  // Of the lowest member: the roll call under way.
  struct Answer {
    Account from;
    PresentBody body;
    void archive(Archive& ar);
  };
  TimeNs wanted_until = INT64_MIN;  // until then somebody is known to wait for a founding
  TimeNs called_at = 0;
  TimeNs call_since = 0;
  std::uint32_t call = 0;
  std::uint8_t lost_calls = 0;  // roll calls in a row that found the register lost
  std::vector<Answer> answers;
  // Of the lowest member: the founding under way.
  std::uint32_t founding_epoch = 0;  // being founded; 0: none
  bool starting = false;             // all have left the earlier epochs
  std::vector<Account> list;         // the accounts of the new epoch
  std::vector<Account> left;         // those that have left the earlier epochs
  void archive(Archive& ar);
};

}  // namespace laird::consensus
