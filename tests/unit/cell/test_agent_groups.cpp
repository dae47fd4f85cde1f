#include "cell/agent_groups.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;
namespace fs = std::filesystem;

namespace {

constexpr Owner kAgent{65534, 65534};

// A group of version 1 of the test's own; none where there is no such hierarchy, or no right to it.
class OwnGroup {
 public:
  explicit OwnGroup(const std::string& controller)
      : path_("/sys/fs/cgroup/" + controller + "/laird-test-" + std::to_string(::getpid())) {
    there_ = ::geteuid() == 0 && fs::exists("/sys/fs/cgroup/" + controller + "/tasks") &&
             ::mkdir(path_.c_str(), 0755) == 0;
  }
  ~OwnGroup() {
    if (!there_) return;
    ::rmdir((path_ + "/laird").c_str());
    ::rmdir(path_.c_str());
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  [[nodiscard]] bool there() const { return there_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool there_ = false;
};

}  // namespace

TEST(makes_nothing_where_there_are_no_groups_of_version_1) {
  const test::TemporaryFolder root;
  fs::create_directory(root.path() + "/cpu");
  const auto made = make_agent_groups(root.path(), kAgent);
  TEST_ASSERT_TRUE(made.has_value());
  TEST_ASSERT_EQUAL_STRING("", made->c_str());
  TEST_ASSERT_FALSE(fs::exists(root.path() + "/cpu/laird"));
}

TEST(gives_the_agent_a_group_of_version_1_and_refuses_one_of_somebody_else) {
  const test::TemporaryFolder root;
  const OwnGroup freezer("freezer");
  if (!freezer.there()) TEST_IGNORE_MESSAGE("skipped: no control groups of version 1, or not root");
  // As cpu is a link to cpu,cpuacct on most systems.
  fs::create_directory_symlink(freezer.path(), root.path() + "/freezer");
  for (int time = 0; time < 2; ++time) {
    const auto made = make_agent_groups(root.path(), kAgent);
    TEST_ASSERT_TRUE(made.has_value());
    TEST_ASSERT_EQUAL_STRING("freezer", made->c_str());
    struct stat info {};
    TEST_ASSERT_EQUAL_INT(0, ::stat((freezer.path() + "/laird").c_str(), &info));
    TEST_ASSERT_EQUAL_UINT64(kAgent.uid, info.st_uid);
    TEST_ASSERT_EQUAL_UINT64(kAgent.gid, info.st_gid);
  }
  const auto other = make_agent_groups(root.path(), {1, 1});
  TEST_ASSERT_FALSE(other.has_value());
  TEST_ASSERT_TRUE(other.error().context.find("belongs to another user") != std::string::npos);
}
