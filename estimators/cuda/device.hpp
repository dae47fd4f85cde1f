// What kernels.cu needs of CUDA, for two compilers. Debian's clang makes the PTX that ships and has
// no CUDA headers; nvcc, where there is one, checks registers and spills.
#pragma once

#if defined(__clang__)

#if !defined(__CUDA__)
#error "compile with clang -x cuda"
#endif
#define LAIRD_KERNEL extern "C" __attribute__((global)) void
#define LAIRD_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define LAIRD_BOUNDS(...) __attribute__((launch_bounds(__VA_ARGS__)))
LAIRD_DEVICE unsigned thread_in_block() { return __nvvm_read_ptx_sreg_tid_x(); }
LAIRD_DEVICE unsigned block_size() { return __nvvm_read_ptx_sreg_ntid_x(); }
LAIRD_DEVICE unsigned block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
#define LAIRD_SHARED __attribute__((shared)) static
LAIRD_DEVICE void wait_for_block() { __syncthreads(); }

#else

#define LAIRD_KERNEL extern "C" __global__ void
#define LAIRD_DEVICE __device__ __forceinline__
#define LAIRD_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
LAIRD_DEVICE unsigned thread_in_block() { return threadIdx.x; }
LAIRD_DEVICE unsigned block_size() { return blockDim.x; }
LAIRD_DEVICE unsigned block_index() { return blockIdx.x; }
#define LAIRD_SHARED __shared__
LAIRD_DEVICE void wait_for_block() { __syncthreads(); }

#endif
