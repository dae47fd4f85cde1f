#include "os/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "os/fd.hpp"

namespace laird {

Status write_through(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "write " + path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return fail_errno(errno, "sync " + path);
  return {};
}

Status sync_folder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open " + path);
  if (::fsync(fd.get()) != 0) return fail_errno(errno, "sync " + path);
  return {};
}

Status replace_file(const std::string& path, std::string_view content) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "make " + folder);
  }
  const std::string staged = path + ".new";
  Fd fd(::open(staged.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "write " + staged);
  if (Status ok = write_through(fd.get(), content, staged); !ok) return ok;
  fd.reset();
  if (::rename(staged.c_str(), path.c_str()) != 0) return fail_errno(errno, "write " + path);
  return sync_folder(folder);
}

}  // namespace laird
