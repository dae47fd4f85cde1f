/* liblaird_cuda.so: the driver's API, and nothing of CUDA's toolkit. The PTX is inside as text; the
 * driver of the board compiles it for its GPU when it is opened and keeps the result in the folder
 * that CUDA_CACHE_PATH names.
 *
 * In C, so that it needs no C++ library. See plugin_api.h for who calls it. */
#include "estimators/cuda/plugin_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__asm__(
    ".pushsection .rodata\n"
    "laird_ptx:\n"
    ".incbin \"" LAIRD_CUDA_PTX "\"\n"
    "laird_ptx_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern const char laird_ptx[] __attribute__((visibility("hidden")));
extern const char laird_ptx_end[] __attribute__((visibility("hidden")));

/* Of the driver's API: cuda.h, which this does not include, since a build has none. */
typedef struct Context* CUcontext;
typedef struct Module* CUmodule;
typedef struct Function* CUfunction;
enum {
  kAttachGlobal = 1,         /* CU_MEM_ATTACH_GLOBAL */
  kComputeMajor = 75,        /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
  kComputeMinor = 76,
  kManagedMemory = 83,
};

/* Our own errors are negative. */
enum { kNoDriver = -1, kNotADriver = -2, kNoDevice = -3, kNoManaged = -4, kOpenAlready = -5,
       kNoKernel = -6, kNotOpen = -7, kTooMany = -8 };

static struct {
  void* library;
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*context_retain)(CUcontext*, int);
  int (*context_release)(int);
  int (*context_use)(CUcontext);
  int (*synchronize)(void);
  int (*module_load)(CUmodule*, const void*, unsigned, int*, void**);
  int (*module_unload)(CUmodule);
  int (*module_function)(CUfunction*, CUmodule, const char*);
  int (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void*, void**, void**);
  int (*allocate_managed)(void**, size_t, unsigned);
  int (*free_memory)(void*);
  int (*error_text)(int, const char**);
} driver;

static struct {
  struct LairdCudaLoader loader;
  bool open;
  int device;
  CUcontext context;
  CUmodule module;
} now;

/* The last one is for words about errors, and absent in the first drivers. */
static bool find_all(const struct LairdCudaLoader* loader) {
  const struct {
    const char* name;
    void* to;
  } wanted[] = {{"cuInit", &driver.init},
                {"cuDriverGetVersion", &driver.driver_version},
                {"cuDeviceGetCount", &driver.device_count},
                {"cuDeviceGet", &driver.device_get},
                {"cuDeviceGetName", &driver.device_name},
                {"cuDeviceGetAttribute", &driver.device_attribute},
                {"cuDevicePrimaryCtxRetain", &driver.context_retain},
                {"cuDevicePrimaryCtxRelease", &driver.context_release},
                {"cuCtxSetCurrent", &driver.context_use},
                {"cuCtxSynchronize", &driver.synchronize},
                {"cuModuleLoadDataEx", &driver.module_load},
                {"cuModuleUnload", &driver.module_unload},
                {"cuModuleGetFunction", &driver.module_function},
                {"cuLaunchKernel", &driver.launch},
                {"cuMemAllocManaged", &driver.allocate_managed},
                /* cuMemFree without _v2 takes a pointer of 32 bits. */
                {"cuMemFree_v2", &driver.free_memory},
                {"cuGetErrorString", &driver.error_text}};
  const size_t count = sizeof wanted / sizeof wanted[0];
  for (size_t i = 0; i < count; i++) {
    void* found = loader->find(driver.library, wanted[i].name);
    if (found == NULL && i + 1 < count) return false;
    memcpy(wanted[i].to, &found, sizeof found);
  }
  return true;
}

static void close_all(void) {
  if (now.module != NULL) driver.module_unload(now.module);
  if (now.context != NULL) {
    driver.context_use(NULL);
    driver.context_release(now.device);
  }
  if (driver.library != NULL) now.loader.close(driver.library);
  memset(&driver, 0, sizeof driver);
  memset(&now, 0, sizeof now);
}

static int open_device(struct LairdCudaDevice* device) {
  int error = driver.init(0);
  if (error != 0) return error;
  int count = 0;
  if ((error = driver.device_count(&count)) != 0) return error;
  if (count == 0) return kNoDevice;
  if ((error = driver.device_get(&now.device, 0)) != 0) return error;
  int managed = 0;
  if ((error = driver.driver_version(&device->driver)) != 0 ||
      (error = driver.device_name(device->name, (int)sizeof device->name, now.device)) != 0 ||
      (error = driver.device_attribute(&device->major, kComputeMajor, now.device)) != 0 ||
      (error = driver.device_attribute(&device->minor, kComputeMinor, now.device)) != 0 ||
      (error = driver.device_attribute(&managed, kManagedMemory, now.device)) != 0) {
    return error;
  }
  device->name[sizeof device->name - 1] = '\0';
  if (managed == 0) return kNoManaged;
  /* The primary context is shared with whatever else of this process uses the GPU. */
  if ((error = driver.context_retain(&now.context, now.device)) != 0) return error;
  if ((error = driver.context_use(now.context)) != 0) return error;
  /* No options: a target named here could be one that the PTX does not fit. */
  return driver.module_load(&now.module, laird_ptx, 0, NULL, NULL);
}

static const char* describe(int error) {
  switch (error) {
    case kNoDriver: return LAIRD_CUDA_DRIVER " cannot be loaded: this machine has no CUDA driver";
    case kNotADriver: return "the library of the CUDA driver lacks a function";
    case kNoDevice:
    case 100: return "no CUDA-capable device";
    case kNoManaged: return "the device has no managed memory";
    case kOpenAlready: return "the device is open already";
    case kNoKernel: return "a kernel is not in the plugin's PTX: install laird's files together";
    case kNotOpen: return "the device is not open";
    case kTooMany: return "too many filters for one launch";
    /* Those that a board meets and the driver says little about. */
    case 218: return "the driver refused the PTX as invalid (error 218)";
    case 221:
      return "the driver's compiler libnvidia-ptxjitcompiler.so.1 is missing (error 221): "
             "install the package nvidia-l4t-cuda";
    case 222: return "the PTX is too new for this driver (error 222)";
    default: break;
  }
  /* The driver's own words are copied: it may be gone when somebody reads them. */
  static char text[160];
  static int text_of;
  const char* words = NULL;
  if (driver.error_text == NULL && text_of == error) return text;
  text_of = error;
  if (driver.error_text != NULL && driver.error_text(error, &words) == 0 && words != NULL) {
    snprintf(text, sizeof text, "%s (error %d)", words, error);
  } else {
    snprintf(text, sizeof text, "CUDA error %d", error);
  }
  return text;
}

static int plugin_open(const struct LairdCudaLoader* loader, const char* name,
                       struct LairdCudaDevice* device) {
  if (now.open) return kOpenAlready;
  memset(device, 0, sizeof *device);
  now.loader = *loader;
  now.open = true;
  driver.library = loader->open(name);
  int error = driver.library == NULL ? kNoDriver : 0;
  if (error == 0 && !find_all(loader)) error = kNotADriver;
  if (error == 0) error = open_device(device);
  if (error != 0) {
    describe(error);
    close_all();
  }
  return error;
}

static int plugin_allocate(size_t bytes, void** memory) {
  if (!now.open) return kNotOpen;
  return driver.allocate_managed(memory, bytes, kAttachGlobal);
}
static void plugin_release(void* memory) {
  if (now.open && memory != NULL) driver.free_memory(memory);
}

static int launch(const struct LairdCudaLaunch* one) {
  if (one->blocks == 0) return 0;
  if (one->blocks > 0x7fffffffu || one->threads > LAIRD_CUDA_THREADS) return kTooMany;
  CUfunction function = NULL;
  if (driver.module_function(&function, now.module, one->kernel) != 0) return kNoKernel;
  /* The driver copies the argument and only reads it. */
  void* argument;
  memcpy(&argument, &one->argument, sizeof argument);
  void* arguments[] = {argument};
  return driver.launch(function, (unsigned)one->blocks, 1, 1, (unsigned)one->threads, 1, 1, 0, NULL,
                       arguments, NULL);
}

static int plugin_run(const struct LairdCudaLaunch* launches, size_t count) {
  if (!now.open) return kNotOpen;
  int error = 0;
  for (size_t i = 0; i < count && error == 0; i++) error = launch(&launches[i]);
  const int ended = driver.synchronize();
  return error != 0 ? error : ended;
}

static const char* plugin_ptx(size_t* bytes) {
  *bytes = (size_t)(laird_ptx_end - laird_ptx);
  return laird_ptx;
}

__attribute__((visibility("default"))) const struct LairdCudaApi* laird_cuda_api(void) {
  static const struct LairdCudaApi kApi = {LAIRD_CUDA_API_VERSION, plugin_open, close_all,
                                           plugin_allocate, plugin_release, plugin_run, describe,
                                           plugin_ptx};
  return &kApi;
}
