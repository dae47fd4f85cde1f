#include "base/archive.hpp"

#include <algorithm>
#include <bit>

namespace laird {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// Up to eight bytes as a number; eight are one load where that is how numbers lie in memory.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t word = 0;
  if (std::endian::native == std::endian::little && bytes.size() == sizeof word) {
    std::memcpy(&word, bytes.data(), sizeof word);
    return word;
  }
  if (std::endian::native == std::endian::little && bytes.size() >= sizeof(std::uint32_t)) {
    // Two halves that overlap in what both have.
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    const std::size_t above = bytes.size() - sizeof high;
    std::memcpy(&low, bytes.data(), sizeof low);
    std::memcpy(&high, bytes.data() + above, sizeof high);
    return low | std::uint64_t{high} << (8 * above);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  }
  return word;
}

// Not inlined: hashing, the common way, would save their registers at every call.
[[gnu::noinline]] void write_number(Bytes& out, std::uint64_t v, std::size_t width) {
  std::array<std::uint8_t, kWord> bytes{};
  for (std::size_t i = 0; i < kWord; ++i) bytes[i] = static_cast<std::uint8_t>(v >> (8 * i));
  out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(width));
}

[[gnu::noinline]] bool read_number(std::string_view& in, std::uint64_t& v, std::size_t width) {
  if (in.size() < width) return false;
  v = little_endian(in.substr(0, width));
  in.remove_prefix(width);
  return true;
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

// The state is hashed after every event: that way comes first and is short, here and below.
void Archive::operator()(double& v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  if (mode_ == Mode::kHash) {
    hash_ = mix(hash_, bits);
    return;
  }
  fixed(bits, sizeof bits);
  if (reading() && !failed_) std::memcpy(&v, &bits, sizeof bits);
}

void Archive::text(std::string& v, std::size_t limit) {
  if (mode_ == Mode::kHash) {
    hash_ = mix(hash_, static_cast<std::uint32_t>(v.size()));
    raw(v);
    return;
  }
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

void Archive::fixed_bytes(std::uint64_t& v, std::size_t width) {
  if (failed_) return;
  if (mode_ == Mode::kWrite) {
    write_number(*out_, v, width);
  } else if (!read_number(in_, v, width)) {
    fail();
  }
}

void Archive::raw(std::string_view bytes) {
  if (mode_ == Mode::kWrite) {
    out_->insert(out_->end(), bytes.begin(), bytes.end());
    return;
  }
  std::uint64_t hash = hash_;
  while (bytes.size() >= kWord) {
    hash = mix(hash, little_endian(bytes.substr(0, kWord)));
    bytes.remove_prefix(kWord);
  }
  if (!bytes.empty()) hash = mix(hash, little_endian(bytes));
  hash_ = hash;
}

std::uint64_t digest_of(std::string_view bytes) {
  Archive ar = Archive::hasher();
  std::uint64_t size = bytes.size();
  ar(size);
  ar.raw(bytes);
  return ar.digest();
}

}  // namespace laird
