#include "consensus/quantizer.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace laird::consensus {
namespace {

__extension__ using UnsignedWide = unsigned __int128;

// e^(1/8) and e^(1/16) with 40 binary digits after the point.
constexpr std::uint64_t kStep = 5'225'724'877'810'906'087ULL >> 22;
constexpr std::uint64_t kHalfStep = 4'909'114'212'884'919'797ULL >> 22;

struct Tables {
  std::array<std::int64_t, kPriceCodeMax + 1> level{};  // level[k] = kPriceUnit e^((k-1)/8)
  // Inputs from bound[k] on get code k or a higher one.
  std::array<std::int64_t, kPriceCodeMax + 1> bound{};
};

constexpr Tables make_tables() {
  Tables t;
  // 2^20 fractional bits carried through the recurrence keep every level within one unit.
  UnsignedWide level = static_cast<UnsignedWide>(kPriceUnit) << 20;
  for (std::size_t k = 1; k <= kPriceCodeMax; ++k) {
    t.level[k] = static_cast<std::int64_t>((level + (UnsignedWide{1} << 19)) >> 20);
    const UnsignedWide upper = (level * kHalfStep) >> 40;
    t.bound[k] = k == kPriceCodeMax ? INT64_MAX : static_cast<std::int64_t>(upper >> 20);
    level = (level * kStep) >> 40;
  }
  // bound[k] so far is the upper end of k; shift it to the lower end of the next code.
  for (std::size_t k = kPriceCodeMax; k >= 2; --k) t.bound[k] = t.bound[k - 1];
  t.bound[1] = kPriceUnit - kPriceUnit / 16;
  return t;
}

constexpr Tables kTables = make_tables();

}  // namespace

int price_code(std::int64_t difference) {
  const std::int64_t size = difference == INT64_MIN ? INT64_MAX
                            : difference < 0        ? -difference
                                                    : difference;
  const auto above = std::upper_bound(kTables.bound.begin() + 1, kTables.bound.end(), size);
  const int code = static_cast<int>(above - kTables.bound.begin()) - 1;
  return difference < 0 ? -code : code;
}

std::int64_t price_difference(int code) {
  const int clipped = std::clamp(code, -kPriceCodeMax, kPriceCodeMax);
  const std::size_t k = static_cast<std::size_t>(clipped < 0 ? -clipped : clipped);
  return clipped < 0 ? -kTables.level[k] : kTables.level[k];
}

Parts flow_floor(Parts flow) {
  if (flow <= 0) return 0;
  const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(flow)));
  const int drop = width > 4 ? width - 4 : 0;
  return (flow >> drop) << drop;
}

}  // namespace laird::consensus
