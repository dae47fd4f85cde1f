// The CUDA plugin: one thread per filter, the lane functions of the CPU.
//
// C++14, so that nvcc 10.2 (JetPack 4) to 13 (JetPack 7) compile it; --fmad=false, so that it gives
// the bits of the CPU. Memory is managed: on a Jetson CPU and GPU share it, nothing is copied.
// A warp covers whole cache lines of every row of its tiles, so every access is coalesced.
// Without nvcc the same file compiles with g++ over estimators/cuda/shim.hpp: that is how the tests
// check its arithmetic, its indices and the loading of the plugin.
#if defined(LAIRD_CUDA_SHIM)
#include "estimators/cuda/shim.hpp"
#else
#include <cuda_runtime.h>
#define LAIRD_LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
#endif

#include <stdio.h>

#include "estimators/cuda/plugin_api.h"
#include "estimators/lane/dkf_lane.hpp"
#include "estimators/lane/tile.hpp"

namespace {

using laird::estimators::DkfTile;
using laird::estimators::kDkfRowX;
using laird::estimators::kLanes;
using laird::estimators::ReportTile;
namespace lane = laird::lane;

constexpr unsigned kThreads = 128;

template <class Real>
__global__ void __launch_bounds__(kThreads)
    dkf_step(DkfTile<Real>* tiles, const ReportTile<Real>* reports, unsigned long long filters,
             lane::DkfConstants<Real> constants) {
  const unsigned long long filter =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (filter >= filters) return;
  DkfTile<Real>& tile = tiles[filter / kLanes<Real>];
  const ReportTile<Real>& report = reports[filter / kLanes<Real>];
  const unsigned i = static_cast<unsigned>(filter % kLanes<Real>);
  lane::DkfState<Real> s;
  for (int k = 0; k < lane::kDkfMeans; ++k) s.mean[k] = tile.row[k][i];
  for (int k = 0; k < lane::kDkfCovariances; ++k) s.p[k] = tile.row[lane::kDkfMeans + k][i];
  const Real x = report.x[i];
  const Real dx = x - tile.row[kDkfRowX][i];
  lane::dkf_update(s, constants, x, dx, report.r[i]);
  for (int k = 0; k < lane::kDkfMeans; ++k) tile.row[k][i] = s.mean[k];
  for (int k = 0; k < lane::kDkfCovariances; ++k) tile.row[lane::kDkfMeans + k][i] = s.p[k];
  tile.row[kDkfRowX][i] = x;
}

template <class Real>
int step(void* tiles, const void* reports, size_t tile_count, const Real* constants) {
  if (tile_count == 0) return cudaSuccess;
  lane::DkfConstants<Real> c;
  for (int i = 0; i < 3; ++i) c.process[i] = constants[i];
  c.observation = constants[3];
  const unsigned long long filters = static_cast<unsigned long long>(tile_count) * kLanes<Real>;
  const unsigned blocks = static_cast<unsigned>((filters + kThreads - 1) / kThreads);
  LAIRD_LAUNCH(dkf_step<Real>, blocks, kThreads, static_cast<DkfTile<Real>*>(tiles),
               static_cast<const ReportTile<Real>*>(reports), filters, c);
  const cudaError_t launched = cudaGetLastError();
  if (launched != cudaSuccess) return launched;
  return cudaDeviceSynchronize();
}

int open_device(char* device_name, size_t device_name_bytes) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return error;
  if (count == 0) return cudaErrorNoDevice;
  cudaDeviceProp properties;
  error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) return error;
  snprintf(device_name, device_name_bytes, "%s", properties.name);
  return cudaSetDevice(0);
}

int allocate(size_t bytes, void** memory) { return cudaMallocManaged(memory, bytes); }
void release(void* memory) { cudaFree(memory); }
int step_f64(void* tiles, const void* reports, size_t count, const double* constants) {
  return step<double>(tiles, reports, count, constants);
}
int step_f32(void* tiles, const void* reports, size_t count, const float* constants) {
  return step<float>(tiles, reports, count, constants);
}
const char* describe(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const LairdCudaApi* laird_cuda_api(void) {
  static const LairdCudaApi kApi = {LAIRD_CUDA_API_VERSION,
                                    static_cast<uint32_t>(sizeof(DkfTile<double>)),
                                    static_cast<uint32_t>(sizeof(DkfTile<float>)),
                                    open_device,
                                    allocate,
                                    release,
                                    step_f64,
                                    step_f32,
                                    describe};
  return &kApi;
}
