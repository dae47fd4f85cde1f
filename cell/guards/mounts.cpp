#include "cell/guards/mounts.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "os/fd.hpp"

namespace laird::cell {
namespace {

constexpr unsigned long kStill = MS_NOSUID | MS_NODEV;

Status mounted(const char* what, const std::string& at, const char* type, unsigned long flags,
               const std::string& options = "") {
  if (::mount(what, at.c_str(), type, flags, options.empty() ? nullptr : options.c_str()) == 0) {
    return {};
  }
  return fail_errno(errno, "cannot mount " + at + " for a trainer");
}

// A mount keeps the flags that this namespace may not take away.
unsigned long flags_of(const std::string& at) {
  struct statvfs info {};
  if (::statvfs(at.c_str(), &info) != 0) return 0;
  unsigned long out = 0;
  if ((info.f_flag & ST_NOSUID) != 0) out |= MS_NOSUID;
  if ((info.f_flag & ST_NODEV) != 0) out |= MS_NODEV;
  if ((info.f_flag & ST_NOEXEC) != 0) out |= MS_NOEXEC;
  if ((info.f_flag & ST_NOATIME) != 0) out |= MS_NOATIME;
  if ((info.f_flag & ST_NODIRATIME) != 0) out |= MS_NODIRATIME;
  if ((info.f_flag & ST_RELATIME) != 0) out |= MS_RELATIME;
  return out;
}

Status make_everything_read_only() {
  std::ifstream in("/proc/self/mountinfo");
  if (!in) return fail(Code::kUnavailable, "no /proc/self/mountinfo");
  std::vector<std::string> points;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    points.push_back(unescaped(field));
  }
  for (const std::string& at : points) {
    if (is_below(at, "/proc")) continue;
    if (::mount(nullptr, at.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags_of(at),
                nullptr) == 0) {
      continue;
    }
    // Below another mount, or closed to everybody but its owner: it is not to be reached anyway.
    if (errno == ENOENT || errno == EACCES || errno == EINVAL || errno == ENOTCONN) continue;
    return fail_errno(errno, "cannot make " + at + " read-only for a trainer");
  }
  return {};
}

Status make_folders(const std::string& from, const std::string& to) {
  for (std::size_t at = from.size(); at != std::string::npos;) {
    at = to.find('/', at + 1);
    const std::string folder = to.substr(0, at);
    // The trainer's user passes through, whatever this process's mask.
    if ((::mkdir(folder.c_str(), 0755) != 0 || ::chmod(folder.c_str(), 0755) != 0) &&
        errno != EEXIST) {
      return fail_errno(errno, "cannot make " + folder + " in a trainer's cell");
    }
  }
  return {};
}

Status put_folder(const Fd& folder, const std::string& at) {
  const std::string source = "/proc/self/fd/" + std::to_string(folder.get());
  const unsigned long flags = flags_of(source);
  LAIRD_TRY(mounted(source.c_str(), at, nullptr, MS_BIND));
  return mounted(nullptr, at, nullptr, MS_REMOUNT | MS_BIND | kStill | flags);
}

// The task's folder in this namespace, and still the one that was prepared for it.
Result<Fd> open_folder(const View& view) {
  Fd out(::open(view.folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!out || ::fstat(out.get(), &info) != 0) return fail_errno(errno, view.folder);
  if (info.st_dev != view.device || info.st_ino != view.inode) {
    return fail(Code::kRefused, view.folder + " was exchanged");
  }
  return out;
}

// An empty folder in its place, but for the task's own folder if that is below.
Status hide_folder(const std::string& at, const View& view, const Fd& folder) {
  LAIRD_TRY(mounted("tmpfs", at, "tmpfs", kStill | MS_NOEXEC, "size=64k,nr_inodes=64,mode=0755"));
  if (folder && is_below(view.folder, at)) {
    LAIRD_TRY(make_folders(at, view.folder));
    LAIRD_TRY(put_folder(folder, view.folder));
  }
  return mounted(nullptr, at, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kStill | MS_NOEXEC);
}

Status hide(const std::string& at, const View& view, const Fd& folder) {
  struct stat info {};
  if (::stat(at.c_str(), &info) != 0) return {};
  if (S_ISDIR(info.st_mode)) return hide_folder(at, view, folder);
  return mounted("/dev/null", at, nullptr, MS_BIND);
}

Status own_memory_folder(const std::string& at, std::uint64_t bytes) {
  struct stat info {};
  if (::stat(at.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return {};
  return mounted("tmpfs", at, "tmpfs", kStill, "mode=1777,size=" + std::to_string(bytes));
}

}  // namespace

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? "/" : folder + "/");
}

std::string unescaped(const std::string& field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      int code = 0;
      for (int digit = 0; digit < 3; ++digit) code = code * 8 + (field[++i] - '0');
      out += static_cast<char>(code);
    } else {
      out += field[i];
    }
  }
  return out;
}

std::vector<std::string> outermost(const std::vector<std::string>& paths) {
  std::vector<std::string> real;
  for (const std::string& path : paths) {
    char* found = ::realpath(path.c_str(), nullptr);
    if (found == nullptr) continue;
    real.emplace_back(found);
    std::free(found);
  }
  std::sort(real.begin(), real.end());
  std::vector<std::string> out;
  for (std::string& path : real) {
    if (out.empty() || !is_below(path, out.back())) out.push_back(std::move(path));
  }
  return out;
}

Status make_engine_view(const std::string& run, const std::string& run_root) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fail_errno(errno, "cannot make mounts private for a container");
  }
  if (::mount(run.c_str(), run_root.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return fail_errno(errno, "cannot mount " + run_root + " for a container");
  }
  // crun refuses to work where version 2 of control groups stands beside version 1 and holds any
  // controller. It needs none here.
  static_cast<void>(::umount2("/sys/fs/cgroup/unified", MNT_DETACH));
  return mounted("proc", "/proc", "proc", kStill | MS_NOEXEC);
}

Status make_view(const View& view) {
  LAIRD_TRY(mounted(nullptr, "/", nullptr, MS_REC | MS_PRIVATE));
  Fd folder;
  if (!view.folder.empty()) {
    Result<Fd> opened = open_folder(view);
    LAIRD_TRY(opened);
    folder = std::move(*opened);
  }
  LAIRD_TRY(make_everything_read_only());
  const std::vector<std::string> hidden = outermost(view.hidden);
  // Before anything is put over its path.
  const bool is_hidden = std::any_of(hidden.begin(), hidden.end(), [&view](const std::string& at) {
    return is_below(view.folder, at);
  });
  LAIRD_TRY(own_memory_folder("/dev/shm", view.shared_bytes));
  if (view.private_tmp) {
    LAIRD_TRY(own_memory_folder("/tmp", view.shared_bytes));
    LAIRD_TRY(own_memory_folder("/var/tmp", view.shared_bytes));
  }
  for (const std::string& at : hidden) {
    LAIRD_TRY(hide(at, view, folder));
  }
  if (folder && !is_hidden) {
    LAIRD_TRY(put_folder(folder, view.folder));
  }
  // Refused where parts of /proc are covered, as in a container: then it shows what it did before.
  if (view.own_processes) {
    static_cast<void>(mounted("proc", "/proc", "proc", kStill | MS_NOEXEC));
  }
  return {};
}

}  // namespace laird::cell
