#include "cell/guards/mounts.hpp"

#include <unistd.h>

#include <filesystem>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

TEST(a_path_of_mountinfo_is_read_as_the_kernel_writes_it) {
  TEST_ASSERT_EQUAL_STRING("/a b/c\\d", unescaped("/a\\040b/c\\134d").c_str());
  TEST_ASSERT_EQUAL_STRING("/plain", unescaped("/plain").c_str());
}

TEST(a_folder_holds_itself_and_what_is_in_it) {
  TEST_ASSERT_TRUE(is_below("/a/b", "/a"));
  TEST_ASSERT_TRUE(is_below("/a", "/a"));
  TEST_ASSERT_TRUE(is_below("/a", "/"));
  TEST_ASSERT_FALSE(is_below("/ab", "/a"));
}

TEST(hidden_paths_are_followed_and_those_within_others_left_out) {
  const test::TemporaryFolder folder;
  const std::string real = std::filesystem::canonical(folder.path()).string();
  std::filesystem::create_directories(real + "/state/tasks");
  std::filesystem::create_symlink(real + "/state", real + "/link");
  const std::vector<std::string> out =
      outermost({real + "/link/tasks", real + "/nowhere", real + "/link"});
  TEST_ASSERT_EQUAL_UINT64(1, out.size());
  TEST_ASSERT_EQUAL_STRING((real + "/state").c_str(), out[0].c_str());
}
