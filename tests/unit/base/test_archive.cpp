#include "base/archive.hpp"

#include <algorithm>
#include <array>

#include "tests/harness/unit.hpp"

using laird::Archive;
using laird::Bytes;

namespace {

struct Inner {
  std::int64_t a = 0;
  std::string name;
  void archive(Archive& ar) {
    ar(a);
    ar(name);
  }
};

struct Outer {
  double x = 0;
  bool flag = false;
  std::optional<std::uint32_t> maybe;
  std::vector<Inner> parts;
  void archive(Archive& ar) {
    ar(x);
    ar(flag);
    ar(maybe);
    ar.sequence(parts, 100);
  }
};

Outer sample() { return Outer{-1.5, true, 7u, {{-3, "first"}, {INT64_MIN, ""}}}; }

Bytes written(Outer v) {
  Bytes out;
  Archive ar = Archive::writer(out);
  ar(v);
  return out;
}

std::uint64_t hashed(Outer v) {
  Archive ar = Archive::hasher();
  ar(v);
  return ar.digest();
}

}  // namespace

TEST(reads_back_what_it_wrote) {
  const Bytes bytes = written(sample());
  Outer back;
  Archive ar = Archive::reader(bytes);
  ar(back);
  TEST_ASSERT_FALSE(ar.failed());
  TEST_ASSERT_TRUE(ar.at_end());
  TEST_ASSERT_EQUAL_DOUBLE(-1.5, back.x);
  TEST_ASSERT_TRUE(back.flag);
  TEST_ASSERT_EQUAL_UINT32(7, *back.maybe);
  TEST_ASSERT_EQUAL_UINT64(2, back.parts.size());
  TEST_ASSERT_EQUAL_STRING("first", back.parts[0].name.c_str());
  TEST_ASSERT_TRUE(back.parts[1].a == INT64_MIN);
  TEST_ASSERT_EQUAL_UINT64(hashed(sample()), hashed(back));
}

TEST(every_truncation_fails_the_read) {
  const Bytes bytes = written(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Outer back;
    const Bytes shorter(bytes.begin(), bytes.begin() + static_cast<long>(n));
    Archive ar = Archive::reader(shorter);
    ar(back);
    TEST_ASSERT_TRUE(ar.failed());
  }
}

TEST(a_hostile_count_is_refused_before_memory_is_taken) {
  Bytes bytes;
  Archive out = Archive::writer(bytes);
  std::uint32_t huge = 0xFFFFFFFF;
  out(huge);
  std::vector<Inner> parts;
  Archive ar = Archive::reader(bytes);
  ar.sequence(parts, 0xFFFFFFFFu);
  TEST_ASSERT_TRUE(ar.failed());
  TEST_ASSERT_EQUAL_UINT64(0, parts.capacity());
}

namespace {

template <class T>
concept Readable = requires(T&& value) {
  Archive::reader(std::forward<T>(value));
};

}  // namespace

TEST(a_reader_takes_nothing_that_ends_before_it) {
  TEST_ASSERT_TRUE(Readable<Bytes&>);
  TEST_ASSERT_TRUE(Readable<std::string&>);
  TEST_ASSERT_TRUE(Readable<std::string_view>);
  TEST_ASSERT_FALSE(Readable<Bytes>);
  TEST_ASSERT_FALSE(Readable<std::string>);
}

TEST(any_changed_field_changes_the_digest) {
  const std::uint64_t base = hashed(sample());
  Outer v = sample();
  v.x = -1.5000000000000002;
  TEST_ASSERT_TRUE(hashed(v) != base);
  v = sample();
  v.maybe.reset();
  TEST_ASSERT_TRUE(hashed(v) != base);
  v = sample();
  v.parts[0].name = "First";
  TEST_ASSERT_TRUE(hashed(v) != base);
  v = sample();
  std::swap(v.parts[0], v.parts[1]);
  TEST_ASSERT_TRUE(hashed(v) != base);
}

TEST(the_digest_is_the_same_on_every_architecture) {
  TEST_ASSERT_EQUAL_HEX64(0xCE40E07DC1220974ULL, hashed(sample()));
}

namespace {

// One value of each kind of number, told one by one or as runs.
struct Numbers {
  std::int8_t tiny = -2;
  std::uint16_t small = 65535;
  std::int32_t negative = -7;
  std::uint64_t large = UINT64_MAX - 1;
  bool flag = true;
  double real = -0.0;
  std::array<std::int64_t, 3> triple{-1, 0, INT64_MAX};
  std::vector<std::uint32_t> list{1, 2, UINT32_MAX};

  void one_by_one(Archive& ar) {
    ar(tiny);
    ar(small);
    ar(negative);
    ar(large);
    ar(flag);
    ar(real);
    for (std::int64_t& v : triple) ar(v);
    auto count = static_cast<std::uint32_t>(list.size());
    ar(count);
    for (std::uint32_t& v : list) ar(v);
  }
  void archive(Archive& ar) {
    ar(tiny, small, negative, large, flag, real, triple);
    ar.sequence(list, 10);
  }
};

}  // namespace

TEST(a_run_of_numbers_is_written_read_and_hashed_as_one_after_the_other) {
  Numbers numbers;
  Bytes single;
  Bytes run;
  Archive single_writer = Archive::writer(single);
  Archive run_writer = Archive::writer(run);
  numbers.one_by_one(single_writer);
  run_writer(numbers);
  TEST_ASSERT_TRUE(single == run);
  Archive single_hasher = Archive::hasher();
  Archive run_hasher = Archive::hasher();
  numbers.one_by_one(single_hasher);
  run_hasher(numbers);
  TEST_ASSERT_EQUAL_UINT64(single_hasher.digest(), run_hasher.digest());
  Numbers back;
  back.negative = 5;
  back.triple = {};
  back.list.clear();
  Archive reader = Archive::reader(run);
  reader(back);
  TEST_ASSERT_TRUE(!reader.failed() && reader.at_end());
  TEST_ASSERT_EQUAL_INT(-7, back.negative);
  TEST_ASSERT_TRUE(back.triple == numbers.triple && back.list == numbers.list);
}

TEST(text_is_hashed_by_words_of_eight_bytes_and_a_rest) {
  const std::string text = "nineteen characters";
  Archive by_text = Archive::hasher();
  by_text.raw(text);
  Archive by_words = Archive::hasher();
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = at; i < std::min(at + 8, text.size()); ++i) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * (i - at));
    }
    by_words(word);
  }
  TEST_ASSERT_EQUAL_UINT64(by_words.digest(), by_text.digest());
}
