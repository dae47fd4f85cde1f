#include "agent/trainer_host/checkpoint_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "agent/core/step/titles/title_body.hpp"
#include "os/fd.hpp"
#include "trainer_protocol/limits.hpp"

namespace laird::agent {
namespace {

constexpr std::size_t kEntriesMax = 256;  // looked at in one folder

bool is_spare(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  return name.ends_with(".tmp") || has(".before") || has(".damaged") ||
         name == trainer_protocol::kParcelsFile || !core::is_checkpoint_file_name(name);
}

// Nothing if it is no plain file, cannot be read, or is longer than `most`, which `too_large` says.
std::string read_plain(const std::string& path, std::size_t most, bool& too_large) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size > static_cast<off_t>(most)) {
    too_large = true;
    return {};
  }
  std::string out(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::pread(fd.get(), out.data(), out.size(), 0);
  if (got != static_cast<ssize_t>(out.size())) return {};
  return out;
}

}  // namespace

CheckpointFiles read_checkpoint_files(const std::string& folder) {
  CheckpointFiles out;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (names.size() < kEntriesMax && !is_spare(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::size_t left = core::kCheckpointCopyBytesMax;
  for (const std::string& name : names) {
    std::string bytes = read_plain(folder + "/" + name, left, out.too_large);
    if (bytes.empty()) continue;
    if (out.files.size() == core::kCheckpointFilesMax) out.too_large = true;
    if (out.too_large) break;
    left -= bytes.size();
    out.files.push_back({name, std::move(bytes)});
  }
  if (out.too_large) out.files.clear();
  return out;
}

namespace {

Status write_plain(int folder, const core::CopiedFile& file) {
  const std::string path = file.name;
  if (::unlinkat(folder, path.c_str(), 0) != 0 && errno != ENOENT) {
    return fail_errno(errno, "cannot replace " + path);
  }
  const Fd fd(
      ::openat(folder, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "cannot write " + path);
  std::size_t done = 0;
  while (done < file.bytes.size()) {
    const ssize_t n = ::write(fd.get(), file.bytes.data() + done, file.bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "cannot write " + path);
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd.get()) != 0) return fail_errno(errno, "cannot write " + path);
  return {};
}

}  // namespace

Status place_checkpoint_files(const std::string& folder,
                              const std::vector<core::CopiedFile>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "cannot open " + folder);
  // An earlier checkpoint here, of this task or another's, must not be taken for the one that came.
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) std::filesystem::remove(at->path(), ignored);
  }
  for (const core::CopiedFile& file : files) {
    if (!core::is_checkpoint_file_name(file.name)) {
      return fail(Code::kInvalid, "a file of a checkpoint has a name that is none");
    }
    if (const Status ok = write_plain(fd.get(), file); !ok) return ok;
  }
  return {};
}

}  // namespace laird::agent
