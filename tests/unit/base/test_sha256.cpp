#include "base/sha256.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;

// The examples of FIPS 180-4's own test vectors, and lengths around the padding's edges, whose
// values come from another implementation (Python's hashlib).
TEST(digests_are_those_of_the_standard) {
  TEST_ASSERT_EQUAL_STRING("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                           sha256_hex("").c_str());
  TEST_ASSERT_EQUAL_STRING("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                           sha256_hex("abc").c_str());
  TEST_ASSERT_EQUAL_STRING(
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
      sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").c_str());
}

TEST(messages_that_fill_a_block_or_leave_no_room_for_the_length_are_padded_right) {
  TEST_ASSERT_EQUAL_STRING("9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
                           sha256_hex(std::string(55, 'a')).c_str());
  TEST_ASSERT_EQUAL_STRING("b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
                           sha256_hex(std::string(56, 'a')).c_str());
  TEST_ASSERT_EQUAL_STRING("ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
                           sha256_hex(std::string(64, 'a')).c_str());
  TEST_ASSERT_EQUAL_STRING("41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3",
                           sha256_hex(std::string(1000, 'a')).c_str());
}

TEST(a_shorter_text_is_the_beginning_of_the_digest) {
  TEST_ASSERT_EQUAL_STRING("ba7816bf8f01cfea", sha256_hex("abc", 16).c_str());
}
