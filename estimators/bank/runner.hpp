// Which device computes the banks of this process. What a bank becomes does not depend on it: every
// device gives the same bits, as every instruction set does, so those who hold banks, the core
// among them, need not know it, and a replay on another machine finds the same.
#pragma once

#include <span>

#include "estimators/bank/bank.hpp"

namespace laird::estimators {

class BankRunner {
 public:
  virtual ~BankRunner() = default;
  // One report into one bank. False when it was not done, and the tiles are as they were.
  [[nodiscard]] virtual bool step(const BankKind& kind, std::span<BankTile> tiles,
                                  const BankReport& report) = 0;
};

// Null, as at the start: the processor's fastest instructions. The runner outlives its use; for a
// process whose banks belong to one thread.
void use_bank_runner(BankRunner* runner);

// One report, not the first, into a bank's tiles.
void bank_step(const BankKind& kind, std::span<BankTile> tiles, const BankReport& report);

}  // namespace laird::estimators
