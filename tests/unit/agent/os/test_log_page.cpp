#include "agent/os/log_page.hpp"

#include <fstream>

#include "tests/harness/unit.hpp"

using laird::agent::kLogPageBytesMax;
using laird::agent::read_log_page;

namespace {

std::string numbered(int lines) {
  std::string out;
  for (int i = 0; i < lines; ++i) out += "line " + std::to_string(i) + "\n";
  return out;
}

}  // namespace

TEST(pages_from_the_beginning_give_the_whole_file) {
  const laird::test::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.log";
  const std::string whole = numbered(20'000);
  std::ofstream(path) << whole;
  std::string read;
  for (std::int64_t at = 0;;) {
    const auto page = read_log_page(path, at);
    TEST_ASSERT_EQUAL_INT64(at, page->from);
    TEST_ASSERT_LESS_OR_EQUAL_INT64(kLogPageBytesMax, page->next - page->from);
    read += page->bytes;
    at = page->next;
    if (at == page->size) break;
  }
  TEST_ASSERT_TRUE(read == whole);
}

TEST(without_a_place_the_end_is_read_by_whole_lines) {
  const laird::test::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.log";
  std::ofstream(path) << numbered(20'000);
  const auto page = read_log_page(path, {});
  TEST_ASSERT_EQUAL_INT64(page->size, page->next);
  TEST_ASSERT_EQUAL_STRING("line ", page->bytes.substr(0, 5).c_str());
  TEST_ASSERT_EQUAL_INT64(page->next - page->from, static_cast<std::int64_t>(page->bytes.size()));
  TEST_ASSERT_EQUAL_STRING("line 19999\n", page->bytes.substr(page->bytes.size() - 11).c_str());
}

TEST(a_place_beyond_the_end_is_in_a_file_that_began_anew) {
  const laird::test::TemporaryFolder folder;
  const std::string path = folder.path() + "/x.log";
  std::ofstream(path) << "new\n";
  const auto page = read_log_page(path, 1'000'000);
  TEST_ASSERT_EQUAL_INT64(0, page->from);
  TEST_ASSERT_EQUAL_STRING("new\n", page->bytes.c_str());
  TEST_ASSERT_EQUAL_STRING("", read_log_page(path, 4)->bytes.c_str());
}

TEST(what_is_no_file_is_not_read) {
  const laird::test::TemporaryFolder folder;
  TEST_ASSERT_TRUE(read_log_page(folder.path() + "/none", {}).error().code ==
                   laird::Code::kNotFound);
  TEST_ASSERT_FALSE(read_log_page(folder.path(), {}).has_value());
}
