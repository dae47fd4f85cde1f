// One source for the CPU tiles and the CUDA kernels: lane functions are plain C++14 (the PTX is
// made by clang, and nvcc 10.2 of JetPack 4 knows no more), templates over the arithmetic type T,
// which is float, double or a vector of them. They use + - * / and sqrt, comparisons and bits, in a
// fixed order, so every engine gives the same bits when contraction is off (-ffp-contract=off, nvcc
// --fmad=false). They use no exp and no log: a device has no library for them, and libm's differ.
#pragma once

#if defined(__CUDA__) && defined(__clang__)
#define LAIRD_LANE \
  __attribute__((host)) __attribute__((device)) inline __attribute__((always_inline))
#elif defined(__CUDACC__)
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
// Unsigned integers as wide as the elements of T, as many as T has.
template <class T>
struct Bits {
  using type = unsigned long long;
};

// A number in every lane. Subtracting zero keeps every number as it is, -0 too; adding it does not.
template <class T>
LAIRD_LANE T constant(double value) {
  return static_cast<typename Element<T>::type>(value) - T{};
}

template <class T>
LAIRD_LANE typename Bits<T>::type bits_of(T value) {
  static_assert(sizeof(typename Bits<T>::type) == sizeof(T), "as wide");
  typename Bits<T>::type bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class T>
LAIRD_LANE T of_bits(typename Bits<T>::type bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 rounds a square root correctly: the instruction of any engine gives the same bits.
LAIRD_LANE double square_root(double value) {
#if defined(__CUDA_ARCH__) && defined(__clang__)
  return __nvvm_sqrt_rn_d(value);
#elif defined(__CUDA_ARCH__)
  return __dsqrt_rn(value);
#else
  return __builtin_sqrt(value);
#endif
}
#if !defined(__CUDA__) && !defined(__CUDACC__)
template <class V>
LAIRD_LANE V square_root(V value) {
  typename Element<V>::type each[sizeof(V) / sizeof(typename Element<V>::type)];
  __builtin_memcpy(each, &value, sizeof value);
  for (auto& one : each) one = __builtin_sqrt(one);
  __builtin_memcpy(&value, each, sizeof value);
  return value;
}
#endif

}  // namespace lane
}  // namespace laird
