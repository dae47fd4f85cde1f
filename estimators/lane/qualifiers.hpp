// One source for the CPU tiles and the CUDA kernels: lane functions are plain C++14 (nvcc 10.2 of
// JetPack 4 knows no more), templates over the arithmetic type T, which is float, double or a
// vector of them. They use + - * / only, in a fixed order, so every engine gives the same bits when
// contraction is off (-ffp-contract=off, nvcc --fmad=false).
#pragma once

#if defined(__CUDACC__)
#define LAIRD_LANE __host__ __device__ __forceinline__
#else
#define LAIRD_LANE inline __attribute__((always_inline))
#endif

namespace laird {
namespace lane {

// The element type of T: T itself, or what a vector T is made of (specialised beside the vector).
template <class T>
struct Element {
  using type = T;
};

// A constant in every lane.
template <class T>
LAIRD_LANE T constant(double value) {
  return T{} + static_cast<typename Element<T>::type>(value);
}

}  // namespace lane
}  // namespace laird
