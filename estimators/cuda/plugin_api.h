// The C interface between laird and its CUDA plugin, liblaird_cuda.so.
//
// The plugin knows the driver and nothing of filters: it holds the PTX, opens the driver, lends
// memory and launches kernels by name. It is opened with dlopen and only when a batch is large
// enough to want it: a CUDA context costs 100 MB or more on a Jetson. Nothing else of laird knows
// CUDA. The plugin may be of another build, so the version is checked before anything is called.
//
// It needs nothing but libc, on any glibc since 2.17: the caller lends it dlopen and dlsym, which
// lived in a library of their own until glibc 2.34.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LAIRD_CUDA_API_VERSION 2u
#define LAIRD_CUDA_ENTRY "laird_cuda_api"
// At most, in a block.
#define LAIRD_CUDA_THREADS 128
// libcuda.so without a number is a stub of the toolkit, or absent; this is the driver's.
#define LAIRD_CUDA_DRIVER "libcuda.so.1"

#ifdef __cplusplus
extern "C" {
#endif

struct LairdCudaLoader {
  void* (*open)(const char* library);
  void* (*find)(void* library, const char* symbol);
  void (*close)(void* library);
};

struct LairdCudaLaunch {
  const char* kernel;    // "laird_bank_step"
  uint64_t blocks;
  uint64_t threads;      // of a block
  const void* argument;  // the kernel's one argument, by value
};

struct LairdCudaDevice {
  char name[128];
  int driver;  // 12020 is 12.2
  int major, minor;
};

// One context a process: `open` a second time is an error. Not for several threads.
struct LairdCudaApi {
  uint32_t version;
  // Each returns 0, or an error number that `describe` puts in words.
  int (*open)(const struct LairdCudaLoader* loader, const char* driver,
              struct LairdCudaDevice* device);
  // Gives everything back, the context too.
  void (*close)(void);
  // Managed: on a Jetson CPU and GPU share it and nothing is copied. The CPU must not touch it
  // while `run` runs: on the boards before Orin the GPU then owns all of it.
  int (*allocate)(size_t bytes, void** memory);
  void (*release)(void* memory);
  // Launches them one after the other and returns when the last has ended.
  int (*run)(const struct LairdCudaLaunch* launches, size_t count);
  const char* (*describe)(int error);
  // The PTX inside, and its length without the final zero.
  const char* (*ptx)(size_t* bytes);
};

// NOLINTNEXTLINE(modernize-use-using): C reads it too.
typedef const struct LairdCudaApi* (*LairdCudaEntry)(void);

#ifdef __cplusplus
}
#endif
