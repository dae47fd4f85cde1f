#include "os/fd.hpp"

#include <unistd.h>

namespace laird {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace laird
