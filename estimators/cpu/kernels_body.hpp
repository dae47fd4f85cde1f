// Included by each kernels_*.cpp after it defined LAIRD_KERNEL_NAME, LAIRD_BANK_KERNEL_NAME and
// LAIRD_VECTOR_BYTES (0 for one filter at a time). Everything is in an unnamed namespace: the same
// template compiled with other target flags must never be merged by the linker.
//
// Vectors are GCC's generic ones (clang knows them too): the compiler picks SSE2, NEON, AVX2 or
// AVX-512 by the flags of the file, and no intrinsic appears anywhere.

#include <cstring>

#include "estimators/cpu/kernels.hpp"
#include "estimators/lane/rls_lane.hpp"

namespace laird {
namespace {

#if LAIRD_VECTOR_BYTES > 0
using VectorDouble __attribute__((vector_size(LAIRD_VECTOR_BYTES))) = double;
using VectorFloat __attribute__((vector_size(LAIRD_VECTOR_BYTES))) = float;
#else
using VectorDouble = double;
using VectorFloat = float;
#endif

template <class Real>
struct VectorOf;
template <>
struct VectorOf<double> {
  using type = VectorDouble;
};
template <>
struct VectorOf<float> {
  using type = VectorFloat;
};

}  // namespace

#if LAIRD_VECTOR_BYTES > 0
namespace lane {
template <>
struct Element<VectorDouble> {
  using type = double;
};
template <>
struct Element<VectorFloat> {
  using type = float;
};
}  // namespace lane
#endif

namespace estimators {
namespace {

template <class V, class Real>
inline __attribute__((always_inline)) V load(const Real* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class Real>
inline __attribute__((always_inline)) void store(Real* to, V v) {
  std::memcpy(to, &v, sizeof v);
}
template <class V, class Real>
inline __attribute__((always_inline)) V splat(Real value) {
  return V{} + value;
}

// The covariances of the filters in one vector of a tile.
template <class V, class Real>
struct TileRows {
  Real* first;
  inline __attribute__((always_inline)) V get(int k) const {
    return load<V>(first + static_cast<std::size_t>(k) * kLanes<Real>);
  }
  inline __attribute__((always_inline)) void set(int k, V v) const {
    store(first + static_cast<std::size_t>(k) * kLanes<Real>, v);
  }
  inline __attribute__((always_inline)) void forget() const { asm volatile("" ::: "memory"); }
};

// Numbers in a vector; one where there are no vectors, so that both are the same type.
template <class V, class Real>
constexpr std::size_t kWidthOf = sizeof(V) / sizeof(Real);  // NOLINT(bugprone-sizeof-expression)

template <class Real>
void run_dkf(DkfTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
             const lane::DkfConstants<Real>& constants) {
  using V = typename VectorOf<Real>::type;
  constexpr std::size_t kWidth = kWidthOf<V, Real>;
  lane::DkfConstants<V> c;
  for (int i = 0; i < 3; ++i) c.process[i] = splat<V>(constants.process[i]);
  c.observation = splat<V>(constants.observation);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < kLanes<Real>; i += kWidth) {
      Real(*row)[kLanes<Real>] = tiles[t].row;
      const V x = load<V>(&reports[t].x[i]);
      const V dx = x - load<V>(&row[kDkfRowX][i]);
      V gain[6];
      lane::dkf_step_covariance(TileRows<V, Real>{&row[6][i]}, c, x, dx, gain);
      V mean[6];
      for (int k = 0; k < 6; ++k) mean[k] = load<V>(&row[k][i]);
      lane::dkf_update_mean(mean, dx, load<V>(&reports[t].r[i]), gain);
      for (int k = 0; k < 6; ++k) store(&row[k][i], mean[k]);
      store(&row[kDkfRowX][i], x);
    }
  }
}

template <class Real>
void run_dkf_mean(MeanTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
                  Real dx, const Real* gain) {
  using V = typename VectorOf<Real>::type;
  constexpr std::size_t kWidth = kWidthOf<V, Real>;
  V gains[6];
  for (int k = 0; k < 6; ++k) gains[k] = splat<V>(gain[k]);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < kLanes<Real>; i += kWidth) {
      Real(*row)[kLanes<Real>] = tiles[t].row;
      V mean[6];
      for (int k = 0; k < 6; ++k) mean[k] = load<V>(&row[k][i]);
      lane::dkf_update_mean(mean, splat<V>(dx), load<V>(&reports[t].r[i]), gains);
      for (int k = 0; k < 6; ++k) store(&row[k][i], mean[k]);
    }
  }
}

template <class Real>
void run_rls(RlsTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
             Real discount) {
  using V = typename VectorOf<Real>::type;
  constexpr std::size_t kWidth = kWidthOf<V, Real>;
  const V g = splat<V>(discount);
  const V g_inverse = splat<V>(Real(1) / discount);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < kLanes<Real>; i += kWidth) {
      Real(*row)[kLanes<Real>] = tiles[t].row;
      lane::RlsState<V> s = {load<V>(&row[0][i]), load<V>(&row[1][i]), load<V>(&row[2][i]),
                             load<V>(&row[3][i]), load<V>(&row[4][i])};
      const V x = load<V>(&reports[t].x[i]);
      const V dx = x - load<V>(&row[kRlsRowX][i]);
      lane::rls_update(s, g_inverse, g, dx, load<V>(&reports[t].r[i]));
      store(&row[0][i], s.slope);
      store(&row[1][i], s.level);
      store(&row[2][i], s.p_ss);
      store(&row[3][i], s.p_sl);
      store(&row[4][i], s.p_ll);
      store(&row[kRlsRowX][i], x);
    }
  }
}

// The same tree as the device's.
inline double tree_sum(double* numbers, std::uint64_t count) {
  for (std::uint64_t stride = count / 2; stride > 0; stride /= 2) {
    for (std::uint64_t i = 0; i < stride; ++i) numbers[i] = numbers[i] + numbers[i + stride];
  }
  return numbers[0];
}

using BankVector = VectorOf<double>::type;
constexpr std::size_t kBankWidth = kWidthOf<BankVector, double>;

inline lane::BankState<BankVector> load_state(const BankTile& tile, std::size_t i) {
  return {load<BankVector>(&tile.row[0][i]), load<BankVector>(&tile.row[1][i]),
          load<BankVector>(&tile.row[2][i]), load<BankVector>(&tile.row[3][i]),
          load<BankVector>(&tile.row[4][i]), load<BankVector>(&tile.row[5][i])};
}
inline lane::BankConstants<BankVector> load_constants(const BankConstantsTile& tile,
                                                      std::size_t i) {
  return {load<BankVector>(&tile.row[0][i]), load<BankVector>(&tile.row[1][i]),
          load<BankVector>(&tile.row[2][i]), load<BankVector>(&tile.row[3][i]),
          load<BankVector>(&tile.row[4][i]), load<BankVector>(&tile.row[5][i])};
}

// All filters of one bank take in one report.
inline void step_bank(BankTile* tiles, double* scratch, const BankWork& work,
                      const BankReport& report) {
  using V = BankVector;
  const V d = splat<V>(report.d);
  const V r = splat<V>(report.r);
  const V noise = splat<V>(report.noise);
  for (std::uint64_t t = 0; t < work.tiles_per_bank; ++t) {
    for (std::size_t i = 0; i < kBankLanes; i += kBankWidth) {
      const lane::BankConstants<V> c = load_constants(work.constants[t], i);
      lane::BankState<V> s = load_state(tiles[t], i);
      lane::bank_ahead(s, c, d);
      lane::bank_correct(s, c, r, noise);
      store(&tiles[t].row[0][i], s.level);
      store(&tiles[t].row[1][i], s.slope);
      store(&tiles[t].row[2][i], s.p_ll);
      store(&tiles[t].row[3][i], s.p_ls);
      store(&tiles[t].row[4][i], s.p_ss);
      store(&tiles[t].row[5][i], s.weight);
      store(&scratch[t * kBankLanes + i], s.weight);
    }
  }
  const V total = splat<V>(tree_sum(scratch, work.tiles_per_bank * kBankLanes));
  const V share = splat<V>(work.share);
  for (std::uint64_t t = 0; t < work.tiles_per_bank; ++t) {
    for (std::size_t i = 0; i < kBankLanes; i += kBankWidth) {
      double* const weight = &tiles[t].row[5][i];
      const V prior = load<V>(&work.constants[t].row[5][i]);
      store(weight, lane::bank_shared_weight(load<V>(weight), prior, total, share));
    }
  }
}

void run_bank_step(const BankWork& work) {
  for (std::uint64_t b = 0; b < work.banks; ++b) {
    const BankSpan span = work.spans[b];
    for (std::uint64_t n = span.first; n < span.first + span.count; ++n) {
      step_bank(work.tiles + b * work.tiles_per_bank,
                work.scratch + b * work.tiles_per_bank * kBankLanes, work, work.reports[n]);
    }
  }
}

double look_term(int which, const BankTile* tiles, const BankAheadTile* ahead, std::uint64_t count,
                 double origin, double* scratch) {
  for (std::uint64_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < kBankLanes; ++i) {
      scratch[t * kBankLanes + i] = lane::bank_term(which, tiles[t].row[5][i], ahead[t].level[i],
                                                    ahead[t].variance[i], origin);
    }
  }
  return tree_sum(scratch, count * kBankLanes);
}

void run_bank_look(const BankLook& look) {
  using V = BankVector;
  const std::uint64_t count = look.tiles_per_bank;
  for (std::uint64_t b = 0; b < look.banks; ++b) {
    const BankTile* const tiles = look.tiles + b * count;
    BankAheadTile* const ahead = look.ahead + b * count;
    double* const scratch = look.scratch + b * count * kBankLanes;
    for (std::uint64_t t = 0; t < count; ++t) {
      for (std::size_t i = 0; i < kBankLanes; i += kBankWidth) {
        lane::BankState<V> s = load_state(tiles[t], i);
        store(&scratch[t * kBankLanes + i], s.weight * s.level);
        lane::bank_ahead(s, load_constants(look.constants[t], i), splat<V>(look.d[b]));
        store(&ahead[t].level[i], s.level);
        store(&ahead[t].variance[i], s.p_ll);
      }
    }
    BankSums& sums = look.sums[b];
    sums.origin = tree_sum(scratch, count * kBankLanes);
    sums.mean = look_term(0, tiles, ahead, count, sums.origin, scratch);
    sums.square = look_term(1, tiles, ahead, count, sums.origin, scratch);
    sums.within = look_term(2, tiles, ahead, count, sums.origin, scratch);
  }
}

}  // namespace

template <class Real>
const Kernels<Real>* LAIRD_KERNEL_NAME() {
  static const Kernels<Real> kKernels = {run_dkf<Real>, run_dkf_mean<Real>, run_rls<Real>};
  return &kKernels;
}
template const Kernels<double>* LAIRD_KERNEL_NAME<double>();
template const Kernels<float>* LAIRD_KERNEL_NAME<float>();

const BankKernels* LAIRD_BANK_KERNEL_NAME() {
  static const BankKernels kKernels = {run_bank_step, run_bank_look};
  return &kKernels;
}

}  // namespace estimators
}  // namespace laird
