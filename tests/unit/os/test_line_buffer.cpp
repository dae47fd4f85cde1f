#include "os/line_buffer.hpp"

#include <string>
#include <vector>

#include "tests/harness/unit.hpp"

using laird::LineBuffer;

TEST(lines_come_whole_however_they_were_cut) {
  LineBuffer buffer(100);
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line, bool) { lines.emplace_back(line); };
  for (const char c : std::string("one\ntwo\n\nthree")) buffer.feed(std::string_view(&c, 1), take);
  TEST_ASSERT_EQUAL_UINT64(3, lines.size());
  TEST_ASSERT_EQUAL_STRING("two", lines[1].c_str());
  TEST_ASSERT_EQUAL_STRING("", lines[2].c_str());
}

TEST(an_endless_line_is_cut_and_counted_and_the_next_is_fine) {
  LineBuffer buffer(8);
  std::vector<std::pair<std::string, bool>> lines;
  const auto take = [&](std::string_view line, bool cut) { lines.emplace_back(line, cut); };
  for (int i = 0; i < 1000; ++i) buffer.feed("xxxxxxxxxx", take);
  buffer.feed("\nok\n", take);
  TEST_ASSERT_EQUAL_UINT64(2, lines.size());
  TEST_ASSERT_EQUAL_UINT64(8, lines[0].first.size());
  TEST_ASSERT_TRUE(lines[0].second);
  TEST_ASSERT_EQUAL_STRING("ok", lines[1].first.c_str());
  TEST_ASSERT_FALSE(lines[1].second);
  TEST_ASSERT_EQUAL_UINT64(1, buffer.overlong());
}
