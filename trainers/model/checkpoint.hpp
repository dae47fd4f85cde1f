// Checkpoints on disk: two generations, each whole or absent.
//
// A file is: magic, version, payload length, digest of the payload, payload. It is written beside,
// synced, and renamed into place, the last one kept as the generation before, the folder synced: a
// power cut at any moment leaves at least one good file. A damaged newest file is set aside, so
// that the next save does not push it over the good one before it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"

namespace laird::trainers {

inline constexpr std::size_t kCheckpointBytesMax = std::size_t{1} << 30;

// The file's content for a payload, and back. The payload's view points into `file`.
[[nodiscard]] Bytes pack_checkpoint(const Bytes& payload);
[[nodiscard]] Result<std::string_view> unpack_checkpoint(std::string_view file);

// The head of a file alone, for who reads a large one in pieces.
struct CheckpointHead {
  std::uint64_t length = 0;  // of the payload
  std::uint64_t digest = 0;
};
inline constexpr std::size_t kCheckpointHeadBytes = 8 + 4 + 8 + 8;
[[nodiscard]] Result<CheckpointHead> read_checkpoint_head(std::string_view file);

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Status save(const Bytes& payload);

  // Offers the newest good payload to `accept`, then the one before. True when one was taken. What
  // was passed over, and why, is appended to `notes`.
  [[nodiscard]] bool load(const std::function<Status(std::string_view)>& accept,
                          std::vector<std::string>& notes);

  static constexpr std::string_view kNewest = "checkpoint.bin";
  static constexpr std::string_view kBefore = "checkpoint.before.bin";
  static constexpr std::string_view kDamaged = "checkpoint.damaged.bin";
  static constexpr std::string_view kUnfinished = "checkpoint.tmp";

 private:
  [[nodiscard]] std::string path(std::string_view file) const {
    return folder_ + "/" + std::string(file);
  }

  std::string folder_;
};

}  // namespace laird::trainers
