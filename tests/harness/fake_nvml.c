/* A stand-in for libnvidia-ml.so.1. The file named by FAKE_NVML is read at each call:
 *
 *   load 47          the value a query gives; a query without one is not supported
 *   load! 15         the code a query fails with: 3 not supported, 15 GPU lost
 *   init! 18         the same for nvmlInit_v2; handle! for the device
 *   hang load        the call waits until the file says so no longer
 *
 * Queries: load (percent), clock (MHz), power (mW), temperature (C). Without the file: no driver.
 * FAKE_NVML_NO_LOAD and FAKE_NVML_OLD build libraries that lack functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSuccess = 0, kNotSupported = 3, kDriverNotLoaded = 9 };

/* Whether the file has a line "KEY VALUE"; the number of it. */
static int find(const char* key, unsigned* value) {
  const char* path = getenv("FAKE_NVML");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  char name[64];
  char text[64];
  int found = 0;
  if (file == NULL) return -1;
  while (fscanf(file, "%63s %63s", name, text) == 2) {
    if (strcmp(name, key) != 0) continue;
    *value = (unsigned)strtoul(text, NULL, 10);
    found = 1;
  }
  fclose(file);
  return found;
}

static int hangs(const char* query) {
  const char* path = getenv("FAKE_NVML");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  char name[64];
  char text[64];
  int found = 0;
  if (file == NULL) return 0;
  while (fscanf(file, "%63s %63s", name, text) == 2) {
    if (strcmp(name, "hang") == 0 && strcmp(text, query) == 0) found = 1;
  }
  fclose(file);
  return found;
}

static int code_of(const char* query, int otherwise) {
  char key[64];
  unsigned code = 0;
  while (hangs(query)) usleep(5000);
  snprintf(key, sizeof key, "%s!", query);
  switch (find(key, &code)) {
    case -1: return kDriverNotLoaded;
    case 0: return otherwise;
    default: return (int)code;
  }
}

static int value_of(const char* query, unsigned* out) {
  unsigned value = 0;
  int found;
  int code;
  while (hangs(query)) usleep(5000);
  found = find(query, &value);
  code = code_of(query, found == 1 ? kSuccess : kNotSupported);
  if (code == kSuccess) *out = value;
  return code;
}

#ifndef FAKE_NVML_OLD
int nvmlInit_v2(void) { return code_of("init", kSuccess); }
#else
int nvmlInit(void) { return kSuccess; }
#endif

int nvmlShutdown(void) { return kSuccess; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case 3: return "Not Supported";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  snprintf(out, length, "580.00-fake");
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  static int device;
  *out = &device;
  return index == 0 ? code_of("handle", kSuccess) : 2;
}

#ifndef FAKE_NVML_NO_LOAD
struct utilization {
  unsigned gpu;
  unsigned memory;
};

int nvmlDeviceGetUtilizationRates(void* device, struct utilization* out) {
  (void)device;
  return value_of("load", &out->gpu);
}
#endif

int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* out) {
  (void)device;
  return type == 0 ? value_of("clock", out) : 2;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  (void)device;
  return value_of("power", out);
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* out) {
  (void)device;
  return sensor == 0 ? value_of("temperature", out) : 2;
}
