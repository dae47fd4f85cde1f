#include "tests/virtual/fake_disk.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace laird::test {
namespace {

// What a file was where it was written since its last sync, newest last.
struct Before {
  sqlite3_int64 offset = 0;
  std::string bytes;
  sqlite3_int64 size = 0;  // of the file
};

struct Disk {
  sqlite3_vfs* under = nullptr;
  std::set<std::string> full;
  std::set<std::string> dark;
  std::map<std::string, std::vector<Before>> unsynced;  // by path
  std::map<std::string, std::vector<std::unique_ptr<char[]>>> shared;
};

Disk& disk() {
  static Disk the_disk;
  return the_disk;
}

bool below_any(const std::set<std::string>& folders, const std::string& path) {
  for (const std::string& folder : folders) {
    if (path.starts_with(folder + "/")) return true;
  }
  return false;
}

// SQLite's view of a file is a struct it allocates: ours, with the real file's right behind it.
struct File {
  sqlite3_file base;
  std::string* path;  // null: a nameless file, whose content no crash needs
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* mine(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
const sqlite3_io_methods* methods_of(sqlite3_file* file) { return mine(file)->real()->pMethods; }

// Remembers what stands where something is to be written.
void remember(File* file, sqlite3_int64 offset, sqlite3_int64 length) {
  if (file->path == nullptr) return;
  Before before;
  before.offset = offset;
  file->real()->pMethods->xFileSize(file->real(), &before.size);
  const sqlite3_int64 there = std::max<sqlite3_int64>(0, std::min(length, before.size - offset));
  before.bytes.resize(static_cast<std::size_t>(there));
  if (there > 0) {
    file->real()->pMethods->xRead(file->real(), before.bytes.data(), static_cast<int>(there),
                                  offset);
  }
  disk().unsynced[*file->path].push_back(std::move(before));
}

int close(sqlite3_file* file) {
  const int rc = methods_of(file)->xClose(mine(file)->real());
  delete mine(file)->path;
  mine(file)->path = nullptr;
  return rc;
}
int read(sqlite3_file* file, void* into, int count, sqlite3_int64 offset) {
  return methods_of(file)->xRead(mine(file)->real(), into, count, offset);
}
int write(sqlite3_file* file, const void* from, int count, sqlite3_int64 offset) {
  const std::string* path = mine(file)->path;
  if (path != nullptr && below_any(disk().dark, *path)) return SQLITE_OK;
  if (path != nullptr && below_any(disk().full, *path)) return SQLITE_FULL;
  remember(mine(file), offset, count);
  return methods_of(file)->xWrite(mine(file)->real(), from, count, offset);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  const std::string* path = mine(file)->path;
  if (path != nullptr && below_any(disk().dark, *path)) return SQLITE_OK;
  sqlite3_int64 now = 0;
  methods_of(file)->xFileSize(mine(file)->real(), &now);
  if (now > size) remember(mine(file), size, now - size);
  return methods_of(file)->xTruncate(mine(file)->real(), size);
}
int sync(sqlite3_file* file, int) {
  const std::string* path = mine(file)->path;
  if (path == nullptr || below_any(disk().dark, *path)) return SQLITE_OK;
  if (below_any(disk().full, *path)) return SQLITE_IOERR_FSYNC;
  // The folder is in memory: there is nothing to wait for.
  disk().unsynced.erase(*path);
  return SQLITE_OK;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return methods_of(file)->xFileSize(mine(file)->real(), size);
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

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  File* ours = mine(file);
  ours->path = nullptr;
  const int rc = disk().under->xOpen(disk().under, name, ours->real(), flags, out_flags);
  // SQLite closes what has methods, also after a failure.
  ours->base.pMethods = ours->real()->pMethods == nullptr ? nullptr : &kMethods;
  if (rc == SQLITE_OK && name != nullptr) ours->path = new std::string(name);
  return rc;
}

int remove(sqlite3_vfs*, const char* name, int sync_folder) {
  if (below_any(disk().dark, name)) return SQLITE_OK;
  disk().unsynced.erase(name);
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

void FakeDisk::set_full(const std::string& folder, bool full) {
  if (full) {
    disk().full.insert(folder);
  } else {
    disk().full.erase(folder);
  }
}

void FakeDisk::cut_power(const std::string& folder) { disk().dark.insert(folder); }

void FakeDisk::settle_power_cut(const std::string& folder) {
  for (auto at = disk().unsynced.begin(); at != disk().unsynced.end();) {
    if (!at->first.starts_with(folder + "/")) {
      ++at;
      continue;
    }
    put_back(at->first, at->second);
    at = disk().unsynced.erase(at);
  }
  disk().dark.erase(folder);
}

}  // namespace laird::test
