#include "base/archive.hpp"

namespace laird {
namespace {

// Mixes one 64-bit word into a running hash: multiply, rotate, multiply, as in the finalisers of
// the xx and murmur families. Integer arithmetic only, so every architecture agrees.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  word *= 0xC2B2AE3D27D4EB4FULL;
  word = (word << 31) | (word >> 33);
  word *= 0x9E3779B185EBCA87ULL;
  hash ^= word;
  hash = (hash << 27) | (hash >> 37);
  return hash * 0x9E3779B185EBCA87ULL + 0x85EBCA77C2B2AE63ULL;
}

constexpr std::uint64_t finish(std::uint64_t hash) {
  hash ^= hash >> 33;
  hash *= 0xC2B2AE3D27D4EB4FULL;
  hash ^= hash >> 29;
  hash *= 0x165667B19E3779F9ULL;
  hash ^= hash >> 32;
  return hash;
}

}  // namespace

std::uint64_t Archive::digest() const { return finish(hash_); }

void Archive::operator()(bool& v) {
  std::uint64_t wide = v ? 1 : 0;
  fixed(wide, 1);
  if (!reading() || failed_) return;
  if (wide > 1) {
    fail();
    return;
  }
  v = wide == 1;
}

void Archive::operator()(double& v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  fixed(bits, sizeof bits);
  if (reading() && !failed_) std::memcpy(&v, &bits, sizeof bits);
}

void Archive::text(std::string& v, std::size_t limit) {
  std::uint32_t size = static_cast<std::uint32_t>(v.size());
  (*this)(size);
  if (failed_) return;
  if (!reading()) {
    raw(v);
    return;
  }
  if (size > limit || size > in_.size()) {
    fail();
    return;
  }
  v.assign(in_.data(), size);
  in_.remove_prefix(size);
}

void Archive::fixed(std::uint64_t& v, std::size_t width) {
  if (failed_) return;
  switch (mode_) {
    case Mode::kHash: hash_ = mix(hash_, v); return;
    case Mode::kWrite:
      for (std::size_t i = 0; i < width; ++i) {
        out_->push_back(static_cast<std::uint8_t>(v >> (8 * i)));
      }
      return;
    case Mode::kRead:
      if (in_.size() < width) {
        fail();
        return;
      }
      v = 0;
      for (std::size_t i = 0; i < width; ++i) {
        v |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(in_[i])) << (8 * i);
      }
      in_.remove_prefix(width);
      return;
  }
}

void Archive::raw(std::string_view bytes) {
  if (mode_ == Mode::kWrite) {
    out_->insert(out_->end(), bytes.begin(), bytes.end());
    return;
  }
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::string_view part = bytes.substr(at, 8);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(part[i])) << (8 * i);
    }
    hash_ = mix(hash_, word);
  }
}

std::uint64_t digest_of(std::string_view bytes) {
  Archive ar = Archive::hasher();
  std::uint64_t size = bytes.size();
  ar(size);
  ar.raw(bytes);
  return ar.digest();
}

}  // namespace laird
