#include "cell/guards/processes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/harness/unit.hpp"

using namespace laird::cell;

TEST(a_grandchild_is_found_below_its_ancestor) {
  int ends[2];
  TEST_ASSERT_EQUAL_INT(0, ::pipe(ends));
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::pause();
    [[maybe_unused]] const ssize_t n = ::write(ends[1], &grandchild, sizeof grandchild);
    ::pause();
  }
  pid_t grandchild = 0;
  TEST_ASSERT_EQUAL_INT(sizeof grandchild, ::read(ends[0], &grandchild, sizeof grandchild));
  const std::vector<pid_t> found = descendants_of(::getpid());
  TEST_ASSERT_TRUE(std::find(found.begin(), found.end(), child) != found.end());
  TEST_ASSERT_TRUE(std::find(found.begin(), found.end(), grandchild) != found.end());
  TEST_ASSERT_EQUAL_UINT64(1, descendants_of(child).size());
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(a_user_has_at_least_the_threads_of_this_process) {
  TEST_ASSERT_TRUE(threads_of(::getuid()) >= 1);
}
