// What a trainer prints: a file that starts over, keeping one older, when it is full.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "os/fd.hpp"

namespace laird::agent {

class BoundedLog {
 public:
  explicit BoundedLog(std::string path) : path_(std::move(path)) { open(); }
  void write(std::string_view bytes) {
    if (!fd_) return;
    if (size_ + bytes.size() > kBytesMax) {
      std::error_code ignored;
      std::filesystem::rename(path_, path_ + ".1", ignored);
      open();
    }
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n > 0) size_ += static_cast<std::size_t>(n);
  }

 private:
  static constexpr std::size_t kBytesMax = 1024 * 1024;

  void open() {
    fd_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
    struct stat info {};
    size_ = fd_ && ::fstat(fd_.get(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  }
  std::string path_;
  Fd fd_;
  std::size_t size_ = 0;
};

}  // namespace laird::agent
