/* What translate_ptx.py makes of a kernel, and the fake driver runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Every thread's registers begin with these. */
struct TranslatedThread {
  uint32_t resume, tid, ntid, ctaid;
};

struct TranslatedKernel {
  const char* name;
  size_t param_bytes;
  size_t thread_bytes;
  size_t shared_bytes;
  /* Runs a thread to its end (0) or to a barrier (1), from where it stopped. */
  int (*run)(void* thread, const unsigned char* param, unsigned char* shared);
};

extern const struct TranslatedKernel translated_kernels[];
extern const unsigned translated_count;
