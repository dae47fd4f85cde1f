#include "agent/models/pushed_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>

#include "agent/models/model_store.hpp"
#include "config/schema.hpp"
#include "os/child_process.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

namespace fs = std::filesystem;
using json::Value;

constexpr std::int64_t kBytesPerSecond = 2 * 1024 * 1024;
constexpr std::int64_t kBurstBytes = 256 * 1024;
constexpr std::int64_t kReadAtOnce = 1024 * 1024;
constexpr std::size_t kComingMax = 8;
constexpr std::uint64_t kEntriesMax = 10'000;
constexpr std::int64_t kForgottenAfterS = 24 * 3600;
constexpr DurationNs kDiskWait = 20 * kMillisecond;
constexpr const char* kComing = "/.coming";
constexpr const char* kModels = "/models";

bool is_plain_name(const std::string& name) {
  const auto is_odd = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; };
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::none_of(name.begin(), name.end(), is_odd);
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Value waiting(DurationNs wait) { return Value::object().set("wait_ms", wait / kMillisecond + 1); }

Value having(std::int64_t have) { return Value::object().set("have", have); }
Value done() { return Value::object().set("done", true); }

// What the folder holds, files that come included; what nobody went on with for a day goes first.
struct Held {
  std::int64_t bytes = 0;
  bool all_seen = true;
};

Held held_in(const std::string& folder) {
  Held out;
  std::uint64_t entries = 0;
  const std::string coming = folder + kComing + "/";
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++entries > kEntriesMax) {
      out.all_seen = false;
      break;
    }
    struct stat info {};
    const std::string path = at->path().string();
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (path.starts_with(coming) && ::time(nullptr) - info.st_mtim.tv_sec > kForgottenAfterS) {
      ::unlink(path.c_str());
      continue;
    }
    out.bytes += info.st_size;
  }
  return out;
}

std::int64_t size_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? std::int64_t{info.st_size} : -1;
}

}  // namespace

PushedFiles::PushedFiles(Loop& loop, std::string folder, std::int64_t bytes_max)
    : loop_(loop),
      folder_(std::move(folder)),
      bytes_max_(bytes_max),
      allowance_(kBytesPerSecond, kBurstBytes) {}

PushedFiles::~PushedFiles() {
  for (const auto& [path, file] : coming_) {
    if (file.sync <= 0) continue;
    ::kill(file.sync, SIGKILL);
    ::waitpid(file.sync, nullptr, 0);
  }
}

Status PushedFiles::check(const PushedFile& file) const {
  if (folder_.empty()) {
    return fail(Code::kRefused, "this board takes no files: its own file gives no \"push\" folder");
  }
  if (!is_plain_name(file.file) || (!file.model.empty() && !config::is_name(file.model))) {
    return fail(Code::kInvalid, "file: give one plain name, without a folder");
  }
  if (file.model.empty() && "/" + file.file == kModels) {
    return fail(Code::kInvalid, "file: 'models' is the folder of pushed models");
  }
  if (!is_hash(file.sha256)) return fail(Code::kInvalid, "sha256: expected 64 hexadecimal digits");
  if (file.bytes < 1 || file.bytes > bytes_max_) {
    return fail(Code::kRefused, "the file has " + std::to_string(file.bytes) +
                                    " bytes; this board takes from 1 to " +
                                    std::to_string(bytes_max_) + " (push.quota)");
  }
  return {};
}

std::string PushedFiles::place_of(const PushedFile& file) const {
  return folder_ + (file.model.empty() ? "" : kModels + ("/" + file.model)) + "/" + file.file;
}

std::string PushedFiles::staged(const PushedFile& file) const {
  return folder_ + kComing + "/" + sha256_of(place_of(file)).substr(0, 16) + "-" +
         file.sha256.substr(0, 16);
}

std::string PushedFiles::mark_of(const PushedFile& file) const {
  return folder_ + kComing + "/" + sha256_of(place_of(file)).substr(0, 16) + ".is";
}

// The mark names what was moved into place, so that a file that somebody changed comes again.
bool PushedFiles::is_there(const PushedFile& file) const {
  struct stat info {};
  if (::lstat(place_of(file).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const Result<std::string> mark = config::read_file(mark_of(file), 256);
  return mark && info.st_size == file.bytes &&
         *mark == file.sha256 + " " + std::to_string(info.st_ino);
}

Status PushedFiles::make_folders(const PushedFile& file) const {
  std::error_code error;
  fs::create_directories(folder_ + kComing, error);
  if (!error && !file.model.empty()) {
    fs::create_directories(fs::path(place_of(file)).parent_path(), error);
  }
  if (error) return fail(Code::kIo, "cannot write " + folder_ + ": " + error.message());
  return {};
}

Status PushedFiles::check_room(const PushedFile& file) const {
  const Held held = held_in(folder_);
  struct stat info {};
  // What takes another's place frees its room only afterwards: both are there for a moment.
  const std::int64_t coming = ::stat(staged(file).c_str(), &info) == 0 ? info.st_size : 0;
  if (held.all_seen && held.bytes - coming + file.bytes <= bytes_max_) return {};
  return fail(Code::kFull, folder_ + " holds " + std::to_string(held.bytes) + " of " +
                               std::to_string(bytes_max_) +
                               " bytes (push.quota); remove something there first");
}

PushedFiles::Coming& PushedFiles::coming(const PushedFile& file) {
  const std::string path = staged(file);
  auto found = coming_.find(path);
  if (found == coming_.end() && coming_.size() >= kComingMax) {
    const auto oldest = std::min_element(coming_.begin(), coming_.end(), [](auto& a, auto& b) {
      return a.second.used_at < b.second.used_at;
    });
    if (oldest->second.sync > 0) ::waitpid(oldest->second.sync, nullptr, 0);
    coming_.erase(oldest);
  }
  if (found == coming_.end()) found = coming_.emplace(path, Coming{}).first;
  found->second.used_at = loop_.now();
  return found->second;
}

void PushedFiles::drop(const PushedFile& file) {
  ::unlink(staged(file).c_str());
  coming_.erase(staged(file));
}

Result<bool> PushedFiles::catch_up(Coming& coming, int fd, std::int64_t have) const {
  const std::int64_t most = std::min(have, coming.hashed + kReadAtOnce);
  std::string block(64 * 1024, '\0');
  while (coming.hashed < most) {
    const auto size = std::min(static_cast<std::size_t>(most - coming.hashed), block.size());
    const ssize_t n = ::pread(fd, block.data(), size, coming.hashed);
    if (n <= 0) return fail_errno(n < 0 ? errno : EIO, "cannot read what had come");
    coming.hash.add(std::string_view(block.data(), static_cast<std::size_t>(n)));
    coming.hashed += n;
  }
  return coming.hashed == have;
}

Result<Value> PushedFiles::ask(const PushedFile& file) {
  LAIRD_TRY(check(file));
  if (is_there(file)) return done();
  LAIRD_TRY(make_folders(file));
  LAIRD_TRY(check_room(file));
  const Fd fd(::open(staged(file).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const std::int64_t have = fd ? size_of(fd.get()) : 0;
  if (have > file.bytes) {
    drop(file);
    return having(0);
  }
  // All of it has come, and what is left is to look at it and to wait for the disk.
  return have == file.bytes ? take(file, have, "") : having(have);
}

Result<Value> PushedFiles::take(const PushedFile& file, std::int64_t from,
                                const std::string& piece) {
  LAIRD_TRY(check(file));
  if (is_there(file)) return done();
  const Fd fd(::open(staged(file).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(errno, "cannot write in " + folder_ + "; ask for the file first");
  const std::int64_t have = size_of(fd.get());
  // A piece that came twice, or after one that was lost.
  if (from != have && have < file.bytes) return having(have);
  if (have == 0) LAIRD_TRY(check_room(file));
  // The last piece comes again while the disk is waited for.
  const auto size = have == file.bytes ? 0 : static_cast<std::int64_t>(piece.size());
  if (have + size > file.bytes) return fail(Code::kInvalid, "bytes64: beyond the file's end");
  Coming& state = coming(file);
  if (have < file.bytes) {
    if (const DurationNs wait = allowance_.wait_for(size, loop_.now()); wait > 0) {
      return waiting(wait);
    }
  }
  const Result<bool> caught_up = catch_up(state, fd.get(), have);
  LAIRD_TRY(caught_up);
  if (!*caught_up) return waiting(kMillisecond);
  if (have == file.bytes) return finish(file, state);
  if (::pwrite(fd.get(), piece.data(), piece.size(), have) != static_cast<ssize_t>(size)) {
    const int why = errno;
    static_cast<void>(::ftruncate(fd.get(), have));
    return fail_errno(why, "cannot write in " + folder_);
  }
  state.hash.add(piece);
  state.hashed += size;
  return have + size == file.bytes ? finish(file, state) : having(have + size);
}

Result<Value> PushedFiles::finish(const PushedFile& file, Coming& state) {
  if (Sha256(state.hash).hex() != file.sha256) {
    drop(file);
    return fail(Code::kCorrupt,
                file.file + ": what came is not the file that was told; push again");
  }
  const std::string path = staged(file);
  if (state.sync == 0) {
    ChildSpec spec;
    spec.argv = {"sync", path};
    spec.dies_with_parent = true;
    const Result<pid_t> started = start_child(spec);
    LAIRD_TRY(started);
    state.sync = *started;
  }
  int status = 0;
  if (::waitpid(state.sync, &status, WNOHANG) == 0) return waiting(kDiskWait);
  state.sync = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Code::kIo, "the disk did not take " + path);
  }
  const std::string place = place_of(file);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || ::rename(path.c_str(), place.c_str()) != 0) {
    return fail_errno(errno, "cannot write " + place);
  }
  coming_.erase(path);
  LAIRD_TRY(sync_folder(fs::path(place).parent_path().string()));
  LAIRD_TRY(write_whole_file(mark_of(file), file.sha256 + " " + std::to_string(info.st_ino),
                             {.sync = false}));
  return done();
}

}  // namespace laird::agent
