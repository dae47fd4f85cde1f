#include "trainers/model/checkpoint.hpp"

#include <cstdio>

#include "config/schema.hpp"
#include "os/whole_file.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint64_t kMagic = 0x504B434452494C01ULL;
// 2: the payload begins with what the model is (model_info.hpp). 1 did not; both are read.
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = kCheckpointHeadBytes;

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

Result<CheckpointHead> read_checkpoint_head(std::string_view file) {
  Header header;
  Archive ar = Archive::reader(file);
  ar(header);
  if (ar.failed()) return fail(Code::kCorrupt, "is cut inside its header");
  if (header.magic != kMagic) return fail(Code::kCorrupt, "is not a checkpoint");
  if (header.version < 1 || header.version > kVersion) {
    return fail(Code::kRefused, "is of checkpoint version " + std::to_string(header.version) +
                                    ", this trainer reads up to " + std::to_string(kVersion));
  }
  return CheckpointHead{header.length, header.digest};
}

Result<std::string_view> unpack_checkpoint(std::string_view file) {
  const Result<CheckpointHead> header = read_checkpoint_head(file);
  LAIRD_TRY(header);
  file.remove_prefix(kHeaderBytes);
  if (header->length != file.size()) {
    return fail(Code::kCorrupt, "is cut: " + std::to_string(file.size()) + " of " +
                                    std::to_string(header->length) + " bytes");
  }
  if (header->digest != digest_of(file)) return fail(Code::kCorrupt, "is damaged");
  return file;
}

Status CheckpointFolder::save(const Bytes& payload) {
  const Bytes file = pack_checkpoint(payload);
  const Status done = write_whole_file(path(kNewest), view(file),
                                       {.staged = path(kUnfinished), .previous = path(kBefore)});
  if (done) return done;
  return fail(done.error().code, "cannot keep a checkpoint: " + done.error().context);
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
