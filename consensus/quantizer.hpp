// The two integer code tables of the ledger.
//
// Source: logarithmic quantization q(x) = sgn(x) exp(rho round(log|x| / rho)) of the
// co-optimization paper (Doostmohammadian et al. 2025, equations 33-34). Symbols: rho = 1/8, the
// step in the log domain (dimensionless); prices in urgency units times parts. Assumptions: none on
// the input; everything is an integer, the tables too, so every architecture agrees to the bit.
// Deviations: (a) rounding in the log domain puts q(x)/x in [e^(-rho/2), e^(rho/2)]; the paper's
// 1 +- rho^2/4 is too tight. (b) What is quantized is the price *difference* along an edge and the
// *flow* of shares, which vanish at the optimum; node gradients do not, and stall when quantized.
// (c) Flows round down to four significant binary digits instead of to powers of e^rho: the same
// relative error (at most 1/8), but sums of a few flows stay short numbers on the wire.
#pragma once

#include <cstdint>

#include "consensus/limits.hpp"

namespace laird::consensus {

inline constexpr int kPriceCodeMax = 255;
// Differences below this are equal prices: four parts at urgency 1.
inline constexpr std::int64_t kPriceUnit = 4 * kUrgencyOne;

// Signed code of a price difference, -255..255; 0 only when |difference| is below about kPriceUnit.
[[nodiscard]] int price_code(std::int64_t difference);
[[nodiscard]] std::int64_t price_difference(int code);

// The largest number not above `flow` with at most four significant binary digits; 0 for
// negatives.
[[nodiscard]] Parts flow_floor(Parts flow);

}  // namespace laird::consensus
