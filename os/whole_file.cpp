#include "os/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "os/fd.hpp"

namespace laird {

namespace {

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "write " + path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<Fd> open_staged(const std::string& path, const WholeFileOptions& options,
                       std::string& staged) {
  if (!options.fresh_name) {
    staged = options.staged.empty() ? path + ".new" : options.staged;
    Fd fd(::open(staged.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                 options.mode));
    if (!fd) return fail_errno(errno, "write " + staged);
    return fd;
  }
  staged = folder_of(path) + "/.laird-XXXXXX";
  Fd fd(::mkostemp(staged.data(), O_CLOEXEC));  // O_EXCL, mode 0600
  if (!fd) return fail_errno(errno, "write into " + folder_of(path));
  if (::fchmod(fd.get(), options.mode) != 0) {
    const int why = errno;
    ::unlink(staged.c_str());
    return fail_errno(why, "chmod " + path);
  }
  return fd;
}

Status put_in_place(const std::string& staged, const std::string& path,
                    const WholeFileOptions& options) {
  if (options.if_there == IfThere::kRefuse) {
    // A link, unlike a rename, never replaces.
    if (::link(staged.c_str(), path.c_str()) == 0) {
      ::unlink(staged.c_str());
      return {};
    }
    if (errno == EEXIST) return fail(Code::kExists, path + " is there already");
    return fail_errno(errno, "write " + path);
  }
  if (!options.previous.empty() && ::rename(path.c_str(), options.previous.c_str()) != 0 &&
      errno != ENOENT) {
    return fail_errno(errno, "keep " + path + " as " + options.previous);
  }
  if (::rename(staged.c_str(), path.c_str()) != 0) return fail_errno(errno, "write " + path);
  return {};
}

}  // namespace

Status sync_folder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "open " + path);
  if (::fsync(fd.get()) != 0) return fail_errno(errno, "sync " + path);
  return {};
}

Status write_whole_file(const std::string& path, std::string_view content,
                        const WholeFileOptions& options) {
  std::string staged;
  Result<Fd> fd = open_staged(path, options, staged);
  LAIRD_TRY(fd);
  Status done = write_all(fd->get(), content, staged);
  if (done && options.sync && ::fsync(fd->get()) != 0) done = fail_errno(errno, "sync " + staged);
  fd->reset();
  if (done) done = put_in_place(staged, path, options);
  if (!done) {
    ::unlink(staged.c_str());
    return done;
  }
  return options.sync ? sync_folder(folder_of(path)) : done;
}

Result<StagedFile> StagedFile::open(const std::string& path, mode_t mode) {
  WholeFileOptions options;
  options.mode = mode;
  std::string staged;
  Result<Fd> file = open_staged(path, options, staged);
  LAIRD_TRY(file);
  return StagedFile(path, std::move(staged), std::move(*file));
}

StagedFile::~StagedFile() {
  if (file_) ::unlink(staged_.c_str());
}

Status StagedFile::write(std::string_view content) {
  return write_all(file_.get(), content, staged_);
}

Status StagedFile::finish() {
  if (::fsync(file_.get()) != 0) return fail_errno(errno, "sync " + staged_);
  LAIRD_TRY(put_in_place(staged_, path_, {}));
  file_.reset();
  return sync_folder(folder_of(path_));
}

Status replace_file(const std::string& path, std::string_view content) {
  const std::string folder = folder_of(path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "make " + folder);
  }
  return write_whole_file(path, content);
}

}  // namespace laird
