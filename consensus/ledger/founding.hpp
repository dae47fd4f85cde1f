// The founding of a fleet, or its founding anew when a majority of the keepers has lost its
// journals and with them the register.
//
// A founding is unanimous. The lowest member calls the roll. If all members answer, twice, and show
// that the register is lost, it names a new founding epoch. Every member then leaves all earlier
// epochs, journals that, and says so to all; a member starts the new epoch only when it has heard
// that of all, or two members say that they have. So shares of two epochs are never in use at once,
// and the lowest member alone starts nothing. A member that is at work by its own knowledge leaves
// its epoch only after it has called the roll itself. The number of an epoch is the configured one
// plus the sum of all incarnations, or one more than the last if that is greater: no two foundings
// share a number, even if nobody remembers the earlier one. docs/ledger.md, "Founding, and founding
// anew".
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

struct Founding {
  // Of every member: what it has agreed to.
  Epoch promised = 0;  // the epoch for which it has left all others; 0: none
  std::vector<Account> accounts;
  TimeNs promised_at = 0;
  std::vector<Account> left;      // who has said that it has left the earlier epochs
  std::vector<Account> complete;  // who has said that it has heard that of all
  // Of the lowest member, and of one that is asked to leave while it is at work: the roll call
  // under way.
  struct Answer {
    Account from;
    PresentBody body;
    void archive(Archive& ar);
  };
  TimeNs wanted_until = INT64_MIN;  // until then somebody is known to wait for a founding
  TimeNs called_at = 0;
  TimeNs call_since = 0;
  std::uint64_t call = 0;
  std::uint8_t lost_calls = 0;  // roll calls in a row that found the same register lost
  Epoch lost_epoch = 0;         // which one the last of them found
  std::uint32_t lost_version = 0;
  std::vector<Answer> answers;
  // Of the lowest member: the founding under way.
  Epoch founding_epoch = 0;   // being founded; 0: none
  bool starting = false;      // all have left the earlier epochs
  std::vector<Account> list;  // the accounts of the new epoch
  void archive(Archive& ar);
};

}  // namespace laird::consensus
