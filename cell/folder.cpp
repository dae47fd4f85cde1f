#include "cell/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>

namespace laird::cell {
namespace {

constexpr int kDepthMax = 32;
constexpr std::uint64_t kEntriesMax = 1'000'000;
constexpr std::uint64_t kEntryBytesMin = 1024;
constexpr std::uint64_t kBlockBytes = 512;
// A trainer of an agent that was killed ends within this time, or something is wrong.
constexpr int kLockTries = 100;
constexpr long kLockWaitNs = 50'000'000;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// A folder opened for listing, by a descriptor of it.
Dir list(int fd) {
  const int again = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return nullptr;
  Dir out(::fdopendir(again));
  if (out == nullptr) ::close(again);
  return out;
}

bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// By descriptor throughout: what was looked at is what changes hands.
void hand_over(int folder, Owner from, Owner to, int depth) {
  const Dir dir = depth > kDepthMax ? nullptr : list(folder);
  while (const dirent* entry = dir == nullptr ? nullptr : ::readdir(dir.get())) {
    if (is_dot(entry->d_name)) continue;
    const Fd at(::openat(folder, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!at || ::fstat(at.get(), &info) != 0 || info.st_uid != from.uid) continue;
    const bool is_folder = S_ISDIR(info.st_mode);
    if (!is_folder && !(S_ISREG(info.st_mode) && info.st_nlink == 1)) continue;
    [[maybe_unused]] const int rc = ::fchownat(at.get(), "", to.uid, to.gid, AT_EMPTY_PATH);
    if (is_folder) hand_over(at.get(), from, to, depth + 1);
  }
}

Status lock(int folder, const std::string& path) {
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno(errno, "cannot lock " + path);
    const timespec wait{0, kLockWaitNs};
    ::nanosleep(&wait, nullptr);
  }
  return fail(Code::kRefused, "another trainer still uses " + path);
}

void measure(int folder, int depth, std::uint64_t& entries, Used& out) {
  const Dir dir = depth > kDepthMax ? nullptr : list(folder);
  if (dir == nullptr) {
    // Unreadable or too deep for anybody to count.
    out.all_seen = out.all_seen && depth <= kDepthMax;
    return;
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    if (is_dot(entry->d_name)) continue;
    if (++entries > kEntriesMax) {
      out.all_seen = false;
      return;
    }
    struct stat info {};
    if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out.bytes += std::max(static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes, kEntryBytesMin);
    if (!S_ISDIR(info.st_mode)) continue;
    const Fd below(::openat(folder, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (below) measure(below.get(), depth + 1, entries, out);
  }
}

}  // namespace

Result<Fd> take_folder(const std::string& tasks_folder, const std::string& task, Owner from,
                       Owner to) {
  const std::string path = tasks_folder + "/" + task;
  const Fd above(::open(tasks_folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!above) return fail_errno(errno, "cannot open " + tasks_folder);
  if (::mkdirat(above.get(), task.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "cannot make " + path);
  }
  Fd out(::openat(above.get(), task.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out) return fail_errno(errno, "cannot open " + path);
  struct stat info {};
  if (::fstat(out.get(), &info) != 0) return fail_errno(errno, path);
  // Ours, or made a moment ago by this process.
  if (info.st_uid != from.uid && info.st_uid != to.uid && info.st_uid != ::geteuid()) {
    return fail(Code::kPermission, path + " belongs to another user; chown it, or remove it");
  }
  LAIRD_TRY(lock(out.get(), path));
  // A trainer of another user leaves its model there for the agent, which comes as the group.
  const bool shared = to.uid != from.uid;
  const mode_t mode = shared ? 0750 : 0700;
  const gid_t group = shared ? from.gid : to.gid;
  if (info.st_uid != to.uid || info.st_gid != group) {
    if (::fchmod(out.get(), mode) != 0 || ::fchown(out.get(), to.uid, group) != 0) {
      return fail_errno(errno, "cannot give " + path + " to its trainer");
    }
    hand_over(out.get(), from, to, 0);
  } else if ((info.st_mode & 0777 & ~mode) != 0 && ::fchmod(out.get(), mode) != 0) {
    return fail_errno(errno, "cannot close " + path + " to others");
  }
  return out;
}

namespace {

bool is_among(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status remove_below(int folder, const std::vector<std::string>& kept, int depth) {
  if (depth > kDepthMax) return fail(Code::kFull, "the task's folder is too deep to be emptied");
  const Dir dir = list(folder);
  if (dir == nullptr) return fail_errno(errno, "cannot list the task's folder");
  while (const dirent* entry = ::readdir(dir.get())) {
    if (is_dot(entry->d_name) || is_among(kept, entry->d_name)) continue;
    if (::unlinkat(folder, entry->d_name, 0) == 0) continue;
    const Fd below(
        ::openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) LAIRD_TRY(remove_below(below.get(), {}, depth + 1));
    if (::unlinkat(folder, entry->d_name, AT_REMOVEDIR) != 0) {
      return fail_errno(errno, "cannot empty the task's folder");
    }
  }
  return {};
}

constexpr const char* kWarmNext = "warm.next";

// A folder in the folder, never what a link in its place leads to.
Fd open_inner(int folder, const char* name) {
  return Fd(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool holds(const Fd& folder, const std::string& name) {
  struct stat info {};
  return folder && ::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// Everything but `kept` goes into the folder `into` of the same folder, which is given back.
Result<Fd> move_into(int folder, const char* into, const std::vector<std::string>& kept) {
  if (::mkdirat(folder, into, 0700) != 0 && errno != EEXIST) return fail_errno(errno, into);
  Fd to = open_inner(folder, into);
  if (!to) return fail_errno(errno, into);
  // As the folder itself: its trainer's.
  struct stat info {};
  if (::fstat(folder, &info) != 0 || ::fchown(to.get(), info.st_uid, info.st_gid) != 0) {
    return fail_errno(errno, into);
  }
  const Dir dir = list(folder);
  if (dir == nullptr) return fail_errno(errno, "cannot list the task's folder");
  while (const dirent* entry = ::readdir(dir.get())) {
    if (is_dot(entry->d_name) || is_among(kept, entry->d_name)) continue;
    if (::renameat(folder, entry->d_name, to.get(), entry->d_name) != 0) {
      return fail_errno(errno, "cannot keep the earlier run's files");
    }
  }
  return to;
}

// What has the name of one of our folders and is none, as a trainer may have left it.
void drop_if_no_folder(int folder, const char* name) {
  struct stat info {};
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode)) {
    ::unlinkat(folder, name, 0);
  }
}

}  // namespace

Status empty_folder(int folder, const std::vector<std::string>& kept) {
  return remove_below(folder, kept, 0);
}

Status keep_warm(int folder, std::uint64_t from) {
  drop_if_no_folder(folder, kWarmFolder);
  drop_if_no_folder(folder, kWarmNext);
  const std::string mark = ".of-" + std::to_string(from);
  // In this order: what is interrupted after any of these steps goes on at the same one.
  if (!holds(open_inner(folder, kWarmFolder), mark)) {
    if (!holds(open_inner(folder, kWarmNext), mark)) {
      // The mark is ours to put there, and the last: a trainer's file of its name stays behind.
      const auto next = move_into(folder, kWarmNext, {kModelsKept, kWarmFolder, kWarmNext, mark});
      LAIRD_TRY(next);
      const Fd made(
          ::openat(next->get(), mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!made || ::fsync(made.get()) != 0) return fail_errno(errno, "cannot mark the model");
    }
    if (const Fd old = open_inner(folder, kWarmFolder); old)
      LAIRD_TRY(remove_below(old.get(), {}, 1));
    if (::unlinkat(folder, kWarmFolder, AT_REMOVEDIR) != 0 && errno != ENOENT) {
      return fail_errno(errno, "cannot remove the model before");
    }
    if (::renameat(folder, kWarmNext, folder, kWarmFolder) != 0 || ::fsync(folder) != 0) {
      return fail_errno(errno, "cannot keep the earlier run's files");
    }
  }
  return empty_folder(folder, {kModelsKept, kWarmFolder});
}

Used folder_used(const std::string& folder) {
  Used out;
  std::uint64_t entries = 0;
  const Fd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (at) measure(at.get(), 0, entries, out);
  return out;
}

std::uint64_t nameless_used(const std::string& proc) {
  std::uint64_t out = 0;
  std::set<std::pair<dev_t, ino_t>> seen;
  const Dir all(::opendir(proc.c_str()));
  while (const dirent* process = all == nullptr ? nullptr : ::readdir(all.get())) {
    if (std::atoi(process->d_name) <= 0) continue;
    const Dir files(::opendir((proc + "/" + process->d_name + "/fd").c_str()));
    while (const dirent* file = files == nullptr ? nullptr : ::readdir(files.get())) {
      struct stat info {};
      if (is_dot(file->d_name) || ::fstatat(::dirfd(files.get()), file->d_name, &info, 0) != 0) {
        continue;
      }
      if (!S_ISREG(info.st_mode) || info.st_nlink != 0) continue;
      if (!seen.insert({info.st_dev, info.st_ino}).second) continue;
      out += static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes;
    }
  }
  return out;
}

}  // namespace laird::cell
