// One description of a structure, three uses: write it, read it back, hash it.
//
// A type describes itself once, `void archive(Archive& ar) { ar(a); ar(b); }`, and the journal
// (write, read) and the replay check (hash) can never disagree on what belongs to it. The encoding
// is little-endian and fixed width, so a journal from a board reads the same on a laptop.
//
// What a type gains later it reads only where it was written: `if (ar.since(2)) ar(c);`, with the
// format that the reader was opened for. Writers know the newest one only, and so do hashers, but
// for one that is asked for what an older format would have hashed.
//
// A reader never trusts a length: it checks it against the bytes left and against a limit, and a
// failed read leaves the value as it was, sets failed() and makes all later reads no-ops.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace laird {

using Bytes = std::vector<std::uint8_t>;

// What an archive writes as one number, and an array of such.
template <class T>
inline constexpr bool kIsNumber = std::is_integral_v<T> || std::is_same_v<T, double>;
template <class T>
inline constexpr bool kIsNumbers = kIsNumber<T>;
template <class T, std::size_t N>
inline constexpr bool kIsNumbers<std::array<T, N>> = kIsNumber<T>;

// The digest of a part of a structure, as long as the part has not changed (Archive::part). Whoever
// changes the part forgets it; classes that do so by themselves are in base/part.hpp.
class KnownDigest {
 public:
  void forget() { known_ = false; }

 private:
  friend class Archive;
  bool known_ = false;
  std::uint64_t digest_ = 0;
};

class Archive {
 public:
  enum class Mode : std::uint8_t { kWrite, kRead, kHash };

  [[nodiscard]] static Archive writer(Bytes& out) { return Archive(Mode::kWrite, &out, {}); }
  static constexpr std::int64_t kNewestFormat = INT64_MAX;
  [[nodiscard]] static Archive reader(std::string_view in, std::int64_t format = kNewestFormat) {
    Archive ar(Mode::kRead, nullptr, in);
    ar.format_ = format;
    return ar;
  }
  [[nodiscard]] static Archive reader(const Bytes& in) {
    return reader(std::string_view(reinterpret_cast<const char*>(in.data()), in.size()));
  }
  // A reader looks at what it is given: bytes or text that end with the statement would leave it
  // looking at nothing.
  template <class T>
  requires std::is_same_v<T, Bytes> || std::is_same_v<T, std::string>
  static Archive reader(T&& temporary) = delete;
  // `format`: as a program that knew no newer one hashed it; for structures without parts.
  [[nodiscard]] static Archive hasher(std::int64_t format = kNewestFormat) {
    Archive ar(Mode::kHash, nullptr, {});
    ar.format_ = format;
    return ar;
  }

  [[nodiscard]] bool reading() const { return mode_ == Mode::kRead; }
  // Whether what this format brought is part of what is written, read or hashed.
  [[nodiscard]] bool since(std::int64_t format) const { return format_ >= format; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }
  [[nodiscard]] std::uint64_t digest() const;
  // For a reader that finds a value it cannot accept.
  void fail() { failed_ = true; }

  void operator()(bool& v);
  void operator()(double& v);
  void operator()(std::string& v) { text(v, kTextLimit); }
  void text(std::string& v, std::size_t limit);
  // Raw bytes without a length, for a writer or a hasher.
  void raw(std::string_view bytes);

  template <class T>
  requires std::is_integral_v<T> &&(!std::is_same_v<T, bool>)void operator()(T& v) {
    using U = std::make_unsigned_t<T>;
    std::uint64_t wide = static_cast<U>(v);
    fixed(wide, sizeof(T));
    if (reading() && !failed_) v = static_cast<T>(static_cast<U>(wide));
  }

  // An enum with a last member kCount_ (or any bound given): a value beyond it fails the read.
  template <class E>
  requires std::is_enum_v<E>
  void bounded(E& v, E last) {
    std::uint64_t wide = static_cast<std::uint64_t>(v);
    fixed(wide, 1);
    if (!reading() || failed_) return;
    if (wide > static_cast<std::uint64_t>(last)) {
      fail();
      return;
    }
    v = static_cast<E>(wide);
  }

  template <class T>
  requires requires(T& t, Archive& ar) { t.archive(ar); }
  void operator()(T& v) { v.archive(*this); }

  template <class T, std::size_t N>
  void operator()(std::array<T, N>& v) {
    if constexpr (kIsNumber<T>) {
      if (hash_run(v)) return;
    }
    for (T& element : v) (*this)(element);
  }

  // The same as one after the other, and several times faster to hash: a run of numbers is hashed
  // in registers, without a look at the mode between two of them.
  template <class First, class Second, class... More>
  requires(kIsNumbers<First>&& kIsNumbers<Second> && (kIsNumbers<More> && ...)) void operator()(
      First& first, Second& second, More&... more) {
    if (hash_run(first, second, more...)) return;
    (*this)(first);
    (*this)(second);
    ((*this)(more), ...);
  }

  // The same for numbers that a loop tells: `tell` is called with what takes them.
  //   ar.run([&](auto& to) { for (Point& p : points) to(p.x, p.y); });
  template <class Tell>
  void run(Tell&& tell) {
    if (mode_ == Mode::kHash) {
      HashRun to{hash_};
      tell(to);
      hash_ = to.hash;
    } else {
      tell(*this);
    }
  }

  // A part that is hashed by itself: the whole takes its digest as one word, and a part whose
  // digest is known is not looked at. It is written and read like any other.
  template <class Describe>
  void part(KnownDigest& known, Describe&& describe) {
    if (mode_ != Mode::kHash) {
      if (reading()) known.forget();
      describe(*this);
      return;
    }
    if (!known.known_) {
      Archive alone = hasher();
      describe(alone);
      known.digest_ = alone.digest();
      known.known_ = true;
    }
    hash_ = mix(hash_, known.digest_);
  }

  template <class T>
  void operator()(std::optional<T>& v) {
    bool has = v.has_value();
    (*this)(has);
    if (failed_) return;
    if (reading()) {
      if (has) {
        v.emplace();
      } else {
        v.reset();
      }
    }
    if (has) (*this)(*v);
  }

  template <class T>
  void sequence(std::vector<T>& v, std::size_t limit) {
    std::uint32_t n = static_cast<std::uint32_t>(v.size());
    (*this)(n);
    if (failed_) return;
    if (reading()) {
      // Each element takes at least one byte, so a hostile count cannot reserve beyond the input.
      if (n > limit || n > in_.size()) {
        fail();
        return;
      }
      v.clear();
      v.resize(n);
    }
    if constexpr (kIsNumber<T>) {
      if (hash_run(v)) return;
    }
    for (T& element : v) {
      (*this)(element);
      if (failed_) return;
    }
  }

  static constexpr std::size_t kTextLimit = 64 * 1024;

 private:
  Archive(Mode mode, Bytes* out, std::string_view in) : mode_(mode), out_(out), in_(in) {}

  // Here, since a state is hashed after every event and most of what is hashed are numbers.
  void fixed(std::uint64_t& v, std::size_t width) {
    if (mode_ == Mode::kHash) {
      hash_ = mix(hash_, v);
    } else {
      fixed_bytes(v, width);
    }
  }
  void fixed_bytes(std::uint64_t& v, std::size_t width);

  // A number as the one word by which it is hashed.
  template <class T>
  requires kIsNumber<T>
  [[nodiscard]] static std::uint64_t word_of(const T& v) {
    if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<std::uint64_t>(v);
    } else if constexpr (std::is_same_v<T, bool>) {
      return v ? 1 : 0;
    } else {
      return static_cast<std::make_unsigned_t<T>>(v);
    }
  }
  template <class T>
  static void mix_all(std::uint64_t& hash, const T& v) {
    if constexpr (kIsNumber<T>) {
      hash = mix(hash, word_of(v));
    } else {
      for (const auto& element : v) hash = mix(hash, word_of(element));
    }
  }
  struct HashRun {
    std::uint64_t hash;
    template <class... T>
    void operator()(const T&... v) {
      (mix_all(hash, v), ...);
    }
  };
  // Only a hasher does it, and says so.
  template <class... T>
  [[nodiscard]] bool hash_run(const T&... v) {
    if (mode_ != Mode::kHash) return false;
    HashRun to{hash_};
    to(v...);
    hash_ = to.hash;
    return true;
  }
  // Mixes one 64-bit word into a running hash: multiply, rotate, multiply, as in the finalisers of
  // the xx and murmur families. Integer arithmetic only, so every architecture agrees.
  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    word *= 0xC2B2AE3D27D4EB4FULL;
    word = (word << 31) | (word >> 33);
    word *= 0x9E3779B185EBCA87ULL;
    hash ^= word;
    hash = (hash << 27) | (hash >> 37);
    return hash * 0x9E3779B185EBCA87ULL + 0x85EBCA77C2B2AE63ULL;
  }

  Mode mode_;
  bool failed_ = false;
  Bytes* out_;
  std::string_view in_;
  std::int64_t format_ = kNewestFormat;
  std::uint64_t hash_ = 0x9E3779B97F4A7C15ULL;
};

// A 64-bit digest of bytes, the one Archive::hasher uses: to find differences between two runs of
// our own code, not to resist an adversary.
[[nodiscard]] std::uint64_t digest_of(std::string_view bytes);

}  // namespace laird
