#include "os/line_splitter.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/harness/unit.hpp"

using laird::LineSplitter;
using laird::Overlong;

TEST(a_stream_is_cut_into_lines_whatever_the_block_size) {
  const std::string text = "one\n\nthree\nno newline";
  for (const Overlong policy : {Overlong::kCut, Overlong::kSkip}) {
    for (std::size_t block = 1; block <= text.size(); ++block) {
      LineSplitter lines(100, policy);
      std::string all;
      const auto take = [&](std::string_view line) { all += "<" + std::string(line) + ">"; };
      for (std::size_t at = 0; at < text.size(); at += block) {
        lines.feed(std::string_view(text).substr(at, block), take);
      }
      TEST_ASSERT_EQUAL_STRING("<one><><three>", all.c_str());
      lines.finish(take);
      TEST_ASSERT_EQUAL_STRING("<one><><three><no newline>", all.c_str());
      lines.finish(take);
      TEST_ASSERT_EQUAL_STRING("<one><><three><no newline>", all.c_str());
    }
  }
}

TEST(an_endless_line_is_cut_and_counted_and_the_next_is_fine) {
  LineSplitter lines(8, Overlong::kCut);
  std::vector<std::pair<std::string, bool>> got;
  const auto take = [&](std::string_view line, bool cut) { got.emplace_back(line, cut); };
  for (int i = 0; i < 1000; ++i) lines.feed("xxxxxxxxxx", take);
  TEST_ASSERT_EQUAL_UINT64(1, lines.overlong());  // without waiting for its newline
  lines.feed("\nok\n", take);
  TEST_ASSERT_EQUAL_UINT64(2, got.size());
  TEST_ASSERT_EQUAL_UINT64(8, got[0].first.size());
  TEST_ASSERT_TRUE(got[0].second);
  TEST_ASSERT_EQUAL_STRING("ok", got[1].first.c_str());
  TEST_ASSERT_FALSE(got[1].second);
  TEST_ASSERT_EQUAL_UINT64(1, lines.overlong());
}

TEST(an_overlong_line_inside_one_block_is_cut_or_skipped_like_any_other) {
  for (const auto& [policy, expected] :
       {std::pair(Overlong::kCut, "<12345678><ok>"), std::pair(Overlong::kSkip, "<ok>")}) {
    LineSplitter lines(8, policy);
    std::string all;
    lines.feed("123456789\nok\n",
               [&](std::string_view line) { all += "<" + std::string(line) + ">"; });
    TEST_ASSERT_EQUAL_STRING(expected, all.c_str());
    TEST_ASSERT_EQUAL_UINT64(1, lines.overlong());
  }
}

TEST(a_line_of_exactly_the_bound_is_whole) {
  for (const std::size_t block : {std::size_t{1}, std::size_t{3}, std::size_t{9}}) {
    LineSplitter lines(8, Overlong::kSkip);
    std::string all;
    const std::string text = "12345678\n";
    for (std::size_t at = 0; at < text.size(); at += block) {
      lines.feed(std::string_view(text).substr(at, block),
                 [&](std::string_view line) { all += line; });
    }
    TEST_ASSERT_EQUAL_STRING("12345678", all.c_str());
    TEST_ASSERT_EQUAL_UINT64(0, lines.overlong());
  }
}

TEST(a_line_of_megabytes_is_skipped_and_counted) {
  LineSplitter lines(64 * 1024, Overlong::kSkip);
  std::string all;
  const auto take = [&](std::string_view line) { all += line; };
  const std::string block(100'000, 'x');
  for (int i = 0; i < 50; ++i) lines.feed(block, take);
  lines.feed("\nshort\n", take);
  TEST_ASSERT_EQUAL_STRING("short", all.c_str());
  TEST_ASSERT_EQUAL_UINT64(1, lines.overlong());
}

TEST(a_skipped_last_line_leaves_nothing_behind) {
  LineSplitter lines(4, Overlong::kSkip);
  std::string all;
  const auto take = [&](std::string_view line) { all += line; };
  lines.feed("too long", take);
  lines.finish(take);
  lines.feed("a\n", take);
  TEST_ASSERT_EQUAL_STRING("a", all.c_str());
}

TEST(lines_can_be_taken_one_at_a_time) {
  LineSplitter lines(100, Overlong::kSkip);
  std::string_view block = "ab";
  TEST_ASSERT_FALSE(lines.next(block).has_value());
  TEST_ASSERT_TRUE(block.empty());
  block = "c\nd\n\ne";
  TEST_ASSERT_TRUE(*lines.next(block) == "abc");
  TEST_ASSERT_TRUE(block == "d\n\ne");
  const std::string_view inside = *lines.next(block);
  TEST_ASSERT_TRUE(inside == "d" && inside.data() + 2 == block.data());  // not a copy
  TEST_ASSERT_TRUE(lines.next(block)->empty());
  TEST_ASSERT_FALSE(lines.next(block).has_value());
  TEST_ASSERT_TRUE(*lines.finish() == "e");
}
