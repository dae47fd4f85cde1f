// Eight bytes behind each blob of the journal: SQLite's pages carry no checksum, and a page that
// was cut reads as zeros from the cut on, which may still decode to something plausible.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/archive.hpp"

namespace laird::journal {

inline constexpr std::size_t kSealBytes = 8;

// `salt` is whatever belongs to the blob but is stored beside it: its number for one.
[[nodiscard]] inline std::uint64_t seal_of(std::string_view blob, std::uint64_t salt) {
  Archive ar = Archive::hasher();
  ar(salt);
  ar.raw(blob);
  return ar.digest();
}

inline void seal(Bytes& blob, std::uint64_t salt) {
  std::uint64_t digest =
      seal_of(std::string_view(reinterpret_cast<const char*>(blob.data()), blob.size()), salt);
  Archive ar = Archive::writer(blob);
  ar(digest);
}

// The blob without its seal; nothing when it is not the one that was sealed.
[[nodiscard]] inline std::optional<std::string_view> unsealed(std::string_view blob,
                                                              std::uint64_t salt) {
  if (blob.size() < kSealBytes) return std::nullopt;
  const std::string_view content = blob.substr(0, blob.size() - kSealBytes);
  std::uint64_t digest = 0;
  Archive ar = Archive::reader(blob.substr(content.size()));
  ar(digest);
  if (digest != seal_of(content, salt)) return std::nullopt;
  return content;
}

}  // namespace laird::journal
