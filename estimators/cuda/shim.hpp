// Just enough of CUDA for g++ to compile plugin.cu and run its kernels on the CPU, thread after
// thread. For the tests: it checks arithmetic and indices, not races (there are none: a thread
// touches only its own filter). LAIRD_SHIM_NO_DEVICE in the environment makes it a machine without
// a GPU.
#pragma once

#include <stdlib.h>
#include <string.h>

#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct LairdShimIndex {
  unsigned x;
};
static thread_local LairdShimIndex threadIdx;
static thread_local LairdShimIndex blockIdx;
static thread_local LairdShimIndex blockDim;

#define LAIRD_LAUNCH(kernel, blocks, threads, ...)                                       \
  do {                                                                                   \
    blockDim.x = (threads);                                                              \
    for (blockIdx.x = 0; blockIdx.x < (blocks); ++blockIdx.x) {                          \
      for (threadIdx.x = 0; threadIdx.x < (threads); ++threadIdx.x) kernel(__VA_ARGS__); \
    }                                                                                    \
  } while (false)

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNoDevice = 100 };
struct cudaDeviceProp {
  char name[256];
};

inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = getenv("LAIRD_SHIM_NO_DEVICE") == nullptr ? 1 : 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  strcpy(properties->name, "CUDA shim on the CPU");
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaMallocManaged(void** memory, size_t bytes) {
  *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline void cudaFree(void* memory) { free(memory); }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "shim error";
}
