#include "base/sha256.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;

// The examples of FIPS 180-2, appendix B.
TEST(gives_the_published_hashes) {
  TEST_ASSERT_EQUAL_STRING("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                           sha256_of("").c_str());
  TEST_ASSERT_EQUAL_STRING("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                           sha256_of("abc").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
      sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").c_str());
  TEST_ASSERT_EQUAL_STRING("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
                           sha256_of(std::string(1'000'000, 'a')).c_str());
}

TEST(pieces_of_any_size_give_the_hash_of_the_whole) {
  std::string text;
  for (int i = 0; i < 500; ++i) text.push_back(static_cast<char>(i * 7));
  for (std::size_t length = 0; length < text.size(); length += 13) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    for (const std::size_t piece : {1, 55, 63, 64, 65, 200}) {
      Sha256 hash;
      for (std::size_t at = 0; at < length; at += piece) hash.add(whole.substr(at, piece));
      TEST_ASSERT_EQUAL_STRING(sha256_of(whole).c_str(), hash.hex().c_str());
    }
  }
}
