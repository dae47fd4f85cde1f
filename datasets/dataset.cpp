#include "datasets/dataset.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "base/require.hpp"

namespace laird::datasets {
namespace {

struct Moments {
  double sum = 0.0;
  double squares = 0.0;

  void add(double x) {
    sum += x;
    squares += x * x;
  }
};

// A feature that never changes carries nothing: it enters as 0 rather than as 0/0.
void set_scale(const Moments& m, double count, float& shift, float& scale) {
  const double mean = m.sum / count;
  const double variance = m.squares / count - mean * mean;
  shift = static_cast<float>(mean);
  scale = variance > 1e-12 ? static_cast<float>(1.0 / std::sqrt(variance)) : 0.0F;
}

}  // namespace

void Dataset::row(std::uint32_t index, float* out) const {
  LAIRD_REQUIRE(index < rows, "row out of range");
  const std::size_t start = std::size_t{index} * features;
  if (!bytes.empty()) {
    const std::uint8_t* from = bytes.data() + start;
    const float offset = shift.empty() ? 0.0F : shift[0];
    const float factor = scale.empty() ? 1.0F : scale[0];
    for (std::uint32_t i = 0; i < features; ++i) {
      out[i] = (static_cast<float>(from[i]) - offset) * factor;
    }
    return;
  }
  const float* from = values.data() + start;
  if (shift.size() != features) {
    std::copy_n(from, features, out);
    return;
  }
  for (std::uint32_t i = 0; i < features; ++i) out[i] = (from[i] - shift[i]) * scale[i];
}

void Dataset::raw_row(std::uint32_t index, float* out) const {
  LAIRD_REQUIRE(index < rows, "row out of range");
  const std::size_t start = std::size_t{index} * features;
  for (std::uint32_t i = 0; i < features; ++i) {
    out[i] = bytes.empty() ? values[start + i] : static_cast<float>(bytes[start + i]);
  }
}

void Dataset::standardise() {
  if (rows == 0) return;
  if (!bytes.empty()) {
    // Counting the 256 values first makes the sums exact, whatever the order.
    std::vector<std::uint64_t> count(256, 0);
    for (const std::uint8_t b : bytes) ++count[b];
    Moments all;
    for (std::size_t v = 0; v < count.size(); ++v) {
      const auto n = static_cast<double>(count[v]);
      const auto x = static_cast<double>(v);
      all.sum += n * x;
      all.squares += n * x * x;
    }
    shift.assign(1, 0.0F);
    scale.assign(1, 0.0F);
    set_scale(all, static_cast<double>(bytes.size()), shift[0], scale[0]);
    return;
  }
  std::vector<Moments> each(features);
  for (std::size_t i = 0; i < values.size(); ++i) {
    each[i % features].add(static_cast<double>(values[i]));
  }
  shift.assign(features, 0.0F);
  scale.assign(features, 0.0F);
  for (std::uint32_t f = 0; f < features; ++f) {
    set_scale(each[f], static_cast<double>(rows), shift[f], scale[f]);
  }
}

void Dataset::rescale(double shift_by, double scale_by) {
  const std::size_t pairs = bytes.empty() ? features : 1;
  shift.assign(pairs, static_cast<float>(shift_by));
  scale.assign(pairs, static_cast<float>(scale_by));
}

Status Dataset::scale_as(std::span<const float> other_shift, std::span<const float> other_scale) {
  const std::size_t pairs = other_shift.size();
  if (pairs != other_scale.size() || (pairs != 1 && pairs != features)) {
    return fail(Code::kRefused, "the model was trained on rows of " + std::to_string(pairs) +
                                    " features, these have " + std::to_string(features));
  }
  if (pairs == 1 && bytes.empty()) {
    shift.assign(features, other_shift[0]);
    scale.assign(features, other_scale[0]);
    return {};
  }
  if (pairs > 1 && !bytes.empty()) {
    // Bytes have one pair for all; with one each they are values like any other.
    values.assign(bytes.begin(), bytes.end());
    bytes = {};
  }
  shift.assign(other_shift.begin(), other_shift.end());
  scale.assign(other_scale.begin(), other_scale.end());
  return {};
}

Dataset Dataset::take_part(double part) {
  LAIRD_REQUIRE(rows >= 2 && part > 0.0 && part < 1.0, "some rows go and some stay");
  const auto wanted = static_cast<std::uint32_t>(part * static_cast<double>(rows));
  const std::uint32_t goes = std::clamp(wanted, 1U, rows - 1);
  Dataset out;
  out.features = features;
  out.classes = classes;
  // Picks exactly `goes` rows, each as likely (Knuth, vol. 2, algorithm 3.4.2 S), by numbers that
  // never change: a restarted task holds the same rows out.
  Random random(0x5EED);
  std::uint32_t stays = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::size_t from = std::size_t{r} * features;
    const bool go = random.below(rows - r) < goes - out.rows;
    const std::size_t to = std::size_t{stays} * features;
    const auto move = [&](auto& here, auto& there, std::size_t first, std::size_t put,
                          std::size_t count) {
      if (here.empty()) return;
      const auto begin = here.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(count);
      if (go) {
        there.insert(there.end(), begin, end);
      } else {
        std::copy(begin, end, here.begin() + static_cast<std::ptrdiff_t>(put));
      }
    };
    move(bytes, out.bytes, from, to, features);
    move(values, out.values, from, to, features);
    move(labels, out.labels, r, stays, 1);
    move(targets, out.targets, r, stays, 1);
    (go ? out.rows : stays) += 1;
  }
  rows = stays;
  if (!bytes.empty()) bytes.resize(std::size_t{rows} * features);
  if (!values.empty()) values.resize(std::size_t{rows} * features);
  if (!labels.empty()) labels.resize(rows);
  if (!targets.empty()) targets.resize(rows);
  return out;
}

Status Dataset::keep_classes(std::span<const std::int64_t> kept) {
  constexpr std::uint16_t kDrop = 0xFFFF;
  static_assert(kClassesMax < kDrop);
  std::vector<std::uint16_t> renumbered(classes, kDrop);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0 || kept[i] >= static_cast<std::int64_t>(classes)) {
      return fail(Code::kInvalid, "params: /classes: there is no class " + std::to_string(kept[i]) +
                                      " in the data; its classes are 0 to " +
                                      std::to_string(classes - 1));
    }
    renumbered[static_cast<std::size_t>(kept[i])] = static_cast<std::uint16_t>(i);
  }
  std::uint32_t out = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint16_t label = renumbered[labels[r]];
    if (label == kDrop) continue;
    labels[out] = label;
    const std::size_t from = std::size_t{r} * features;
    const std::size_t to = std::size_t{out} * features;
    if (!bytes.empty()) std::copy_n(bytes.data() + from, features, bytes.data() + to);
    if (!values.empty()) std::copy_n(values.data() + from, features, values.data() + to);
    ++out;
  }
  if (out == 0) {
    return fail(Code::kInvalid, "params: /classes: no row of the data has one of these classes");
  }
  rows = out;
  labels.resize(rows);
  if (!bytes.empty()) bytes.resize(std::size_t{rows} * features);
  if (!values.empty()) values.resize(std::size_t{rows} * features);
  classes = static_cast<std::uint32_t>(kept.size());
  return {};
}

}  // namespace laird::datasets
