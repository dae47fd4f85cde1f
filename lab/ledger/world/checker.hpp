// The invariants of the ledger (docs/ledger.md, "Invariants"), checked from outside the ledgers
// after every tick, in integers:
//
// I1 what one end of an edge has heard never exceeds what the other end has sent
// I2 no holding is negative
// I3 the enforced shares and the shares in flight together never exceed the whole
// I4 the bases of the newest register sum to the whole, exactly
// I5 an account that the newest register calls dead, or does not know, uses nothing
// I6 boards that hold the same version of a founding hold the same register
// I7 the limits of a liar stay within its base and allowance (consensus/credit.hpp)
//
// Where a member lies, the same is asked of the honest boards, with these differences:
// - A liar may close an edge with numbers that are not true. Its neighbour then owes up to the two
//   limits of that edge, and an heir owes what a liar's account left below nothing. I2: no board
//   owes more than that.
// - I3: the honest boards use no more than the whole less what the register gives the liar, the
//   liar's limits, and what honest boards owe.
// - Three keepers cannot outvote a liar among them. From the first version with fewer than four
//   keepers on only the caps bound what the others use: I5, I6 and I7 are not asked.
#pragma once

#include <map>
#include <string>

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

struct CheckResult {
  Parts excess_max = 0;      // the largest violation, over all resources
  Parts overstated_max = 0;  // what honest boards used above the whole on a liar's word
  Parts owed_max = 0;        // what honest boards owed at most because of a liar
  Parts bound = 0;           // the liar's allowance: the first is at most that and the second
  bool guarded = true;       // there were four keepers or more all the time
  std::string first_break;   // empty: every invariant held
};

class Checker {
 public:
  void check(const World& world);
  [[nodiscard]] const CheckResult& result() const { return result_; }

 private:
  void note(const World& world, const std::string& what, Parts excess);
  void check_register(const World& world, const Ledger& newest);
  void check_agreement(const World& world);
  void check_use(const World& world, const Ledger& newest);
  // What a new version of the register allows a liar to have done.
  void follow_register(const World& world, const Ledger& newest);
  // What the account owes because of a liar.
  Parts check_owed(const World& world, const Ledger& newest, const Account& account,
                   std::size_t resource);

  CheckResult result_;
  consensus::Epoch epoch_ = 0;
  consensus::Register last_;
  Parts inherited_ = 0;            // settled debts
  std::map<Account, Parts> owed_;  // the limits of edges to a liar that were closed
  std::map<std::pair<consensus::Epoch, std::uint32_t>, consensus::Register> decided_;
};

// What is not in order yet among the honest boards that run: one is fenced or not entered, or the
// account of a board that is down still has a share. Empty: everything is.
[[nodiscard]] std::string unsettled_business(const World& world);

// How much of the whole no running board holds and that is not on its way to one.
[[nodiscard]] Parts stranded(const World& world, std::size_t resource);

// The reason why the fleet cannot recover everything without an operator; empty: it can. There are
// two reasons. Fewer keepers than can decide are left with their journals while some board stays
// away: a founding needs every board. Or a board that stays down has a quorum of neighbours that
// stay down too: nobody can tell such a group from one that is cut off and at work. Ask only when
// faults have stopped: every board that is down stays down, every other board is up and connected.
[[nodiscard]] std::string needs_operator(const World& world);

}  // namespace laird::lab
