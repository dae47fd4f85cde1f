#include "base/part.hpp"

#include <utility>

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

struct Counted {
  std::uint64_t value = 7;
  int looks = 0;  // how often it was hashed
  void archive(Archive& ar) {
    ++looks;
    ar(value);
  }
};

template <class T>
std::uint64_t hash_of(T& of) {
  Archive ar = Archive::hasher();
  ar(of);
  return ar.digest();
}

}  // namespace

TEST(a_part_counts_as_the_one_word_of_its_own_digest) {
  Part<Counted> part;
  Counted alone;
  std::uint64_t word = hash_of(alone);
  TEST_ASSERT_EQUAL_HEX64(hash_of(word), hash_of(part));
}

TEST(a_part_is_looked_at_again_only_after_it_could_change) {
  Part<Counted> part;
  const std::uint64_t before = hash_of(part);
  TEST_ASSERT_EQUAL_HEX64(before, hash_of(part));
  TEST_ASSERT_EQUAL_INT(1, part->looks);
  part.change().value = 8;
  TEST_ASSERT_TRUE(before != hash_of(part));
  TEST_ASSERT_EQUAL_INT(2, part->looks);
}

TEST(a_copy_of_a_part_goes_its_own_way) {
  Part<Counted> part;
  const std::uint64_t before = hash_of(part);
  Part<Counted> copy = part;
  copy.change().value = 8;
  TEST_ASSERT_TRUE(before != hash_of(copy));
  TEST_ASSERT_EQUAL_HEX64(before, hash_of(part));
}

TEST(a_part_that_is_read_from_bytes_has_the_digest_of_what_was_read) {
  Part<Counted> part;
  part.change().value = 9;
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  writer(part);
  TEST_ASSERT_EQUAL_UINT64(sizeof(std::uint64_t), bytes.size());
  Part<Counted> back;
  static_cast<void>(hash_of(back));
  Archive reader = Archive::reader(bytes);
  reader(back);
  TEST_ASSERT_TRUE(!reader.failed() && reader.at_end());
  TEST_ASSERT_EQUAL_HEX64(hash_of(part), hash_of(back));
}

TEST(a_pointed_to_part_keeps_its_digest_while_it_is_only_looked_at) {
  PartPtr<Counted> part;
  TEST_ASSERT_TRUE(part == nullptr && !part);
  part = std::make_unique<Counted>();
  const std::uint64_t before = hash_of(part);
  TEST_ASSERT_EQUAL_UINT64(7, std::as_const(part)->value);
  TEST_ASSERT_EQUAL_HEX64(before, hash_of(part));
  TEST_ASSERT_EQUAL_INT(1, std::as_const(part)->looks);
  part->value = 8;
  const std::uint64_t changed = hash_of(part);
  TEST_ASSERT_TRUE(before != changed);
  (*part).value = 7;
  TEST_ASSERT_EQUAL_HEX64(before, hash_of(part));
  auto other = std::make_unique<Counted>();
  other->value = 8;
  part = std::move(other);
  TEST_ASSERT_EQUAL_HEX64(changed, hash_of(part));
  part.reset();
  TEST_ASSERT_TRUE(part == nullptr);
}
