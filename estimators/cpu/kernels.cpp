#include "estimators/cpu/kernels.hpp"

#include <initializer_list>

#include "base/require.hpp"

namespace laird::estimators {

const char* name(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return "scalar";
#if defined(__aarch64__)
    case Isa::kBase: return "neon";
#else
    case Isa::kBase: return "sse2";
#endif
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
  }
  return "unknown";
}

bool runs_here(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
    case Isa::kBase: return true;
#if defined(LAIRD_KERNELS_X86)
    case Isa::kAvx2: return __builtin_cpu_supports("avx2") != 0;
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
    case Isa::kAvx2:
    case Isa::kAvx512: return false;
#endif
  }
  return false;
}

Isa best_isa() {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (runs_here(isa)) return isa;
  }
  return Isa::kBase;
}

template <class Real>
const Kernels<Real>& kernels(Isa isa) {
  LAIRD_REQUIRE(runs_here(isa), "asked for instructions this processor lacks");
  switch (isa) {
    case Isa::kScalar: return *kernels_scalar<Real>();
#if defined(LAIRD_KERNELS_X86)
    case Isa::kAvx2: return *kernels_avx2<Real>();
    case Isa::kAvx512: return *kernels_avx512<Real>();
#endif
    default: return *kernels_base<Real>();
  }
}
template const Kernels<double>& kernels<double>(Isa);
template const Kernels<float>& kernels<float>(Isa);

const BankKernels& bank_kernels(Isa isa) {
  LAIRD_REQUIRE(runs_here(isa), "asked for instructions this processor lacks");
  switch (isa) {
    case Isa::kScalar: return *kernels_scalar_bank();
#if defined(LAIRD_KERNELS_X86)
    case Isa::kAvx2: return *kernels_avx2_bank();
    case Isa::kAvx512: return *kernels_avx512_bank();
#endif
    default: return *kernels_base_bank();
  }
}

}  // namespace laird::estimators
