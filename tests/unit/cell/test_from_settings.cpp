#include "cell/from_settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;

namespace {

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

struct OneConfig {
  OneConfig() {
    std::ofstream(path) << R"({"node": "n-1", "state_dir": "state", "power": {"source": "none"},
      "data_roots": ["/srv", "here"], "cell": {"processes": 20, "disk": "2MB"},
      "trainers": {"own": {"exec": ["/bin/true", "a"], "env": {"B": "1"}},
                   "net": {"exec": ["/bin/true"], "network": true}}})";
    ::chmod(path.c_str(), 0640);
  }
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/laird.json";
};

Request asked(const std::string& trainer) {
  Request out;
  out.trainer = trainer;
  out.task = "t-1";
  out.memory_bytes = 1'000'000;
  // None of this is believed.
  out.spec.argv = {"/bin/sh", "-c", "id"};
  out.spec.user = "root";
  out.spec.tasks_folder = "/etc";
  out.spec.network = true;
  return out;
}

}  // namespace

TEST(an_allow_list_decides_what_runs_and_how) {
  if (::geteuid() != 0) TEST_IGNORE_MESSAGE("the file must be root's");
  const OneConfig one;
  const Result<Spec> spec = listed(one.path, asked("own"));
  TEST_ASSERT_TRUE_MESSAGE(spec.has_value(), spec ? "" : spec.error().context.c_str());
  TEST_ASSERT_EQUAL_STRING("/bin/true", spec->argv.at(0).c_str());
  TEST_ASSERT_EQUAL_STRING("laird-trainer", spec->user.c_str());
  TEST_ASSERT_EQUAL_STRING((one.folder.path() + "/state/tasks/t-1").c_str(),
                           spec->folder().c_str());
  TEST_ASSERT_FALSE(spec->network);
  TEST_ASSERT_TRUE(spec->private_tmp);
  TEST_ASSERT_TRUE(has(spec->environment, "B=1"));
  TEST_ASSERT_TRUE(has(spec->environment, "LAIRD_DATA_ROOTS=/srv:" + one.folder.path() + "/here"));
  TEST_ASSERT_TRUE(has(spec->hidden, one.folder.path() + "/state"));
  TEST_ASSERT_TRUE(has(spec->hidden, one.path));
  TEST_ASSERT_EQUAL_UINT64(20, spec->limits.processes);
  TEST_ASSERT_EQUAL_UINT64(2'000'000, spec->limits.folder_bytes);
  TEST_ASSERT_TRUE(listed(one.path, asked("net"))->network);
}

TEST(what_is_not_listed_is_refused) {
  if (::geteuid() != 0) TEST_IGNORE_MESSAGE("the file must be root's");
  const OneConfig one;
  const Result<Spec> spec = listed(one.path, asked("sh"));
  TEST_ASSERT_TRUE(!spec && spec.error().code == Code::kRefused);
}

TEST(a_file_that_others_can_change_is_no_allow_list) {
  const OneConfig one;
  ::chmod(one.path.c_str(), 0660);
  TEST_ASSERT_FALSE(listed(one.path, asked("own")).has_value());
  ::chmod(one.path.c_str(), 0640);
  if (::geteuid() != 0) return;
  TEST_ASSERT_EQUAL_INT(0, ::chown(one.path.c_str(), 65534, 65534));
  TEST_ASSERT_FALSE(listed(one.path, asked("own")).has_value());
}
