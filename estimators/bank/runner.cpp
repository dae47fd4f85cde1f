#include "estimators/bank/runner.hpp"

#include <vector>

#include "base/require.hpp"

namespace laird::estimators {
namespace {

BankRunner* in_use = nullptr;

}  // namespace

void use_bank_runner(BankRunner* runner) { in_use = runner; }

void bank_step(const BankKind& kind, std::span<BankTile> tiles, const BankReport& report) {
  LAIRD_REQUIRE(tiles.size() == kind.tiles(), "tiles of another kind of bank");
  if (in_use != nullptr && in_use->step(kind, tiles, report)) return;
  // A bank of the usual size needs no heap for its sums.
  constexpr std::size_t kUsual = 128;
  alignas(kTileBytes) double usual[kUsual];
  std::vector<double> large(kind.filters() > kUsual ? kind.filters() : 0);
  static const BankKernels& fastest = bank_kernels(best_isa());
  const BankSpan span = {0, 1};
  fastest.step({tiles.data(), kind.constants().data(), large.empty() ? usual : large.data(),
                &report, &span, 1, kind.tiles(), kind.share()});
}

}  // namespace laird::estimators
