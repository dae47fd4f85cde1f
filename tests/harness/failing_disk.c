/* Preloaded into a program, makes its disk fail on request.
 *
 * FAILING_DISK names a folder; FAILING_DISK_RULES a file, read before each call on a file below the
 * folder, that holds lines "CALL ERRNO COUNT": the next COUNT calls of that kind (write, sync) fail
 * with that error, -1 for all of them. Each failure is one more byte in RULES.hits. A rule that is
 * used up stays in the file; rewriting the file, by a rename, starts its count again.
 *
 * FAILING_DISK_STALL names a file: while it exists, calls on files below the folder do not return,
 * as on a card that is busy with itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static ino_t seen_file;
static int used_write;
static int used_sync;

static int below_folder(int fd) {
  const char* folder = getenv("FAILING_DISK");
  char link[64];
  char path[4096];
  ssize_t n;
  if (folder == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = '\0';
  return strncmp(path, folder, strlen(folder)) == 0;
}

static void note_hit(const char* rules) {
  char path[4096];
  int fd;
  snprintf(path, sizeof path, "%s.hits", rules);
  fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (syscall(SYS_write, fd, "x", (size_t)1) < 0) abort();
  close(fd);
}

static void stand_still(void) {
  const char* stall = getenv("FAILING_DISK_STALL");
  const struct timespec moment = {0, 5 * 1000 * 1000};
  while (stall != NULL && access(stall, F_OK) == 0) nanosleep(&moment, NULL);
}

/* The error this call is to fail with, 0 for none. */
static int fault_of(const char* call, int* used, int fd) {
  const char* rules = getenv("FAILING_DISK_RULES");
  struct stat now;
  FILE* file;
  char name[16];
  int error = 0;
  int count = 0;
  int found = 0;
  if (!below_folder(fd)) return 0;
  stand_still();
  if (rules == NULL) return 0;
  file = fopen(rules, "re");
  if (file == NULL) return 0;
  if (fstat(fileno(file), &now) == 0 && now.st_ino != seen_file) {
    seen_file = now.st_ino;
    used_write = 0;
    used_sync = 0;
  }
  while (!found && fscanf(file, "%15s %d %d", name, &error, &count) == 3) {
    found = strcmp(name, call) == 0 && (count < 0 || *used < count);
  }
  fclose(file);
  if (!found) return 0;
  ++*used;
  note_hit(rules);
  return error;
}

#define REAL(type, name, ...)             \
  static type (*real)(__VA_ARGS__);       \
  if (real == NULL) {                     \
    void* found = dlsym(RTLD_NEXT, name); \
    memcpy(&real, &found, sizeof found);  \
  }

#define FAIL_OR(call, used, otherwise)          \
  do {                                          \
    const int error = fault_of(call, used, fd); \
    if (error == 0) return otherwise;           \
    errno = error;                              \
    return -1;                                  \
  } while (0)

ssize_t write(int fd, const void* data, size_t size) {
  REAL(ssize_t, "write", int, const void*, size_t)
  FAIL_OR("write", &used_write, real(fd, data, size));
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  REAL(ssize_t, "pwrite", int, const void*, size_t, off_t)
  FAIL_OR("write", &used_write, real(fd, data, size, at));
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void*, size_t, off64_t)
  FAIL_OR("write", &used_write, real(fd, data, size, at));
}

int fsync(int fd) {
  REAL(int, "fsync", int)
  FAIL_OR("sync", &used_sync, real(fd));
}

int fdatasync(int fd) {
  REAL(int, "fdatasync", int)
  FAIL_OR("sync", &used_sync, real(fd));
}
