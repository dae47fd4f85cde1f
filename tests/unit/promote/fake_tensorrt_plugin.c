/* A plugin for laird-promote without TensorRT: an engine is a text file that says what it does.
 * FAKE_TENSORRT in the environment: "absent", "no-memory"; else all goes well. A build writes how
 * often it was called into the engine; an answer is the first input times that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "promote/tensorrt/plugin_abi.h"

struct opened {
  struct laird_trt_ports ports;
  int64_t batch_max;
  int factor;
};

static int builds = 0;

static int mode_is(const char* word) {
  const char* mode = getenv("FAKE_TENSORRT");
  return mode != NULL && strcmp(mode, word) == 0;
}

int laird_trt_abi(void) { return LAIRD_TRT_ABI; }

int laird_trt_start(int version[3], char* problem, size_t problem_bytes) {
  if (mode_is("absent")) {
    snprintf(problem, problem_bytes, "CUDA finds no device");
    return LAIRD_TRT_ABSENT;
  }
  version[0] = 8;
  version[1] = 5;
  version[2] = 2;
  return LAIRD_TRT_OK;
}

int laird_trt_make(const struct laird_trt_build* build, char* problem, size_t problem_bytes) {
  if (mode_is("no-memory")) {
    snprintf(problem, problem_bytes, "TensorRT ran out of memory");
    return LAIRD_TRT_NO_MEMORY;
  }
  FILE* cache = fopen(build->timing_cache, "r");
  if (cache != NULL) {
    int good = fgetc(cache) == 'g';
    fclose(cache);
    if (!good) {
      snprintf(problem, problem_bytes, "the timing cache does not fit");
      return LAIRD_TRT_FAILED;
    }
  }
  FILE* engine = fopen(build->engine, "w");
  if (engine == NULL) return LAIRD_TRT_FAILED;
  fprintf(engine, "%d", ++builds);
  fclose(engine);
  return LAIRD_TRT_OK;
}

void* laird_trt_open(const char* engine, const struct laird_trt_ports* ports, int64_t batch_max,
                     char* problem, size_t problem_bytes) {
  FILE* file = fopen(engine, "r");
  if (file == NULL) {
    snprintf(problem, problem_bytes, "no engine at %s", engine);
    return NULL;
  }
  struct opened* out = malloc(sizeof *out);
  if (out == NULL || fscanf(file, "%d", &out->factor) != 1) abort();
  fclose(file);
  out->ports = *ports;
  out->batch_max = batch_max;
  return out;
}

int laird_trt_run(void* opened, const float* inputs, int64_t rows, float* answers,
                  double* milliseconds, char* problem, size_t problem_bytes) {
  const struct opened* engine = opened;
  if (rows > engine->batch_max) {
    snprintf(problem, problem_bytes, "too many rows");
    return LAIRD_TRT_FAILED;
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < engine->ports.outputs; ++k) {
      answers[row * engine->ports.outputs + k] =
          inputs[row * engine->ports.features] * (float)engine->factor;
    }
  }
  *milliseconds = 0.25;
  return LAIRD_TRT_OK;
}

void laird_trt_close(void* opened) { free(opened); }
