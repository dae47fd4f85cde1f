#include "tests/virtual/fake_disk.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace laird::test {
namespace {

[[noreturn]] void give_up(const char* why, const std::string& path) {
  std::fprintf(stderr, "fake disk: %s: %s\n", path.c_str(), why);
  std::abort();
}

// What a file was where it was written since its last sync, newest last.
struct Before {
  sqlite3_int64 offset = 0;
  std::string bytes;
  sqlite3_int64 size = 0;  // of the file
};

// A file of the folder, mapped: it is read and written without asking the kernel, which is most of
// what a virtual board would else cost the kernel. Whoever has it open shares it.
class Mapped {
 public:
  explicit Mapped(int fd, std::int64_t size) : fd_(fd), size_(size) {}
  ~Mapped() {
    if (at_ != nullptr) ::munmap(at_, reserved_);
    if (allocated_ != size_ && ::ftruncate(fd_, size_) != 0) {
      give_up("it cannot be given its size", "a file of a board");
    }
    ::close(fd_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  [[nodiscard]] std::int64_t size() const { return size_; }
  // A file that is open grows in steps; it has its own size again when it is closed.
  [[nodiscard]] bool resize(std::int64_t size) {
    if (size < size_ || size > allocated_) {
      const std::int64_t wanted = size < size_ ? size : (size / kStep + 1) * kStep;
      if (::ftruncate(fd_, wanted) != 0) return false;
      allocated_ = wanted;
    }
    size_ = size;
    return true;
  }
  // The bytes up to `end`, which may lie behind the end of the file; null when they cannot be had.
  [[nodiscard]] char* bytes_to(std::int64_t end) {
    const auto wanted = static_cast<std::size_t>(end);
    if (at_ != nullptr && wanted <= reserved_) return at_;
    if (at_ != nullptr) ::munmap(at_, reserved_);
    reserved_ = std::max(kReservedMin, 2 * wanted);
    void* mapped = ::mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    at_ = mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
    return at_;
  }

 private:
  static constexpr std::int64_t kStep = 128 << 10;
  static constexpr std::size_t kReservedMin = std::size_t{8} << 20;
  const int fd_;
  std::int64_t size_;
  std::int64_t allocated_ = size_;
  char* at_ = nullptr;
  std::size_t reserved_ = 0;
};

struct Trouble {
  FakeDisk::Fault fault = FakeDisk::Fault::kNone;
  std::function<void()> stand_still;
  bool counted = false;
  std::uint64_t writes = 0;
  std::uint64_t meet_at = 0;
  std::function<void()> meet;
};

struct Disk {
  sqlite3_vfs* under = nullptr;
  std::map<std::string, Trouble> troubles;  // by folder
  std::set<std::string> dark;
  std::map<std::string, std::vector<Before>> unsynced;  // by path; an entry stays for good
  std::map<std::string, std::vector<std::unique_ptr<char[]>>> shared;
  std::map<ino_t, std::weak_ptr<Mapped>> mapped;  // of the files that are open
};

Disk& disk() {
  static Disk the_disk;
  return the_disk;
}

bool is_below(const std::string& folder, const std::string& path) {
  return path.size() > folder.size() && path[folder.size()] == '/' && path.starts_with(folder);
}

bool below_any(const std::set<std::string>& folders, const std::string& path) {
  return std::any_of(folders.begin(), folders.end(),
                     [&path](const std::string& folder) { return is_below(folder, path); });
}

Trouble* trouble_of(const std::string& path) {
  for (auto& [folder, trouble] : disk().troubles) {
    if (is_below(folder, path)) return &trouble;
  }
  return nullptr;
}

// What a write meets; SQLITE_OK where it may be done.
int meet_trouble(const std::string& path) {
  Trouble* trouble = trouble_of(path);
  if (trouble == nullptr) return SQLITE_OK;
  // Copies: what is called may put others in their place.
  if (trouble->counted && ++trouble->writes == trouble->meet_at) std::function(trouble->meet)();
  switch (trouble->fault) {
    case FakeDisk::Fault::kNone: return SQLITE_OK;
    case FakeDisk::Fault::kFull: return SQLITE_FULL;
    case FakeDisk::Fault::kIo: return SQLITE_IOERR_WRITE;
    case FakeDisk::Fault::kReadOnly: return SQLITE_READONLY;
    case FakeDisk::Fault::kSlow: std::function(trouble->stand_still)(); return SQLITE_OK;
  }
  return SQLITE_OK;
}

// SQLite's view of a file is a struct it allocates: ours, with the real file's right behind it.
struct File {
  sqlite3_file base;
  std::string* path;  // null: a nameless file, whose content no crash needs
  std::shared_ptr<Mapped>* content;
  std::vector<Before>* unsynced;
  bool read_only;
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* mine(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
const sqlite3_io_methods* methods_of(sqlite3_file* file) { return mine(file)->real()->pMethods; }

// Remembers what stands where something is to be written.
void remember(File* file, sqlite3_int64 offset, sqlite3_int64 length) {
  Mapped& content = **file->content;
  Before before;
  before.offset = offset;
  before.size = content.size();
  const sqlite3_int64 there = std::clamp<sqlite3_int64>(content.size() - offset, 0, length);
  if (there > 0) {
    const char* bytes = content.bytes_to(offset + there);
    if (bytes == nullptr) give_up("what is overwritten cannot be read", *file->path);
    before.bytes.assign(bytes + offset, static_cast<std::size_t>(there));
  }
  file->unsynced->push_back(std::move(before));
}

int close(sqlite3_file* file) {
  const int rc = methods_of(file)->xClose(mine(file)->real());
  delete mine(file)->path;
  delete mine(file)->content;
  mine(file)->path = nullptr;
  mine(file)->content = nullptr;
  return rc;
}
int read(sqlite3_file* file, void* into, int count, sqlite3_int64 offset) {
  if (mine(file)->path == nullptr) {
    return methods_of(file)->xRead(mine(file)->real(), into, count, offset);
  }
  Mapped& content = **mine(file)->content;
  const sqlite3_int64 there = std::clamp<sqlite3_int64>(content.size() - offset, 0, count);
  if (there > 0) {
    const char* bytes = content.bytes_to(offset + there);
    if (bytes == nullptr) return SQLITE_IOERR_READ;
    std::memcpy(into, bytes + offset, static_cast<std::size_t>(there));
  }
  if (there == count) return SQLITE_OK;
  // As SQLite wants it: the rest is zeros.
  std::memset(static_cast<char*>(into) + there, 0, static_cast<std::size_t>(count - there));
  return SQLITE_IOERR_SHORT_READ;
}
int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 offset) {
  const std::string* path = mine(file)->path;
  if (path == nullptr) return methods_of(file)->xWrite(mine(file)->real(), from, count, offset);
  if (below_any(disk().dark, *path)) return SQLITE_OK;
  if (const int rc = meet_trouble(*path); rc != SQLITE_OK) return rc;
  if (mine(file)->read_only) return SQLITE_IOERR_WRITE;
  remember(mine(file), offset, count);
  Mapped& content = **mine(file)->content;
  const sqlite3_int64 end = offset + count;
  if (end > content.size() && !content.resize(end)) return SQLITE_FULL;
  char* bytes = content.bytes_to(end);
  if (bytes == nullptr) return SQLITE_IOERR_WRITE;
  std::memcpy(bytes + offset, from, static_cast<std::size_t>(count));
  return SQLITE_OK;
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  const std::string* path = mine(file)->path;
  if (path == nullptr) return methods_of(file)->xTruncate(mine(file)->real(), size);
  if (below_any(disk().dark, *path)) return SQLITE_OK;
  if (mine(file)->read_only) return SQLITE_IOERR_TRUNCATE;
  Mapped& content = **mine(file)->content;
  if (content.size() > size) remember(mine(file), size, content.size() - size);
  return content.resize(size) ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}
int sync(sqlite3_file* file, int) {
  const std::string* path = mine(file)->path;
  if (path == nullptr || below_any(disk().dark, *path)) return SQLITE_OK;
  const Trouble* trouble = trouble_of(*path);
  const bool confirms = trouble == nullptr || trouble->fault == FakeDisk::Fault::kNone ||
                        trouble->fault == FakeDisk::Fault::kSlow;
  if (!confirms) return SQLITE_IOERR_FSYNC;
  // The folder is in memory: there is nothing to wait for.
  mine(file)->unsynced->clear();
  return SQLITE_OK;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  if (mine(file)->path == nullptr) return methods_of(file)->xFileSize(mine(file)->real(), size);
  *size = (*mine(file)->content)->size();
  return SQLITE_OK;
}
// One process has the file open, so its locks hold nobody off.
int lock(sqlite3_file*, int) { return SQLITE_OK; }
int check_lock(sqlite3_file*, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int file_control(sqlite3_file* file, int op, void* arg) {
  return methods_of(file)->xFileControl(mine(file)->real(), op, arg);
}
int sector_size(sqlite3_file* file) { return methods_of(file)->xSectorSize(mine(file)->real()); }
int traits(sqlite3_file* file) {
  return methods_of(file)->xDeviceCharacteristics(mine(file)->real());
}
// What connections to one file share goes with the last of them, as with the last process.
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  std::vector<std::unique_ptr<char[]>>& pages = disk().shared[*mine(file)->path];
  const auto index = static_cast<std::size_t>(page);
  *out = nullptr;
  if (index >= pages.size()) {
    if (extend == 0) return SQLITE_OK;
    while (pages.size() <= index) {
      pages.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    }
  }
  *out = pages[index].get();
  return SQLITE_OK;
}
int shm_lock(sqlite3_file*, int, int, int) { return SQLITE_OK; }
void shm_barrier(sqlite3_file*) {}
int shm_unmap(sqlite3_file* file, int) {
  disk().shared.erase(*mine(file)->path);
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods = {
    2,        close,       read,       write,        truncate,    sync,   file_size,
    lock,     lock,        check_lock, file_control, sector_size, traits, shm_map,
    shm_lock, shm_barrier, shm_unmap,  nullptr,      nullptr};

std::shared_ptr<Mapped> content_of(const char* path) {
  int fd = ::open(path, O_RDWR | O_CLOEXEC);
  struct stat about {};
  if (fd < 0 || ::fstat(fd, &about) != 0) give_up("it cannot be opened a second time", path);
  std::weak_ptr<Mapped>& known = disk().mapped[about.st_ino];
  std::shared_ptr<Mapped> content = known.lock();
  if (content) {
    ::close(fd);
  } else {
    content = std::make_shared<Mapped>(fd, about.st_size);
    known = content;
  }
  return content;
}

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  File* ours = mine(file);
  ours->path = nullptr;
  ours->content = nullptr;
  const int rc = disk().under->xOpen(disk().under, name, ours->real(), flags, out_flags);
  // SQLite closes what has methods, also after a failure.
  ours->base.pMethods = ours->real()->pMethods == nullptr ? nullptr : &kMethods;
  if (rc != SQLITE_OK || name == nullptr) return rc;
  ours->path = new std::string(name);
  ours->content = new std::shared_ptr<Mapped>(content_of(name));
  ours->unsynced = &disk().unsynced[name];
  ours->read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  return rc;
}

int remove(sqlite3_vfs*, const char* name, int sync_folder) {
  if (below_any(disk().dark, name)) return SQLITE_OK;
  if (const auto found = disk().unsynced.find(name); found != disk().unsynced.end()) {
    found->second.clear();
  }
  return disk().under->xDelete(disk().under, name, sync_folder);
}

void put_back(const std::string& path, const std::vector<Before>& written) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  for (auto at = written.rbegin(); at != written.rend(); ++at) {
    [[maybe_unused]] const ssize_t n = ::pwrite(fd, at->bytes.data(), at->bytes.size(), at->offset);
    [[maybe_unused]] const int rc = ::ftruncate(fd, at->size);
  }
  ::close(fd);
}

}  // namespace

void FakeDisk::install() {
  static sqlite3_vfs vfs;
  if (disk().under != nullptr) return;
  disk().under = sqlite3_vfs_find(nullptr);
  vfs = *disk().under;
  vfs.pNext = nullptr;
  vfs.zName = "laird-fake-disk";
  vfs.szOsFile = static_cast<int>(sizeof(File)) + disk().under->szOsFile;
  vfs.xOpen = open;
  vfs.xDelete = remove;
  sqlite3_vfs_register(&vfs, 1);
}

void FakeDisk::set_fault(const std::string& folder, Fault fault,
                         std::function<void()> stand_still) {
  Trouble& trouble = disk().troubles[folder];
  trouble.fault = fault;
  trouble.stand_still = std::move(stand_still);
}

void FakeDisk::before_write(const std::string& folder, std::uint64_t number,
                            std::function<void()> meet) {
  Trouble& trouble = disk().troubles[folder];
  trouble.counted = true;
  trouble.writes = 0;
  trouble.meet_at = number;
  trouble.meet = std::move(meet);
}

std::uint64_t FakeDisk::writes(const std::string& folder) { return disk().troubles[folder].writes; }

void FakeDisk::cut_power(const std::string& folder) { disk().dark.insert(folder); }

void FakeDisk::settle_power_cut(const std::string& folder) {
  for (auto& [path, written] : disk().unsynced) {
    if (!is_below(folder, path)) continue;
    if (!written.empty()) put_back(path, written);
    written.clear();
  }
  disk().dark.erase(folder);
}

}  // namespace laird::test
