// The inner loops of the batch engine, once per instruction set, and the choice among them.
//
// kernels_*.cpp each compile kernels_body.hpp with their own target flags; kernels.cpp asks the
// processor at start-up which of them it can run. All give the same bits: the lane functions use
// + - * / in one order, contraction is off, and a vector lane is an IEEE operation like a scalar.
#pragma once

#include <cstddef>

#include "estimators/lane/dkf_lane.hpp"
#include "estimators/lane/tile.hpp"

namespace laird::estimators {

template <class Real>
struct Kernels {
  // Every filter of `tiles` takes in its report.
  void (*dkf)(DkfTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
              const lane::DkfConstants<Real>& constants);
  // The same where all filters share the gain and the step dx of this report.
  void (*dkf_mean)(MeanTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
                   Real dx, const Real* gain);
  void (*rls)(RlsTile<Real>* tiles, const ReportTile<Real>* reports, std::size_t count,
              Real discount);
};

// Banks are double only.
struct BankKernels {
  void (*step)(const BankWork& work);
  void (*look)(const BankLook& look);
};

enum class Isa { kScalar, kBase, kAvx2, kAvx512 };

[[nodiscard]] const char* name(Isa isa);
[[nodiscard]] bool runs_here(Isa isa);
// The fastest that runs here.
[[nodiscard]] Isa best_isa();

// Only for an `isa` that runs here.
template <class Real>
[[nodiscard]] const Kernels<Real>& kernels(Isa isa);
[[nodiscard]] const BankKernels& bank_kernels(Isa isa);

// Each defined in its own file, absent where the compiler cannot target it.
template <class Real>
[[nodiscard]] const Kernels<Real>* kernels_scalar();
template <class Real>
[[nodiscard]] const Kernels<Real>* kernels_base();
template <class Real>
[[nodiscard]] const Kernels<Real>* kernels_avx2();
template <class Real>
[[nodiscard]] const Kernels<Real>* kernels_avx512();
[[nodiscard]] const BankKernels* kernels_scalar_bank();
[[nodiscard]] const BankKernels* kernels_base_bank();
[[nodiscard]] const BankKernels* kernels_avx2_bank();
[[nodiscard]] const BankKernels* kernels_avx512_bank();

}  // namespace laird::estimators
