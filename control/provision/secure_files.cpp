#include "control/provision/secure_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace laird::control {
namespace {

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

tl::unexpected<Error> already_there(const std::string& path) {
  return fail(Code::kExists, path + " is there already; --force replaces it");
}

}  // namespace

Status make_private_folder(const std::string& given) {
  const std::string path = trimmed(given);
  std::error_code failed;
  std::filesystem::create_directories(parent_of(path), failed);
  if (failed) return fail_errno(failed.value(), "make " + parent_of(path));
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return fail_errno(errno, "make " + path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISDIR(info.st_mode)) return fail(Code::kExists, path + " is no folder");
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return fail(Code::kPermission, path + " can be written by others: chown and chmod 700 it");
  }
  return {};
}

Status write_file(const std::string& path, std::string_view content, mode_t mode,
                  IfThere if_there) {
  const Status done =
      write_whole_file(path, content, {.mode = mode, .if_there = if_there, .fresh_name = true});
  if (!done && done.error().code == Code::kExists) return already_there(path);
  return done;
}

StagedFolder::StagedFolder(std::string target, std::string staged)
    : target_(std::move(target)), staged_(std::move(staged)) {}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : target_(std::move(other.target_)), staged_(std::exchange(other.staged_, {})) {}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staged_.empty()) std::filesystem::remove_all(staged_, ignored);
}

Result<StagedFolder> StagedFolder::begin(const std::string& path) {
  const std::string target = trimmed(path);
  std::error_code failed;
  std::filesystem::create_directories(parent_of(target), failed);
  if (failed) return fail_errno(failed.value(), "make " + parent_of(target));
  std::string staged = parent_of(target) + "/.lairctl-XXXXXX";
  if (::mkdtemp(staged.data()) == nullptr) {  // mode 0700
    return fail_errno(errno, "make a folder in " + parent_of(target));
  }
  return StagedFolder(target, staged);
}

Status StagedFolder::add(const std::string& name, std::string_view content, mode_t mode) const {
  return write_file(staged_ + "/" + name, content, mode, IfThere::kRefuse);
}

Result<std::string> StagedFolder::commit(IfThere if_there) {
  std::string aside;
  struct stat info {};
  if (::lstat(target_.c_str(), &info) == 0) {
    if (if_there == IfThere::kRefuse) return already_there(target_);
    for (int i = 1; aside.empty(); ++i) {
      const std::string candidate = target_ + ".before-" + std::to_string(i);
      if (::lstat(candidate.c_str(), &info) != 0) aside = candidate;
    }
    if (::rename(target_.c_str(), aside.c_str()) != 0) return fail_errno(errno, "move " + target_);
  }
  if (::rename(staged_.c_str(), target_.c_str()) != 0) {
    const int why = errno;
    if (!aside.empty()) [[maybe_unused]]
      const int back = ::rename(aside.c_str(), target_.c_str());
    return fail_errno(why, "make " + target_);
  }
  staged_.clear();
  LAIRD_TRY(sync_folder(parent_of(target_)));
  return aside;
}

FolderGuard::FolderGuard(FolderGuard&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderGuard::~FolderGuard() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FolderGuard> FolderGuard::lock(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, folder);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(fd);
    if (why == EWOULDBLOCK) return fail(Code::kUnavailable, "another lairctl changes " + folder);
    return fail_errno(why, "lock " + folder);
  }
  return FolderGuard(fd);
}

}  // namespace laird::control
