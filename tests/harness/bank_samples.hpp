// Banks and reports for tests: what they are is arbitrary, that they are the same everywhere is
// not.
#pragma once

#include <cstring>
#include <vector>

#include "estimators/bank/bank.hpp"
#include "tests/harness/random.hpp"

namespace laird::test {

inline estimators::BankKind some_bank_kind(std::size_t filters, std::uint64_t seed = 7) {
  Random random(seed);
  std::vector<estimators::BankHypothesis> all;
  for (std::size_t f = 0; f < filters; ++f) {
    all.push_back({0.02 + 3.0 * random.unit(), -0.5 * random.unit(), 0.05 * random.unit(),
                   0.8 * random.unit(), 0.3 + 3.0 * random.unit(), 0.5 + random.unit()});
  }
  double sum = 0.0;
  for (const estimators::BankHypothesis& one : all) sum += one.prior;
  for (estimators::BankHypothesis& one : all) one.prior /= sum;
  return *estimators::BankKind::make(all, {-0.3, 0.02, 0.25}, 0.02);
}

// Losses of a falling curve, with repeated sample counts, jumps and outliers among them.
inline std::vector<estimators::BankReport> some_reports(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<estimators::BankReport> out;
  double level = 1.0;
  for (std::size_t n = 0; n < count; ++n) {
    const double d = n % 13 == 5 ? 0.0 : (n % 31 == 7 ? 2.0 : 0.1) * random.unit();
    level -= 0.3 * d;
    const double outlier = random.chance(3) ? 2.0 * random.bell() : 0.0;
    out.push_back({d, level + 0.05 * random.bell() + outlier, 1e-4 + 5e-3 * random.unit()});
  }
  return out;
}

inline std::size_t words_different(std::span<const estimators::BankTile> a,
                                   std::span<const estimators::BankTile> b) {
  if (a.size() != b.size()) return static_cast<std::size_t>(-1);
  std::size_t different = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(lane::kBankStateRows); ++k) {
      for (std::size_t i = 0; i < estimators::kBankLanes; ++i) {
        different += std::memcmp(&a[t].row[k][i], &b[t].row[k][i], sizeof(double)) != 0;
      }
    }
  }
  return different;
}

}  // namespace laird::test
