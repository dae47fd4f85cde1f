/* What the static libraries of the compiler and of Debian 12 import from glibc although JetPack 4's
 * glibc 2.27 does not have it. Every program is linked with this object; its symbols are hidden, so a
 * library that a program loads later still gets the board's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32. libstdc++ uses atomic operations for its counters while this is 0: always correct. */
HIDDEN char __libc_single_threaded = 0;

/* glibc 2.28. On arm64 the two are the same system call with the same structures. */
HIDDEN int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(fd, command, argument);
}

/* glibc 2.36. It has no way to report a failure, so a kernel without random numbers ends the program. */
HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  ssize_t got;
  do got = getrandom(&number, sizeof number, 0);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof number) abort();
  return number;
}

/* glibc 2.35: which loaded object holds an address, and where its table of frames for unwinding is. */
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  struct link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long dlfo_reserved[7];
};

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_in_object(struct dl_phdr_info* object, size_t size, void* data) {
  struct search* search = data;
  const ElfW(Phdr)* frames = NULL;
  const ElfW(Phdr)* holds = NULL;
  (void)size;
  for (ElfW(Half) i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) frames = segment;
    if (segment->p_type == PT_LOAD && search->address - start < segment->p_memsz) holds = segment;
  }
  if (holds == NULL) return 0;
  if (frames == NULL) return -1;
  *search->found = (struct dl_find_object){
      .dlfo_map_start = (void*)(object->dlpi_addr + holds->p_vaddr),
      .dlfo_map_end = (void*)(object->dlpi_addr + holds->p_vaddr + holds->p_memsz),
      .dlfo_eh_frame = (void*)(object->dlpi_addr + frames->p_vaddr)};
  return 1;
}

HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_in_object, &search) == 1 ? 0 : -1;
}

/* glibc 2.29 gave these a second version that no longer calls the matherr handler of System V. The
 * version that every arm64 glibc has returns the same numbers. */
__asm__(".symver log_2_17, log@GLIBC_2.17");
__asm__(".symver exp_2_17, exp@GLIBC_2.17");
__asm__(".symver pow_2_17, pow@GLIBC_2.17");
double log_2_17(double x);
double exp_2_17(double x);
double pow_2_17(double x, double y);
HIDDEN double log(double x) { return log_2_17(x); }
HIDDEN double exp(double x) { return exp_2_17(x); }
HIDDEN double pow(double x, double y) { return pow_2_17(x, y); }
