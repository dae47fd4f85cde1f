#include "consensus/cotrain/delta_codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "base/exact_math.hpp"

namespace laird::consensus {
namespace {

// The chance of a bit to be 0, of 4096, which learns from every bit.
struct BitModel {
  static constexpr unsigned kBits = 12;
  static constexpr unsigned kRate = 5;
  std::uint16_t zero = 1U << (kBits - 1);

  void learn(bool bit) {
    const unsigned toward = bit ? 0U : (1U << kBits);
    const int step = (static_cast<int>(toward) - static_cast<int>(zero)) / (1 << kRate);
    zero = static_cast<std::uint16_t>(static_cast<int>(zero) + step);
  }
};

constexpr std::uint32_t kTop = 1U << 24;

class Encoder {
 public:
  explicit Encoder(Bytes& out) : out_(out) {}

  void bit(BitModel& model, bool value) {
    const std::uint32_t bound = (range_ >> BitModel::kBits) * model.zero;
    if (value) {
      low_ += bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    model.learn(value);
    while (range_ < kTop) {
      range_ <<= 8;
      shift();
    }
  }
  void finish() {
    for (int k = 0; k < 5; ++k) shift();
  }

 private:
  void shift() {
    if (low_ < 0xFF000000ULL || low_ > 0xFFFFFFFFULL) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      if (started_) out_.push_back(static_cast<std::uint8_t>(cache_ + carry));
      for (; pending_ > 0; --pending_) out_.push_back(static_cast<std::uint8_t>(0xFF + carry));
      cache_ = static_cast<std::uint8_t>(low_ >> 24);
      started_ = true;
    } else {
      ++pending_;
    }
    low_ = (low_ & 0x00FFFFFFULL) << 8;
  }

  Bytes& out_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xFFFFFFFFU;
  std::uint64_t pending_ = 0;
  std::uint8_t cache_ = 0;
  bool started_ = false;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {
    for (int k = 0; k < 4; ++k) code_ = code_ << 8 | next();
  }

  bool bit(BitModel& model) {
    const std::uint32_t bound = (range_ >> BitModel::kBits) * model.zero;
    const bool value = code_ >= bound;
    if (value) {
      code_ -= bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    model.learn(value);
    while (range_ < kTop) {
      range_ <<= 8;
      code_ = code_ << 8 | next();
    }
    return value;
  }
  // An encoder ends with the bytes that a decoder has read by then.
  [[nodiscard]] bool at_end() const { return !overrun_ && in_.empty(); }
  [[nodiscard]] bool overrun() const { return overrun_; }

 private:
  std::uint8_t next() {
    if (in_.empty()) {
      overrun_ = true;
      return 0;
    }
    const auto v = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }

  std::string_view in_;
  std::uint32_t range_ = 0xFFFFFFFFU;
  std::uint32_t code_ = 0;
  bool overrun_ = false;
};

// What the next bits depend on: whether the last two coordinates changed.
struct Models {
  std::array<BitModel, 4> changed;
  BitModel negative;
  std::array<BitModel, kDeltaLevels> level;  // a tree of six bits
};
constexpr unsigned kLevelBits = 6;
static_assert(1 << kLevelBits == kDeltaLevels);

std::array<float, kDeltaLevels> levels_of(float scale, double rho) {
  std::array<float, kDeltaLevels> out{};
  for (int k = 0; k < kDeltaLevels; ++k) {
    out[static_cast<std::size_t>(k)] =
        static_cast<float>(static_cast<double>(scale) * exact::exp(-rho * k));
  }
  return out;
}

tl::unexpected<Error> refused() {
  return fail(Code::kInvalid,
              "a co-training message that is cut, too long or no changes of this model");
}

float bounded(float v) { return std::clamp(v, -kScaleMax, kScaleMax); }

// The smallest change that travels.
float threshold_of(std::vector<float> sizes, double density, float least) {
  const auto keep = std::max<std::size_t>(
      1, static_cast<std::size_t>(density * static_cast<double>(sizes.size())));
  if (keep >= sizes.size()) return least;
  const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(keep - 1);
  std::nth_element(sizes.begin(), nth, sizes.end(), std::greater<>());
  return std::max(*nth, least);
}

}  // namespace

void put_delta(Bytes& out, std::span<const float> wanted, std::span<float> held,
               const DeltaCoding& coding) {
  const std::size_t n = wanted.size();
  std::vector<float> size(n);
  float scale = 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    const float change = std::abs(wanted[i] - held[i]);
    size[i] = std::isnan(change) ? 0.0F : std::min(change, kScaleMax);
    scale = std::max(scale, size[i]);
  }
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  for (unsigned k = 0; k < 4; ++k) out.push_back(static_cast<std::uint8_t>(bits >> (8 * k)));
  if (!(scale > 0.0F)) return;
  const std::array<float, kDeltaLevels> level = levels_of(scale, coding.rho);
  const float threshold = threshold_of(size, coding.density, level[kDeltaLevels - 1]);
  Encoder to(out);
  Models models;
  unsigned context = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool changed = size[i] >= threshold && size[i] > 0.0F;
    to.bit(models.changed[context], changed);
    context = (context << 1 | (changed ? 1U : 0U)) & 3U;
    if (!changed) continue;
    const double steps = exact::log(static_cast<double>(scale) / static_cast<double>(size[i]));
    const auto nearest = static_cast<int>(std::floor(steps / coding.rho + 0.5));
    const int k = std::clamp(nearest, 0, kDeltaLevels - 1);
    const bool negative = wanted[i] < held[i];
    to.bit(models.negative, negative);
    std::size_t node = 1;
    for (unsigned b = kLevelBits; b-- > 0;) {
      const bool one = (static_cast<unsigned>(k) >> b & 1U) != 0;
      to.bit(models.level[node], one);
      node = node << 1 | (one ? 1U : 0U);
    }
    const float step = level[static_cast<std::size_t>(k)];
    held[i] = bounded(held[i] + (negative ? -step : step));
  }
  to.finish();
}

struct DeltaReader::Parts {
  explicit Parts(std::string_view bytes) : from(bytes) {}
  Decoder from;
  Models models;
  std::array<float, kDeltaLevels> level{};
  unsigned context = 0;
};

DeltaReader::DeltaReader(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DeltaReader::DeltaReader(DeltaReader&&) noexcept = default;
DeltaReader& DeltaReader::operator=(DeltaReader&&) noexcept = default;
DeltaReader::~DeltaReader() = default;

Result<DeltaReader> DeltaReader::open(std::string_view bytes, double rho) {
  if (bytes.size() < 4) return refused();
  std::uint32_t bits = 0;
  for (unsigned k = 0; k < 4; ++k) {
    bits |= std::uint32_t{static_cast<std::uint8_t>(bytes[k])} << (8 * k);
  }
  const auto scale = std::bit_cast<float>(bits);
  if (!(scale >= 0.0F && scale <= kScaleMax)) return refused();
  bytes.remove_prefix(4);
  if (scale == 0.0F) {
    if (!bytes.empty()) return refused();
    return DeltaReader(nullptr);
  }
  auto parts = std::make_unique<Parts>(bytes);
  parts->level = levels_of(scale, rho);
  return DeltaReader(std::move(parts));
}

bool DeltaReader::add_to(std::span<float> block) {
  if (parts_ == nullptr) return true;
  auto& [from, models, level, context] = *parts_;
  for (float& v : block) {
    const bool changed = from.bit(models.changed[context]);
    context = (context << 1 | (changed ? 1U : 0U)) & 3U;
    if (from.overrun()) return false;
    if (!changed) continue;
    const bool negative = from.bit(models.negative);
    std::size_t node = 1;
    for (unsigned b = 0; b < kLevelBits; ++b)
      node = node << 1 | (from.bit(models.level[node]) ? 1U : 0U);
    const float step = level[node & (kDeltaLevels - 1)];
    v = bounded(v + (negative ? -step : step));
  }
  return true;
}

bool DeltaReader::at_end() const { return parts_ == nullptr || parts_->from.at_end(); }

Status add_delta(std::string_view bytes, std::span<float> held, double rho) {
  Result<DeltaReader> reader = DeltaReader::open(bytes, rho);
  LAIRD_TRY(reader);
  if (!reader->add_to(held) || !reader->at_end()) return refused();
  return {};
}

Status check_delta(std::string_view bytes, std::size_t dimension, double rho) {
  Result<DeltaReader> reader = DeltaReader::open(bytes, rho);
  LAIRD_TRY(reader);
  std::vector<float> block;
  for (std::size_t at = 0; at < dimension; at += kDeltaBlock) {
    block.assign(std::min(kDeltaBlock, dimension - at), 0.0F);
    if (!reader->add_to(block)) return refused();
  }
  if (!reader->at_end()) return refused();
  return {};
}

}  // namespace laird::consensus
