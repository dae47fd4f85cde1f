#include "trainers/model/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "config/schema.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint64_t kMagic = 0x504B434452494C01ULL;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8 + 4 + 8 + 8;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t length = 0;
  std::uint64_t digest = 0;

  void archive(Archive& ar) {
    ar(magic);
    ar(version);
    ar(length);
    ar(digest);
  }
};

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Status write_synced(const std::string& path, std::string_view bytes) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return fail_errno(errno, "cannot create the checkpoint " + path);
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot write the checkpoint " + path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return fail_errno(errno, "cannot sync the checkpoint " + path);
  return {};
}

Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return fail_errno(errno, "cannot open the folder " + path);
  if (::fsync(folder.get()) != 0) return fail_errno(errno, "cannot sync the folder " + path);
  return {};
}

}  // namespace

Bytes pack_checkpoint(const Bytes& payload) {
  Bytes out;
  out.reserve(kHeaderBytes + payload.size());
  Header header;
  header.length = payload.size();
  header.digest = digest_of(view(payload));
  Archive ar = Archive::writer(out);
  ar(header);
  ar.raw(view(payload));
  return out;
}

Result<std::string_view> unpack_checkpoint(std::string_view file) {
  Header header;
  Archive ar = Archive::reader(file);
  ar(header);
  if (ar.failed()) return fail(Code::kCorrupt, "is cut inside its header");
  if (header.magic != kMagic) return fail(Code::kCorrupt, "is not a checkpoint");
  if (header.version != kVersion) {
    return fail(Code::kRefused, "is of checkpoint version " + std::to_string(header.version) +
                                    ", this trainer reads " + std::to_string(kVersion));
  }
  file.remove_prefix(kHeaderBytes);
  if (header.length != file.size()) {
    return fail(Code::kCorrupt, "is cut: " + std::to_string(file.size()) + " of " +
                                    std::to_string(header.length) + " bytes");
  }
  if (header.digest != digest_of(file)) return fail(Code::kCorrupt, "is damaged");
  return file;
}

Status CheckpointFolder::save(const Bytes& payload) {
  const Bytes file = pack_checkpoint(payload);
  const std::string unfinished = path(kUnfinished);
  if (Status s = write_synced(unfinished, view(file)); !s) {
    ::unlink(unfinished.c_str());
    return s;
  }
  const std::string newest = path(kNewest);
  if (::rename(newest.c_str(), path(kBefore).c_str()) != 0 && errno != ENOENT) {
    return fail_errno(errno, "cannot keep the checkpoint " + newest);
  }
  if (::rename(unfinished.c_str(), newest.c_str()) != 0) {
    return fail_errno(errno, "cannot put the checkpoint in place as " + newest);
  }
  return sync_folder(folder_);
}

bool CheckpointFolder::load(const std::function<Status(std::string_view)>& accept,
                            std::vector<std::string>& notes) {
  for (const std::string_view name : {kNewest, kBefore}) {
    const std::string file = path(name);
    const Result<std::string> bytes = config::read_file(file, kCheckpointBytesMax);
    if (!bytes) {
      if (bytes.error().code != Code::kNotFound) notes.push_back(bytes.error().text());
      continue;
    }
    const Result<std::string_view> payload = unpack_checkpoint(*bytes);
    const Status taken = payload ? accept(*payload) : tl::make_unexpected(payload.error());
    if (taken) return true;
    notes.push_back(file + " " + taken.error().context + "; not used");
    if (name == kNewest) {
      (void)std::rename(file.c_str(), path(kDamaged).c_str());
    }
  }
  return false;
}

}  // namespace laird::trainers
