#include "base/harmless.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(what_boards_say_cannot_steer_the_terminal) {
  TEST_ASSERT_EQUAL_STRING("a [31mb c d", harmless("a\033[31mb\nc\xc2\x9b"
                                                   "d")
                                              .c_str());
  TEST_ASSERT_EQUAL_STRING("µ ok", harmless("µ ok").c_str());
}

TEST(no_format_character_or_broken_utf8_reaches_a_terminal) {
  for (const char* unsafe : {"\u202a", "\u202e", "\u2066", "\u2069", "\u200b", "\u200f", "\u2028",
                             "\u061c", "\ufeff", "\U000E0041", "\u0085", "\x7f", "\t", "\a"}) {
    TEST_ASSERT_EQUAL_STRING("a b", harmless("a" + std::string(unsafe) + "b").c_str());
  }
  TEST_ASSERT_EQUAL_STRING("a?b", harmless("a\x9b"
                                           "b")
                                      .c_str());
  TEST_ASSERT_EQUAL_STRING("???x", harmless("\xed\xa0\x80x").c_str());  // a surrogate
  TEST_ASSERT_EQUAL_STRING("??x", harmless("\xc0\x9bx").c_str());       // longer than it must be
  TEST_ASSERT_EQUAL_STRING("a??", harmless("a\xe2\x80").c_str());
  TEST_ASSERT_EQUAL_STRING("日本語 Ω 🙂", harmless("日本語 Ω 🙂").c_str());
}

TEST(json_says_the_same_in_escapes) {
  TEST_ASSERT_EQUAL_STRING("{\"a\":\"\\u202e\\u009b\\udb40\\udc41x\"}",
                           harmless_json("{\"a\":\"\u202e\u009b\U000E0041x\"}").c_str());
  TEST_ASSERT_EQUAL_STRING("{\n  \"a\": 1\n}", harmless_json("{\n  \"a\": 1\n}").c_str());
}
