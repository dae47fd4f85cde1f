#include "agent/os/cgroup.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/harness/unit.hpp"

namespace fs = std::filesystem;
using laird::agent::CgroupTree;

namespace {

void touch(const std::string& path, const std::string& text = "") { std::ofstream(path) << text; }

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST(version_1_controllers_are_used_each_on_its_own) {
  const laird::test::TemporaryFolder root;
  fs::create_directories(root.path() + "/cpu/box");
  fs::create_directories(root.path() + "/freezer");
  const auto tree =
      CgroupTree::find(root.path(), "4:freezer:/elsewhere\n2:cpu,cpuacct:/box\n", "n1");
  TEST_ASSERT_NOT_NULL(tree.get());
  TEST_ASSERT_EQUAL_STRING("cgroup v1: cpu freezer", tree->describe().c_str());
  const auto group = tree->create("task");
  const std::string cpu = root.path() + "/cpu/box/laird-n1/task";
  const std::string freezer = root.path() + "/freezer/laird-n1/task";
  for (const char* file : {"/cgroup.procs", "/cpu.cfs_period_us", "/cpu.cfs_quota_us"}) {
    touch(cpu + file);
  }
  touch(freezer + "/cgroup.procs");
  touch(freezer + "/freezer.state");
  TEST_ASSERT_EQUAL_UINT64(2, group->folders().size());
  TEST_ASSERT_EQUAL_STRING(cpu.c_str(), group->folders()[0].c_str());
  TEST_ASSERT_EQUAL_STRING(freezer.c_str(), group->folders()[1].c_str());
  TEST_ASSERT_FALSE(group->limit_processes(10));
  TEST_ASSERT_TRUE(group->limit_cpu(250));
  TEST_ASSERT_EQUAL_STRING("25000", read(cpu + "/cpu.cfs_quota_us").c_str());
  TEST_ASSERT_TRUE(group->limit_cpu(0));
  TEST_ASSERT_EQUAL_STRING("-1", read(cpu + "/cpu.cfs_quota_us").c_str());
  TEST_ASSERT_TRUE(group->freeze(true));
  TEST_ASSERT_EQUAL_STRING("FROZEN", read(freezer + "/freezer.state").c_str());
  TEST_ASSERT_FALSE(group->limit_memory(1000));
}

TEST(version_1_groups_that_root_made_for_the_agent_are_used) {
  const laird::test::TemporaryFolder root;
  fs::create_directories(root.path() + "/cpu/laird");
  fs::create_directories(root.path() + "/memory");
  const auto tree = CgroupTree::find(root.path(), "2:cpu:/gone\n", "n1");
  TEST_ASSERT_NOT_NULL(tree.get());
  const auto group = tree->create("task");
  TEST_ASSERT_EQUAL_STRING((root.path() + "/cpu/laird/laird-n1/task").c_str(),
                           group->folders()[0].c_str());
  TEST_ASSERT_EQUAL_STRING((root.path() + "/memory/laird-n1/task").c_str(),
                           group->folders()[1].c_str());
}

TEST(version_2_is_recognised_by_its_controllers_file) {
  const laird::test::TemporaryFolder root;
  touch(root.path() + "/cgroup.controllers", "cpu memory");
  fs::create_directories(root.path() + "/unit");
  const auto tree = CgroupTree::find(root.path(), "0::/unit\n", "n1");
  TEST_ASSERT_NOT_NULL(tree.get());
  const auto group = tree->create("task");
  const std::string folder = root.path() + "/unit/laird-n1/task";
  for (const char* file : {"/cpu.max", "/memory.max", "/pids.max", "/cgroup.freeze"})
    touch(folder + file);
  TEST_ASSERT_TRUE(group->limit_cpu(1500));
  TEST_ASSERT_EQUAL_STRING("150000 100000", read(folder + "/cpu.max").c_str());
  TEST_ASSERT_TRUE(group->limit_processes(20));
  TEST_ASSERT_EQUAL_STRING("20", read(folder + "/pids.max").c_str());
  TEST_ASSERT_TRUE(group->limit_memory(5000));
  TEST_ASSERT_EQUAL_STRING("5000", read(folder + "/memory.max").c_str());
  TEST_ASSERT_TRUE(group->freeze(false));
  TEST_ASSERT_EQUAL_STRING("0", read(folder + "/cgroup.freeze").c_str());
}

TEST(what_a_group_knows_of_its_memory_is_read_where_the_kernel_says_it) {
  const laird::test::TemporaryFolder root;
  touch(root.path() + "/cgroup.controllers", "cpu memory");
  fs::create_directories(root.path() + "/unit");
  const auto second = CgroupTree::find(root.path(), "0::/unit\n", "n1")->create("task");
  TEST_ASSERT_EQUAL_INT64(0, second->memory_use().peak_bytes);
  const std::string folder = root.path() + "/unit/laird-n1/task";
  touch(folder + "/memory.peak", "401000000\n");
  touch(folder + "/memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n");
  TEST_ASSERT_EQUAL_INT64(401'000'000, second->memory_use().peak_bytes);
  TEST_ASSERT_EQUAL_UINT64(2, second->memory_use().killed);

  const laird::test::TemporaryFolder old;
  fs::create_directories(old.path() + "/memory");
  const auto first = CgroupTree::find(old.path(), "2:memory:/\n", "n1")->create("task");
  const std::string memory = old.path() + "/memory/laird-n1/task";
  touch(memory + "/memory.max_usage_in_bytes", "5000\n");
  touch(memory + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  TEST_ASSERT_EQUAL_INT64(5000, first->memory_use().peak_bytes);
  TEST_ASSERT_EQUAL_UINT64(1, first->memory_use().killed);
}

TEST(an_agent_that_starts_anew_finds_its_groups_where_they_were) {
  const laird::test::TemporaryFolder root;
  touch(root.path() + "/cgroup.controllers", "cpu memory");
  fs::create_directories(root.path() + "/unit/laird-agent");
  const auto tree = CgroupTree::find(root.path(), "0::/unit/laird-agent\n", "n1");
  TEST_ASSERT_NOT_NULL(tree.get());
  TEST_ASSERT_TRUE(fs::is_directory(root.path() + "/unit/laird-n1"));
  TEST_ASSERT_FALSE(fs::exists(root.path() + "/unit/laird-agent/laird-agent"));
  TEST_ASSERT_FALSE(fs::exists(root.path() + "/unit/laird-agent/laird-n1"));
}

TEST(without_any_controller_there_is_no_tree) {
  const laird::test::TemporaryFolder root;
  TEST_ASSERT_NULL(CgroupTree::find(root.path(), "", "n1").get());
}
