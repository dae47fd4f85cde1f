/* Between laird-promote and the plugin that was built against one TensorRT: plain C, so that a
 * plugin of any compiler fits any laird-promote of this version of the interface.
 *
 * A call that fails returns another code than 0 and puts one sentence into `problem`. */
#ifndef LAIRD_PROMOTE_TENSORRT_PLUGIN_ABI_H
#define LAIRD_PROMOTE_TENSORRT_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): names as C has them. */

#ifdef __cplusplus
extern "C" {
#endif

enum { LAIRD_TRT_ABI = 1, LAIRD_TRT_PROBLEM_MAX = 512 };

enum laird_trt_code {
  LAIRD_TRT_OK = 0,
  LAIRD_TRT_FAILED = 1,
  LAIRD_TRT_NO_MEMORY = 2,
  LAIRD_TRT_UNSUPPORTED = 3, /* TensorRT cannot make this model */
  LAIRD_TRT_ABSENT = 4       /* no TensorRT or no device on this board */
};

/* In the order of promote::Precision. */
enum laird_trt_precision { LAIRD_TRT_INT8 = 0, LAIRD_TRT_FP16 = 1, LAIRD_TRT_FP32 = 2 };

struct laird_trt_build {
  const char* onnx;
  const char* engine;
  const char* timing_cache;
  const char* input;
  int64_t features;
  int64_t batch_max;
  uint64_t workspace_bytes;
  int precision;
  int onnx_is_half;
};

struct laird_trt_ports {
  const char* input;
  int64_t features;
  const char* output;
  int64_t outputs;
};

/* LAIRD_TRT_ABI, before anything else is called. */
int laird_trt_abi(void);
/* Opens TensorRT and asks CUDA for a device; gives the version as {major, minor, patch}. */
int laird_trt_start(int version[3], char* problem, size_t problem_bytes);
int laird_trt_make(const struct laird_trt_build* build, char* problem, size_t problem_bytes);
void* laird_trt_open(const char* engine, const struct laird_trt_ports* ports, int64_t batch_max,
                     char* problem, size_t problem_bytes);
/* `rows` up to batch_max. `milliseconds` is the time of the run with its copies. */
int laird_trt_run(void* opened, const float* inputs, int64_t rows, float* answers,
                  double* milliseconds, char* problem, size_t problem_bytes);
void laird_trt_close(void* opened);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif
