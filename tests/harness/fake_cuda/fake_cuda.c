/* A libcuda.so.1 without a GPU: the functions of the driver's API that laird calls. Kernels are the
 * plugin's own PTX, translated to C when the tests were built (translate_ptx.py); a module of any
 * other PTX is refused. Threads run one after another, a block's between two barriers.
 *
 * LAIRD_FAKE_CUDA in the environment makes it one of the drivers that a board may have:
 *   no-device  no-jit  bad-ptx  new-ptx  no-managed
 *   launch:N   the Nth launch fails, and what the kernels wrote is lost
 *   flip:N     one bit of one number is wrong after the Nth launch
 *   crash      the first launch ends the process */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/fake_cuda/translated.h"

__asm__(
    ".pushsection .rodata\n"
    "fake_ptx:\n"
    ".incbin \"" LAIRD_FAKE_PTX "\"\n"
    "fake_ptx_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern const char fake_ptx[] __attribute__((visibility("hidden")));

enum { kAllocationsMax = 256, kError = 1, kNoMemory = 2, kNoDevice = 100, kInvalidImage = 200,
       kInvalidPtx = 218, kNoJit = 221, kUnsupportedPtx = 222, kNotFound = 500, kLaunchFailed = 719 };

static struct {
  void* memory[kAllocationsMax];
  size_t bytes[kAllocationsMax];
  int contexts, modules, launches, failed;
} now;

/* For the tests: what was not given back. */
int fake_cuda_held(void) {
  int held = now.contexts + now.modules;
  for (int i = 0; i < kAllocationsMax; i++) held += now.memory[i] != NULL;
  return held;
}
int fake_cuda_launches(void) { return now.launches; }

static int mode(const char* name) {
  const char* is = getenv("LAIRD_FAKE_CUDA");
  return is != NULL && strcmp(is, name) == 0;
}
/* Of "launch:N". */
static int numbered(const char* name) {
  const char* is = getenv("LAIRD_FAKE_CUDA");
  const size_t length = strlen(name);
  return is != NULL && strncmp(is, name, length) == 0 && is[length] == ':' ? atoi(is + length + 1) : 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return mode("no-device") ? kNoDevice : 0;
}
int cuDriverGetVersion(int* version) {
  *version = 12060;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : kNoDevice;
}
int cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  if (length <= 0) return kError;
  strncpy(name, "translated PTX on the CPU", (size_t)length - 1);
  name[length - 1] = '\0';
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 5 : attribute == 76 ? 3 : attribute == 83 ? !mode("no-managed") : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = &now;
  now.contexts++;
  now.launches = now.failed = 0;
  return 0;
}
int cuDevicePrimaryCtxRelease(int device) {
  (void)device;
  now.contexts--;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  (void)context;
  return 0;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned options, int* names, void** values) {
  (void)names;
  (void)values;
  if (now.contexts == 0 || options != 0) return kError;
  if (mode("no-jit")) return kNoJit;
  if (mode("new-ptx")) return kUnsupportedPtx;
  if (mode("bad-ptx")) return kInvalidPtx;
  /* Text ends with a zero, as the driver wants it. */
  if (strcmp(image, fake_ptx) != 0) return kInvalidImage;
  *module = &now;
  now.modules++;
  return 0;
}
int cuModuleUnload(void* module) {
  (void)module;
  now.modules--;
  return 0;
}
int cuModuleGetFunction(const struct TranslatedKernel** function, void* module, const char* name) {
  (void)module;
  for (unsigned i = 0; i < translated_count; i++) {
    if (strcmp(translated_kernels[i].name, name) == 0) {
      *function = &translated_kernels[i];
      return 0;
    }
  }
  return kNotFound;
}

int cuMemAllocManaged(void** memory, size_t bytes, unsigned flags) {
  if (flags != 1 || bytes == 0) return kError;
  for (int i = 0; i < kAllocationsMax; i++) {
    if (now.memory[i] != NULL) continue;
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory == NULL) return kNoMemory;
    /* No driver promises zeros. */
    memset(*memory, 0xa5, bytes);
    now.memory[i] = *memory;
    now.bytes[i] = bytes;
    return 0;
  }
  return kNoMemory;
}
int cuMemFree_v2(void* memory) {
  for (int i = 0; i < kAllocationsMax; i++) {
    if (now.memory[i] != memory) continue;
    free(memory);
    now.memory[i] = NULL;
    return 0;
  }
  return kError;
}

static int run_block(const struct TranslatedKernel* kernel, unsigned block, unsigned threads,
                     const unsigned char* param, unsigned char* registers, unsigned char* shared) {
  memset(registers, 0, kernel->thread_bytes * threads);
  memset(shared, 0xa5, kernel->shared_bytes);
  for (unsigned i = 0; i < threads; i++) {
    struct TranslatedThread* const thread = (void*)(registers + i * kernel->thread_bytes);
    thread->tid = i;
    thread->ntid = threads;
    thread->ctaid = block;
  }
  for (;;) {
    unsigned waiting = 0;
    for (unsigned i = 0; i < threads; i++) {
      waiting += (unsigned)kernel->run(registers + i * kernel->thread_bytes, param, shared);
    }
    if (waiting == 0) return 0;
    /* Some of a block at a barrier, the others past their end: undefined on a device. */
    if (waiting != threads) return kLaunchFailed;
  }
}

static void spoil_one_bit(void) {
  for (int i = 0; i < kAllocationsMax; i++) {
    if (now.memory[i] == NULL) continue;
    ((unsigned char*)now.memory[i])[0] ^= 1;
    return;
  }
}

int cuLaunchKernel(const struct TranslatedKernel* kernel, unsigned x, unsigned y, unsigned z,
                   unsigned threads, unsigned thread_y, unsigned thread_z, unsigned shared_bytes,
                   void* stream, void** arguments, void** extra) {
  if (y != 1 || z != 1 || thread_y != 1 || thread_z != 1 || stream != NULL || extra != NULL ||
      threads == 0 || threads > 1024 || shared_bytes != 0 || now.contexts == 0) {
    return kError;
  }
  if (now.failed) return kLaunchFailed;
  if (mode("crash")) abort();
  now.launches++;
  if (now.launches == numbered("launch")) {
    /* As a device does it: the launch is accepted, the context is lost, its memory is rubbish. */
    now.failed = 1;
    for (int i = 0; i < kAllocationsMax; i++) {
      if (now.memory[i] != NULL) memset(now.memory[i], 0xff, now.bytes[i]);
    }
    return 0;
  }
  unsigned char* const registers = aligned_alloc(64, (kernel->thread_bytes * threads + 63) / 64 * 64);
  unsigned char* const shared = aligned_alloc(64, (kernel->shared_bytes + 127) / 64 * 64);
  int error = registers == NULL || shared == NULL ? kNoMemory : 0;
  for (unsigned block = 0; block < x && error == 0; block++) {
    error = run_block(kernel, block, threads, arguments[0], registers, shared);
  }
  free(registers);
  free(shared);
  if (now.launches == numbered("flip")) spoil_one_bit();
  return error;
}
int cuCtxSynchronize(void) { return now.failed ? kLaunchFailed : 0; }

int cuGetErrorString(int error, const char** text) {
  *text = error == kLaunchFailed ? "unspecified launch failure"
          : error == kInvalidImage ? "device kernel image is invalid"
                                   : "fake error";
  return 0;
}
