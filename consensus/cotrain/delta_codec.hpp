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
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"

namespace laird::consensus {

inline constexpr int kDeltaLevels = 64;
// The largest change that a message can tell, and the largest number that changes lead to: whatever
// a board says, every sum of them is finite.
inline constexpr float kScaleMax = 1e30F;

struct DeltaCoding {
  double rho = 0.25;
  double density = 0.5;  // the part of the coordinates that travels
};

// Appends the changes from `held` to `wanted`, and applies them to `held` as a receiver will. Of a
// change that is larger than kScaleMax it tells so much; of what is no number, nothing.
void put_delta(Bytes& out, std::span<const float> wanted, std::span<float> held,
               const DeltaCoding& coding);

// Reads changes that take up all of `bytes` and adds them to `held`. A refused message
// may have changed a part of `held`: give a copy.
[[nodiscard]] Status add_delta(std::string_view bytes, std::span<float> held, double rho);

// The changes of a message, a block of coordinates at a time, so that those of many boards fit the
// memory together.
inline constexpr std::size_t kDeltaBlock = 65'536;
class DeltaReader {
 public:
  [[nodiscard]] static Result<DeltaReader> open(std::string_view bytes, double rho);
  DeltaReader(DeltaReader&&) noexcept;
  DeltaReader& operator=(DeltaReader&&) noexcept;
  ~DeltaReader();

  // The next so many coordinates. False: the message is cut. Every message that can be read at all
  // can be added to any numbers: they stay within kScaleMax.
  [[nodiscard]] bool add_to(std::span<float> block);
  [[nodiscard]] bool at_end() const;

 private:
  struct Parts;
  explicit DeltaReader(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;  // none: nothing changes
};

// Whether add_delta would take it, for that many coordinates.
[[nodiscard]] Status check_delta(std::string_view bytes, std::size_t dimension, double rho);

}  // namespace laird::consensus
