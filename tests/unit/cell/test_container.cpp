#include "cell/container.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::cell;
namespace fs = std::filesystem;

namespace {

Spec boxed() {
  Spec out;
  out.argv = {"/usr/bin/podman"};
  out.container.image = "localhost/faces:1";
  out.container.engine = {"/usr/bin/podman"};
  out.container.command = {"python3", "train.py"};
  out.tasks_folder = "/var/lib/laird/tasks";
  out.task = "night";
  out.containers_folder = "/var/lib/laird-cell/0123";
  out.environment = {"A=1"};
  out.limits.memory_bytes = 1000;
  out.limits.open_files = 64;
  return out;
}

ContainerAround around() {
  ContainerAround out;
  out.place = "/var/lib/laird-cell/0123/night";
  out.driver = "overlay";
  out.images = "/var/lib/containers/storage";
  out.user = {70, 71};
  out.data_roots = {"/srv"};
  return out;
}

// Whether these words stand there one after the other.
bool has(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::search(all.begin(), all.end(), some.begin(), some.end()) != all.end();
}

}  // namespace

TEST(what_podman_is_told_shuts_everything_but_the_tasks_own) {
  const std::vector<std::string> words = container_words(boxed(), around());
  TEST_ASSERT_EQUAL_STRING("/usr/bin/podman", words.front().c_str());
  for (const std::vector<std::string>& some : std::vector<std::vector<std::string>>{
           {"--network", "none"},
           {"--cap-drop", "all"},
           {"--security-opt", "no-new-privileges"},
           {"--read-only"},
           {"--pull", "never"},
           {"--cgroups", "disabled"},
           {"--user", "70:71"},
           {"--volume", "/srv:/srv:ro,nosuid,nodev"},
           {"--ulimit", "nofile=64:64"},
           {"--ulimit", "data=1000:1000"},
           {"--env", "A=1"},
           {"--storage-opt", "overlay.imagestore=/var/lib/containers/storage"},
           {"--entrypoint", "python3", "localhost/faces:1", "train.py"}}) {
    TEST_ASSERT_TRUE_MESSAGE(has(words, some), some.back().c_str());
  }
  TEST_ASSERT_FALSE(has(words, {"--device"}));
}

TEST(with_a_control_group_its_memory_is_the_groups) {
  ContainerAround there = around();
  there.has_group = true;
  TEST_ASSERT_FALSE(has(container_words(boxed(), there), {"--ulimit", "data=1000:1000"}));
}

TEST(what_the_image_says_runs_if_the_file_says_nothing) {
  Spec spec = boxed();
  spec.container.command.clear();
  spec.network = true;
  const std::vector<std::string> words = container_words(spec, around());
  TEST_ASSERT_EQUAL_STRING("localhost/faces:1", words.back().c_str());
  TEST_ASSERT_FALSE(has(words, {"--entrypoint"}));
  TEST_ASSERT_TRUE(has(words, {"--network", "host"}));
}

TEST(a_gpu_is_handed_in_by_what_the_board_has) {
  const test::TemporaryFolder root;
  TEST_ASSERT_TRUE(gpu_way(root.path()) == GpuWay::kNone);
  fs::create_directories(root.path() + "/usr/bin");
  std::ofstream(root.path() + "/usr/bin/nvidia-container-runtime") << "#!/bin/sh\n";
  fs::permissions(root.path() + "/usr/bin/nvidia-container-runtime", fs::perms::owner_all);
  TEST_ASSERT_TRUE(gpu_way(root.path()) == GpuWay::kRuntime);
  fs::create_directories(root.path() + "/etc/cdi");
  std::ofstream(root.path() + "/etc/cdi/nvidia.yaml") << "cdiVersion: 0.5.0\n";
  TEST_ASSERT_TRUE(gpu_way(root.path()) == GpuWay::kCdi);
  ContainerAround there = around();
  there.gpu = GpuWay::kCdi;
  TEST_ASSERT_TRUE(has(container_words(boxed(), there), {"--device", "nvidia.com/gpu=all"}));
  there.gpu = GpuWay::kRuntime;
  TEST_ASSERT_TRUE(has(container_words(boxed(), there), {"--env", "NVIDIA_VISIBLE_DEVICES=all"}));
}

TEST(what_earlier_lives_left_goes_and_what_is_in_use_stays) {
  const test::TemporaryFolder folder;
  Spec left = boxed();
  left.containers_folder = folder.path() + "/a/containers";
  Spec used = left;
  used.task = "used";
  {
    const Result<Fd> lock = take_place(left);
    TEST_ASSERT_TRUE(lock.has_value());
    fs::create_directories(place_of(left) + "/store/layer");
    std::ofstream(place_of(left) + "/store/layer/file") << "x";
  }
  const Result<Fd> held = take_place(used);
  TEST_ASSERT_TRUE(held.has_value());
  std::ofstream(place_of(used) + "/file") << "x";
  clear_places(left.containers_folder);
  TEST_ASSERT_FALSE(fs::exists(place_of(left)));
  TEST_ASSERT_TRUE(fs::exists(place_of(used) + "/file"));
}

TEST(a_spec_that_no_allow_list_makes_is_refused) {
  TEST_ASSERT_TRUE(check(boxed()).has_value());
  Spec other = boxed();
  other.argv = {"/bin/sh"};
  TEST_ASSERT_FALSE(check(other).has_value());
  Spec colon = boxed();
  colon.container.data_roots = {"/srv:/etc"};
  TEST_ASSERT_FALSE(check(colon).has_value());
  Spec open = boxed();
  open.namespaces = false;
  TEST_ASSERT_FALSE(check(open).has_value());
}
