// Whether a proposed version of the register follows from the present one by the rules, and from
// what this voter has heard itself. A voter votes for nothing else, so that a keeper that lies can
// propose what it likes and moves no share. docs/ledger.md, "Liars".
//
// The proposal is not trusted and not searched for faults: what it says it did (edges closed,
// accounts entered, quorums, deaths) is done again here, by the same rules and with this voter's
// own evidence, and the result has to be the same register.
//
// Pure: everything that depends on the clock or on messages comes in as Evidence.
#pragma once

#include <functional>

#include "consensus/message.hpp"

namespace laird::consensus {

struct Evidence {
  // What the account itself has asked for, as far as this voter knows; nullptr: nothing.
  std::function<const RequestBody*(const Account&)> request;
  // Whether the rule on silence allows to declare the account dead (docs/ledger.md, "Leases, fence,
  // quorum"): fewer neighbours than its quorum may still answer it, and it answers no probe.
  std::function<bool(const Register& candidate, const Entry& entry)> may_be_dead;
};

// The rule that forbids the step from one version to the next; nullptr: the step is justified.
[[nodiscard]] const char* unjustified(const Register& from, const Register& to,
                                      const Evidence& evidence);

// Whether the bases of every resource sum to the whole (invariant I4).
[[nodiscard]] bool makes_the_whole(const Register& value);
// The same, and the seats are held by the living, as many as there have to be: the least that is
// asked of a register which nobody can confirm.
[[nodiscard]] bool sane(const Register& value);

}  // namespace laird::consensus
