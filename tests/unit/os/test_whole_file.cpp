#include "os/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  TEST_ASSERT_EQUAL_INT(0, ::stat(path.c_str(), &info));
  return info.st_mode & 07777;
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST(a_file_is_replaced_and_nothing_is_left_beside_it) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  for (const bool sync : {true, false}) {
    for (const bool fresh : {true, false}) {
      TEST_ASSERT_TRUE(write_whole_file(path, "one", {.sync = sync, .fresh_name = fresh}));
      TEST_ASSERT_TRUE(write_whole_file(path, "two", {.sync = sync, .fresh_name = fresh}));
      TEST_ASSERT_EQUAL_STRING("two", content(path).c_str());
      TEST_ASSERT_EQUAL_UINT64(1, files_in(folder.path()));
      TEST_ASSERT_EQUAL_UINT32(0600, mode_of(path));
    }
  }
}

TEST(a_file_that_is_there_is_refused_when_that_is_asked_for) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  const WholeFileOptions careful{.if_there = IfThere::kRefuse};
  TEST_ASSERT_TRUE(write_whole_file(path, "one", careful));
  const Status again = write_whole_file(path, "two", careful);
  TEST_ASSERT_FALSE(again.has_value());
  TEST_ASSERT_TRUE(again.error().code == Code::kExists);
  TEST_ASSERT_EQUAL_STRING("one", content(path).c_str());
  TEST_ASSERT_EQUAL_UINT64(1, files_in(folder.path()));
}

TEST(the_previous_file_is_kept_under_the_name_given) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  const WholeFileOptions keeping{.previous = folder.path() + "/before"};
  TEST_ASSERT_TRUE(write_whole_file(path, "one", keeping));
  TEST_ASSERT_TRUE(write_whole_file(path, "two", keeping));
  TEST_ASSERT_TRUE(write_whole_file(path, "three", keeping));
  TEST_ASSERT_EQUAL_STRING("three", content(path).c_str());
  TEST_ASSERT_EQUAL_STRING("two", content(folder.path() + "/before").c_str());
}

TEST(a_fresh_name_has_exactly_the_mode_given_and_the_other_heeds_the_umask) {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(077);
  TEST_ASSERT_TRUE(write_whole_file(folder.path() + "/a", "x", {.mode = 0644, .fresh_name = true}));
  TEST_ASSERT_TRUE(write_whole_file(folder.path() + "/b", "x", {.mode = 0644}));
  ::umask(before);
  TEST_ASSERT_EQUAL_UINT32(0644, mode_of(folder.path() + "/a"));
  TEST_ASSERT_EQUAL_UINT32(0600, mode_of(folder.path() + "/b"));
}

TEST(a_link_in_the_place_of_the_staged_file_is_not_followed) {
  const test::TemporaryFolder folder;
  const std::string victim = folder.path() + "/victim";
  TEST_ASSERT_TRUE(write_whole_file(victim, "precious"));
  TEST_ASSERT_EQUAL_INT(0, ::symlink(victim.c_str(), (folder.path() + "/a.new").c_str()));
  TEST_ASSERT_FALSE(write_whole_file(folder.path() + "/a", "x").has_value());
  TEST_ASSERT_EQUAL_STRING("precious", content(victim).c_str());
}

TEST(a_failure_names_the_file_and_leaves_nothing) {
  const test::TemporaryFolder folder;
  const Status absent = write_whole_file(folder.path() + "/absent/a", "x");
  TEST_ASSERT_FALSE(absent.has_value());
  TEST_ASSERT_TRUE(absent.error().context.find("/absent/a") != std::string::npos);
  // A folder in the way.
  TEST_ASSERT_EQUAL_INT(0, ::mkdir((folder.path() + "/a").c_str(), 0700));
  TEST_ASSERT_FALSE(write_whole_file(folder.path() + "/a", "x").has_value());
  TEST_ASSERT_EQUAL_UINT64(1, files_in(folder.path()));
}

TEST(replace_file_makes_a_private_folder) {
  const test::TemporaryFolder folder;
  TEST_ASSERT_TRUE(replace_file(folder.path() + "/new/a", "x").has_value());
  TEST_ASSERT_EQUAL_UINT32(0700, mode_of(folder.path() + "/new"));
}
