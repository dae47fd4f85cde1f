// The C interface between laird and its CUDA plugin, liblaird_cuda.so.
//
// The plugin is opened with dlopen and only when a batch is large enough to want it: a CUDA context
// costs 100 MB or more on a Jetson. Nothing else of laird links CUDA. The plugin may be of another
// build, so the version and the sizes of the tiles are checked before anything is called.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LAIRD_CUDA_API_VERSION 1u
#define LAIRD_CUDA_ENTRY "laird_cuda_api"

#ifdef __cplusplus
extern "C" {
#endif

struct LairdCudaApi {
  uint32_t version;
  uint32_t tile_bytes_f64;
  uint32_t tile_bytes_f32;
  // Each returns 0, or an error number that `describe` puts in words.
  int (*open)(char* device_name, size_t device_name_bytes);
  int (*allocate)(size_t bytes, void** memory);
  void (*release)(void* memory);
  // constants: process[3], observation. Returns when the filters have stepped.
  int (*dkf_f64)(void* tiles, const void* reports, size_t tile_count, const double* constants);
  int (*dkf_f32)(void* tiles, const void* reports, size_t tile_count, const float* constants);
  const char* (*describe)(int error);
};

// NOLINTNEXTLINE(modernize-use-using): C reads it too.
typedef const struct LairdCudaApi* (*LairdCudaEntry)(void);

#ifdef __cplusplus
}
#endif
