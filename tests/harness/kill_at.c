/* Preloaded into a program, kills it (SIGKILL) just before one of its changes of files.
 *
 * KILL_AT is the number of that change, counted from 1: open for writing, write, fsync, rename,
 * symlink, unlink, mkdir. KILL_AT_PROGRAM names the program; its children live on uncounted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void count(void) {
  static long done;
  const char* at = getenv("KILL_AT");
  const char* program = getenv("KILL_AT_PROGRAM");
  if (at == NULL || program == NULL || strcmp(program, program_invocation_short_name) != 0) return;
  if (++done == atol(at)) kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY) count();
  return REAL(open)(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY) count();
  return REAL(open64)(path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t size) {
  count();
  return REAL(write)(fd, data, size);
}

int fsync(int fd) {
  count();
  return REAL(fsync)(fd);
}

int rename(const char* from, const char* to) {
  count();
  return REAL(rename)(from, to);
}

int symlink(const char* to, const char* at) {
  count();
  return REAL(symlink)(to, at);
}

int unlink(const char* path) {
  count();
  return REAL(unlink)(path);
}

int unlinkat(int fd, const char* path, int flags) {
  count();
  return REAL(unlinkat)(fd, path, flags);
}

int mkdir(const char* path, mode_t mode) {
  count();
  return REAL(mkdir)(path, mode);
}
