#include "lab/cotrain/gossip.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::lab::gossip {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kDifference = 0;
constexpr std::uint8_t kSnapshot = 1;
constexpr int kLevels = 127;

void put32(Bytes& out, std::uint32_t v) {
  for (int k = 0; k < 4; ++k) out.push_back(static_cast<std::uint8_t>(v >> (8 * k)));
}

void put_float(Bytes& out, double v) {
  put32(out, std::bit_cast<std::uint32_t>(static_cast<float>(v)));
}

struct Input {
  std::string_view bytes;
  bool failed = false;

  std::uint8_t byte() {
    if (bytes.empty()) {
      failed = true;
      return 0;
    }
    const auto v = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return v;
  }
  std::uint32_t word() {
    std::uint32_t v = 0;
    for (int k = 0; k < 4; ++k) v |= static_cast<std::uint32_t>(byte()) << (8 * k);
    return v;
  }
  double real() {
    const double v = std::bit_cast<float>(word());
    if (!std::isfinite(v)) failed = true;
    return failed ? 0.0 : v;
  }
};

// Level k of a block is scale e^(-rho k). So one byte holds a sign and, at rho 1/8, a range down to
// 1e-7 of the scale.
double level(double scale, double rho, int k) { return scale * exact::exp(-rho * k); }

// Appends the block and applies it to `held`, exactly as the receivers will.
void put_block(Bytes& out, SharedVector& v, double rho, double density) {
  const std::size_t n = v.own.size();
  std::vector<double> size(n);
  double top = 0;
  for (std::size_t i = 0; i < n; ++i) {
    size[i] = std::abs(v.own[i] - v.held[i]);
    top = std::max(top, size[i]);
  }
  // The scale travels as a float: round it up so that the largest difference stays in range.
  const double scale = static_cast<double>(static_cast<float>(top * 1.0000001));
  put_float(out, scale);
  if (scale <= 0) return;
  std::vector<double> order = size;
  const auto keep =
      std::max<std::size_t>(1, static_cast<std::size_t>(density * static_cast<double>(n)));
  double threshold = 0;
  if (keep < n) {
    const auto nth = order.begin() + static_cast<std::ptrdiff_t>(keep - 1);
    std::nth_element(order.begin(), nth, order.end(), std::greater<>());
    threshold = *nth;
  }
  threshold = std::max(threshold, level(scale, rho, kLevels - 1));
  const std::size_t map_at = out.size();
  out.resize(out.size() + (n + 7) / 8);
  for (std::size_t i = 0; i < n; ++i) {
    if (size[i] < threshold || size[i] == 0) continue;
    const double steps = exact::log(scale / size[i]) / rho;
    const int k = std::clamp(static_cast<int>(std::lround(steps)), 0, kLevels - 1);
    const bool negative = v.own[i] < v.held[i];
    out[map_at + i / 8] = static_cast<std::uint8_t>(out[map_at + i / 8] | (1U << (i % 8)));
    out.push_back(static_cast<std::uint8_t>((negative ? 128 : 0) | k));
    v.held[i] += negative ? -level(scale, rho, k) : level(scale, rho, k);
  }
}

void get_block(Input& in, std::vector<double>& held, double rho) {
  const double scale = in.real();
  if (scale < 0) in.failed = true;
  if (in.failed || scale == 0) return;
  const std::size_t map_size = (held.size() + 7) / 8;
  if (in.bytes.size() < map_size) {
    in.failed = true;
    return;
  }
  const std::string_view map = in.bytes.substr(0, map_size);
  in.bytes.remove_prefix(map_size);
  std::array<double, 128> table{};
  for (int k = 0; k < 128; ++k) table[static_cast<std::size_t>(k)] = level(scale, rho, k);
  for (std::size_t i = 0; i < held.size() && !in.failed; ++i) {
    if (((static_cast<std::uint8_t>(map[i / 8]) >> (i % 8)) & 1U) == 0) continue;
    const std::uint8_t code = in.byte();
    held[i] += (code & 128U) != 0 ? -table[code & 127U] : table[code];
  }
}

void archive_vector(Archive& ar, std::vector<double>& v) { ar.sequence(v, kCoTrainDimensionMax); }

}  // namespace

void SharedVector::archive(Archive& ar) {
  archive_vector(ar, own);
  archive_vector(ar, held);
}

void CoTrainPeer::archive(Archive& ar) {
  ar(node);
  ar(weight);
  ar(seq);
  ar(epoch);
  ar(known);
  archive_vector(ar, y);
  archive_vector(ar, z);
}

void Cotrainer::archive(Archive& ar) {
  ar(config_.dimension);
  ar(config_.alpha);
  ar(config_.rho);
  ar(config_.density);
  ar(config_.gain);
  ar(config_.momentum);
  ar(y_);
  ar(z_);
  archive_vector(ar, gradient_);
  archive_vector(ar, step_);
  ar(tracking_);
  ar(epoch_);
  ar(seq_);
  ar.sequence(peers_, kEdgesMax);
}

Cotrainer::Cotrainer(const GossipConfig& config, std::vector<double> start) : config_(config) {
  LAIRD_REQUIRE(config_.dimension > 0 && config_.dimension <= kCoTrainDimensionMax,
                "a model has parameters, and not too many");
  begin_anew(std::move(start), 1);
}

void Cotrainer::begin_anew(std::vector<double> start, std::uint32_t epoch) {
  LAIRD_REQUIRE(start.size() == config_.dimension, "the start has the model's dimension");
  y_.own = std::move(start);
  y_.held = y_.own;
  z_.own.assign(config_.dimension, 0.0);
  z_.held = z_.own;
  gradient_ = z_.own;
  step_ = z_.own;
  seq_ = 0;
  begin_epoch(epoch);
}

void Cotrainer::adopt(const std::vector<double>& parameters) {
  LAIRD_REQUIRE(parameters.size() == config_.dimension, "parameters of another model");
  y_.own = parameters;
  step_.assign(config_.dimension, 0.0);
  tracking_ = false;
}

void Cotrainer::forget(NodeId node) {
  for (CoTrainPeer& p : peers_) {
    if (p.node == node) p.known = false;
  }
}

void Cotrainer::set_neighbours(const std::vector<std::pair<NodeId, double>>& neighbours) {
  std::vector<CoTrainPeer> next;
  for (const auto& [node, weight] : neighbours) {
    if (next.size() == kEdgesMax) break;
    CoTrainPeer peer;
    for (CoTrainPeer& old : peers_) {
      if (old.node == node) peer = std::move(old);
    }
    peer.node = node;
    peer.weight = weight;
    peer.y.resize(config_.dimension);
    peer.z.resize(config_.dimension);
    next.push_back(std::move(peer));
  }
  peers_ = std::move(next);
  begin_epoch(epoch_ + 1);
}

void Cotrainer::begin_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  tracking_ = false;
}

void Cotrainer::mix(std::span<const NodeId> without) {
  for (const CoTrainPeer& p : peers_) {
    if (!p.known || p.epoch != epoch_) continue;
    if (std::find(without.begin(), without.end(), p.node) != without.end()) continue;
    const double weight = config_.gain * p.weight;
    for (std::size_t i = 0; i < y_.own.size(); ++i) {
      y_.own[i] -= weight * (y_.held[i] - p.y[i]);
      if (tracking_) z_.own[i] -= weight * (z_.held[i] - p.z[i]);
    }
  }
  if (!tracking_) return;
  for (std::size_t i = 0; i < y_.own.size(); ++i) {
    step_[i] = config_.momentum * step_[i] + z_.own[i];
    y_.own[i] -= config_.alpha * step_[i];
  }
}

void Cotrainer::track(const std::vector<double>& gradient) {
  LAIRD_REQUIRE(gradient.size() == config_.dimension, "a gradient of another model");
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    z_.own[i] = tracking_ ? z_.own[i] + gradient[i] - gradient_[i] : gradient[i];
  }
  gradient_ = gradient;
  tracking_ = true;
}

Bytes Cotrainer::message() {
  Bytes out;
  out.push_back(static_cast<std::uint8_t>(kVersion << 4 | kDifference));
  put32(out, ++seq_);
  put32(out, epoch_);
  put_block(out, y_, config_.rho, config_.density);
  put_block(out, z_, config_.rho, config_.density);
  return out;
}

Bytes Cotrainer::snapshot() const {
  Bytes out;
  out.push_back(static_cast<std::uint8_t>(kVersion << 4 | kSnapshot));
  put32(out, seq_);
  // Before the first gradient of an epoch z belongs to the last epoch, and nobody may mix with it.
  put32(out, tracking_ ? epoch_ : 0);
  // A snapshot is written in doubles, because the copies on both sides must agree to the bit.
  for (const auto* held : {&y_.held, &z_.held}) {
    // Most models begin at zero, and so do the copies of them: one byte is enough then.
    const bool all_zero =
        std::all_of(held->begin(), held->end(), [](double v) { return v == 0.0; });
    out.push_back(all_zero ? 0 : 1);
    if (all_zero) continue;
    for (const double v : *held) {
      const auto bits = std::bit_cast<std::uint64_t>(v);
      put32(out, static_cast<std::uint32_t>(bits));
      put32(out, static_cast<std::uint32_t>(bits >> 32));
    }
  }
  return out;
}

Result<bool> Cotrainer::on_message(NodeId from, std::string_view bytes) {
  const auto at = std::find_if(peers_.begin(), peers_.end(),
                               [&](const CoTrainPeer& p) { return p.node == from; });
  if (at == peers_.end()) return fail(Code::kRefused, "co-training message from no neighbour");
  Input in{bytes};
  const std::uint8_t kind = in.byte();
  const std::uint32_t seq = in.word();
  const std::uint32_t epoch = in.word();
  if (in.failed || kind >> 4 != kVersion || (kind & 15U) > kSnapshot) {
    return fail(Code::kInvalid, "co-training message of an unknown version or kind");
  }
  const bool whole = (kind & 15U) == kSnapshot;
  if (!whole && at->known && seq <= at->seq) return false;
  if (!whole && (!at->known || seq != at->seq + 1)) {
    at->known = false;
    return true;
  }
  CoTrainPeer next = *at;
  if (whole) {
    for (auto* held : {&next.y, &next.z}) {
      const std::uint8_t filled = in.byte();
      if (filled > 1) in.failed = true;
      if (filled == 0) held->assign(config_.dimension, 0.0);
      for (std::size_t i = 0; filled == 1 && i < held->size() && !in.failed; ++i) {
        double& v = (*held)[i];
        const std::uint64_t low = in.word();
        v = std::bit_cast<double>(low | static_cast<std::uint64_t>(in.word()) << 32);
        if (!std::isfinite(v)) in.failed = true;
      }
    }
  } else {
    get_block(in, next.y, config_.rho);
    get_block(in, next.z, config_.rho);
  }
  if (in.failed || !in.bytes.empty()) {
    return fail(Code::kInvalid, "co-training message is truncated, too long or not finite");
  }
  next.seq = seq;
  next.epoch = epoch;
  next.known = true;
  *at = std::move(next);
  if (epoch > epoch_) begin_epoch(epoch);
  return false;
}

}  // namespace laird::lab::gossip
