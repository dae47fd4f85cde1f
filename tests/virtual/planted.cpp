#include "tests/virtual/planted.hpp"

#include <algorithm>

#include "agent/core/state/state.hpp"
#include "agent/journal/journal.hpp"
#include "agent/trainer_host/trainer_pool.hpp"
#include "consensus/ledger/ledger.hpp"

namespace laird::test {

Planted& planted() {
  static Planted bugs;
  return bugs;
}

namespace {

using consensus::Ledger;
using consensus::Shares;
using journal::Journal;

}  // namespace

// The linker sends the calls of these functions here; the real ones are still there. CMakeLists.txt
// names the same ones.
bool fenced(const Ledger* self, TimeNs now) asm("__wrap__ZNK5laird9consensus6Ledger6fencedEl");
bool really_fenced(const Ledger* self,
                   TimeNs now) asm("__real__ZNK5laird9consensus6Ledger6fencedEl");
Shares effective(const Ledger* self,
                 TimeNs now) asm("__wrap__ZNK5laird9consensus6Ledger9effectiveEl");
Shares really_effective(const Ledger* self,
                        TimeNs now) asm("__real__ZNK5laird9consensus6Ledger9effectiveEl");
Status commit(Journal* self, bool durable) asm("__wrap__ZN5laird7journal7Journal6commitEb");
Status really_commit(Journal* self, bool durable) asm("__real__ZN5laird7journal7Journal6commitEb");
core::Amounts enforced_at(const core::State& state,
                          TimeNs now) asm("__wrap__ZN5laird4core11enforced_atERKNS0_5StateEl");
core::Amounts really_enforced_at(const core::State& state, TimeNs now) asm(
    "__real__ZN5laird4core11enforced_atERKNS0_5StateEl");
void hold(agent::TrainerPool* self, bool held) asm("__wrap__ZN5laird5agent11TrainerPool4holdEb");
void really_hold(agent::TrainerPool* self,
                 bool held) asm("__real__ZN5laird5agent11TrainerPool4holdEb");

bool fenced(const Ledger* self, TimeNs now) {
  if (planted().no_fence && self->entered()) return false;
  return really_fenced(self, now);
}

Shares effective(const Ledger* self, TimeNs now) {
  if (!planted().no_fence || !self->entered()) return really_effective(self, now);
  Shares out = self->holding();
  for (std::size_t r = 0; r < out.size(); ++r) {
    out[r] = std::clamp<consensus::Parts>(out[r], 0, self->demand(r).cap);
  }
  return out;
}

core::Amounts enforced_at(const core::State& state, TimeNs now) {
  return planted().report_waits ? state.fleet.enforced : really_enforced_at(state, now);
}

void hold(agent::TrainerPool* self, bool held) {
  if (!planted().no_hold) really_hold(self, held);
}

Status commit(Journal* self, bool durable) {
  if (!planted().answer_before_journal) return really_commit(self, durable);
  // Written with one of the next, once in a while; until then it is only said to be there.
  static int calls = 0;
  return ++calls % 50 == 0 ? really_commit(self, durable) : Status{};
}

}  // namespace laird::test
