#include "agent/os/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace laird::agent {

Result<Fd> lock_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(Code::kPermission, "cannot create " + folder + ": " + error.message() +
                                       "; set \"state_dir\" to a folder this user may write");
  }
  const std::string path = folder + "/lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!fd) return fail_errno(errno, "cannot open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kExists, "another laird runs with " + folder +
                                   "; stop it, or give this one its own \"state_dir\"");
  }
  return fd;
}

}  // namespace laird::agent
