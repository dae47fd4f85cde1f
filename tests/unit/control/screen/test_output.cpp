#include "control/screen/output.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

TEST(columns_align_numbers_right_and_lines_end_without_spaces) {
  Table table({{"NAME"}, {"W", true}, {"WHY"}});
  table.add({"a", "1.0", ""});
  table.add({"longer", "12.0", "x"});
  TEST_ASSERT_EQUAL_STRING("NAME       W  WHY\na        1.0\nlonger  12.0  x\n",
                           table.text().c_str());
}

TEST(width_counts_characters_not_bytes) {
  TEST_ASSERT_EQUAL_UINT64(3, width_of("µ█x"));
  Table table({{"A"}, {"B"}});
  table.add({"µ", "1"});
  TEST_ASSERT_EQUAL_STRING("A  B\nµ  1\n", table.text().c_str());
}

TEST(lines_keep_their_ends_and_colours_and_nothing_else) {
  const std::string red = painted("x", Colour::kRed, true);
  TEST_ASSERT_EQUAL_STRING((red + "\n\ty\n").c_str(), harmless_lines(red + "\n\ty\n").c_str());
  TEST_ASSERT_EQUAL_STRING("a [2Jb", harmless_lines("a\033[2Jb").c_str());
  TEST_ASSERT_EQUAL_STRING("a ]0;t b", harmless_lines("a\033]0;t\ab").c_str());
  TEST_ASSERT_EQUAL_STRING("a b\n", harmless_lines("a\u202eb\n").c_str());
  TEST_ASSERT_EQUAL_STRING("a [1;31mb", harmless_lines("a\033[1;31mb").c_str());
}

TEST(spans_read_well) {
  TEST_ASSERT_EQUAL_STRING("45s", span_text(45.9).c_str());
  TEST_ASSERT_EQUAL_STRING("3m10s", span_text(190.0).c_str());
  TEST_ASSERT_EQUAL_STRING("2h05m", span_text(7'500.0).c_str());
  TEST_ASSERT_EQUAL_STRING("4d03h", span_text(4 * 86'400.0 + 3 * 3'600.0).c_str());
  TEST_ASSERT_EQUAL_STRING("-12s", span_text(-12.0).c_str());
  TEST_ASSERT_EQUAL_STRING("0s", span_text(-0.3).c_str());
  TEST_ASSERT_EQUAL_STRING("-", span_text(std::nullopt).c_str());
}

TEST(paint_only_when_on) {
  TEST_ASSERT_EQUAL_STRING("x", painted("x", Colour::kRed, false).c_str());
  TEST_ASSERT_EQUAL_STRING("\033[31mx\033[0m", painted("x", Colour::kRed, true).c_str());
}
