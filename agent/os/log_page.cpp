#include "agent/os/log_page.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/fd.hpp"

namespace laird::agent {

Result<LogPage> read_log_page(const std::string& path, std::optional<std::int64_t> from) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalid, path + " is no file");
  LogPage out;
  out.size = info.st_size;
  out.from = from.value_or(std::max<std::int64_t>(0, out.size - kLogPageBytesMax));
  if (out.from > out.size) out.from = 0;
  out.bytes.resize(static_cast<std::size_t>(std::min(out.size - out.from, kLogPageBytesMax)));
  const ssize_t got = ::pread(fd.get(), out.bytes.data(), out.bytes.size(), out.from);
  if (got < 0) return fail_errno(errno, path);
  out.bytes.resize(static_cast<std::size_t>(got));
  out.next = out.from + got;
  const std::size_t line = out.bytes.find('\n');
  if (!from && out.from > 0 && line != std::string::npos) {
    out.bytes.erase(0, line + 1);
    out.from += static_cast<std::int64_t>(line) + 1;
  }
  return out;
}

}  // namespace laird::agent
