#include "datasets/byte_source.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace laird::datasets {
namespace {

class GzipFile final : public ByteSource {
 public:
  GzipFile(gzFile file, std::string path) : file_(file), path_(std::move(path)) {}
  ~GzipFile() override { gzclose_r(file_); }

  [[nodiscard]] const std::string& name() const override { return path_; }

  [[nodiscard]] Result<std::size_t> read(std::span<std::uint8_t> out) override {
    constexpr std::size_t kStepMax = std::size_t{1} << 20;
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t ask = std::min(out.size() - done, kStepMax);
      const int n = gzread(file_, out.data() + done, static_cast<unsigned>(ask));
      if (n < 0) return damaged();
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    // A gzip stream cut short reads as an early end; zlib tells only when asked.
    int state = Z_OK;
    (void)gzerror(file_, &state);
    if (done < out.size() && state == Z_BUF_ERROR) return damaged();
    return done;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> damaged() const {
    const int errno_value = errno;
    int state = Z_OK;
    const char* why = gzerror(file_, &state);
    if (state == Z_ERRNO) return fail_errno(errno_value, "cannot read " + path_);
    return fail(Code::kCorrupt,
                path_ + " is a damaged or cut gzip file (" + why + "); copy or install it again");
  }

  gzFile file_;
  std::string path_;
};

class Memory final : public ByteSource {
 public:
  Memory(std::string_view bytes, std::string name) : left_(bytes), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] Result<std::size_t> read(std::span<std::uint8_t> out) override {
    const std::size_t n = std::min(out.size(), left_.size());
    if (n > 0) std::memcpy(out.data(), left_.data(), n);
    left_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view left_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    tl::unexpected<Error> error = fail_errno(errno, "cannot open " + path);
    error.value().context += "; give the path of a data file this process may read";
    return error;
  }
  // A FIFO or a device would block the trainer or never end.
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalid, path + " is not a regular file");
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return fail_errno(errno == 0 ? ENOMEM : errno, "cannot open " + path);
  }
  (void)gzbuffer(file, 128 * 1024);
  return std::unique_ptr<ByteSource>(std::make_unique<GzipFile>(file, path));
}

std::unique_ptr<ByteSource> from_memory(std::string_view bytes, std::string name) {
  return std::make_unique<Memory>(bytes, std::move(name));
}

}  // namespace laird::datasets
