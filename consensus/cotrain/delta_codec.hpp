// A vector's changes as few bytes: the largest ones, log-quantized and entropy-coded.
//
// Source: logarithmic quantization of the co-optimization paper (Doostmohammadian et al. 2025,
// equations 33-34); adaptive binary range coding as in LZMA (Pavlov, 1998). Symbols: rho the step
// in the log domain, scale the largest change; level k is scale e^(-rho k). Assumptions: sender and
// receiver hold the same copy, to the bit. Deviations: only the coordinates with the largest
// changes travel; what was rounded or left out stays a difference and is sent later.
// The cost of a coordinate that stays is a fraction of a bit, so no list of positions is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"

namespace laird::consensus {

inline constexpr int kDeltaLevels = 64;

struct DeltaCoding {
  double rho = 0.25;
  double density = 0.5;  // the part of the coordinates that travels
};

// Appends the changes from `held` to `wanted`, and applies them to `held` as a receiver will.
void put_delta(Bytes& out, std::span<const float> wanted, std::span<float> held,
               const DeltaCoding& coding);

// Reads changes that take up all of `bytes` and adds them to `held`. A refused message
// may have changed a part of `held`: give a copy.
[[nodiscard]] Status add_delta(std::string_view bytes, std::span<float> held, double rho);

}  // namespace laird::consensus
