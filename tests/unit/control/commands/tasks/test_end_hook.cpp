#include "control/commands/tasks/end_hook.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

EventView end_of(const std::string& task) {
  EventView out;
  out.board = "n-1";
  out.event = json::Value::object().set("task", task).set("state", "succeeded");
  return out;
}

std::string program_in(const std::string& folder, const std::string& text) {
  std::string path = folder + "/tell";
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// What is said while `work` is done.
template <class Work>
std::string said_in(const std::string& folder, Work&& work) {
  const std::string path = folder + "/said";
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  TEST_ASSERT_NOT_NULL(std::freopen(path.c_str(), "w", stderr));
  work();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST(each_end_is_told_once_in_order) {
  const test::TemporaryFolder folder;
  const std::string told = folder.path() + "/told";
  EndHook hook(program_in(folder.path(), "echo \"$LAIRD_NODE $LAIRD_TASK\" >> " + told + "\n"),
               kMinute);
  for (const char* task : {"a", "b", "c"}) hook.take(end_of(task));
  hook.finish();
  std::ifstream in(told);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  TEST_ASSERT_EQUAL_STRING("n-1 a\nn-1 b\nn-1 c\n", text.c_str());
}

TEST(ends_beyond_the_limit_are_dropped_and_named) {
  const test::TemporaryFolder folder;
  EndHook hook(program_in(folder.path(), "exit 0\n"), kMinute);
  const std::string said = said_in(folder.path(), [&] {
    for (std::size_t i = 0; i < kEndsWaitingMax + 2; ++i)
      hook.take(end_of("t" + std::to_string(i)));
  });
  TEST_ASSERT_EQUAL_INT64(2, std::count(said.begin(), said.end(), '\n'));
  const std::string last = "is not told of t" + std::to_string(kEndsWaitingMax + 1) + " on n-1";
  TEST_ASSERT_TRUE_MESSAGE(said.find(last) != std::string::npos, said.c_str());
  TEST_ASSERT_TRUE(said.find(" t0 ") == std::string::npos);
}

TEST(a_program_is_named_by_its_path) {
  const test::TemporaryFolder folder;
  const std::string program = program_in(folder.path(), "exit 0\n");
  TEST_ASSERT_TRUE(EndHook::check_program(program).has_value());
  // A name would be looked for in PATH, whatever lies in this folder.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const Status by_name = EndHook::check_program("tell");
  const bool by_path = EndHook::check_program("./tell").has_value();
  std::filesystem::current_path(before);
  TEST_ASSERT_TRUE(by_path);
  TEST_ASSERT_FALSE(by_name.has_value());
  TEST_ASSERT_TRUE(by_name.error().context.find("'tell'") != std::string::npos);
  TEST_ASSERT_TRUE(by_name.error().context.find("./tell") != std::string::npos);
  TEST_ASSERT_FALSE(EndHook::check_program(folder.path()).has_value());
  TEST_ASSERT_FALSE(EndHook::check_program(program + " --loud").has_value());
  std::filesystem::permissions(program, std::filesystem::perms::owner_read);
  // Root may run nothing that nobody may.
  TEST_ASSERT_FALSE(EndHook::check_program(program).has_value());
}
