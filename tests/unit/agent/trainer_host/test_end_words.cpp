#include "agent/trainer_host/end_words.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::agent;

namespace {

void assert_line(const char* expected, const LastWords& words) {
  TEST_ASSERT_EQUAL_STRING(expected, std::string(words.line()).c_str());
}

void assert_words(const char* expected, const TrainerEnd& end) {
  TEST_ASSERT_EQUAL_STRING(expected, end_words(end).c_str());
}

}  // namespace

TEST(the_last_line_that_is_not_empty_is_kept) {
  LastWords words;
  assert_line("", words);
  words.add("Traceback (most recent call last):\n  File \"fit.py\", line 1\n");
  words.add("ImportError: No module named 'torch'\n\n  \r\n");
  assert_line("ImportError: No module named 'torch'", words);
}

TEST(a_line_may_come_in_pieces_and_without_a_newline) {
  LastWords words;
  words.add("one\n  tw");
  words.add("o  ");
  assert_line("two", words);
}

TEST(whatever_is_printed_only_the_last_bytes_are_kept) {
  LastWords words;
  for (int i = 0; i < 1000; ++i) words.add(std::string(1000, 'x'));
  TEST_ASSERT_EQUAL_UINT64(LastWords::kMost, words.line().size());
  words.add("\nend\n");
  assert_line("end", words);
}

TEST(memory_that_ran_out_is_told_with_its_numbers) {
  assert_words("its trainer ran out of memory: it needed more than its 400 MB; highest seen 401 MB",
               {-9, 400'000'000, {400'600'000, 1}, "step 12"});
  assert_words("its trainer ran out of memory: it needed more than there was", {-9, 0, {0, 1}, ""});
}

TEST(an_exit_is_told_with_the_last_words) {
  assert_words("its trainer exited by itself with code 1; it had printed: ImportError: torch",
               {1, 0, {}, "ImportError: torch"});
  assert_words("its trainer was ended by signal 11; it had printed: step 12",
               {-11, 0, {}, "step 12"});
}

TEST(without_more_than_the_code_there_is_nothing_to_add) {
  assert_words("", {1, 400, {400, 0}, ""});
}
