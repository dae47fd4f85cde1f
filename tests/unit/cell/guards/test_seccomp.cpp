#include "cell/guards/seccomp.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/harness/unit.hpp"

using namespace laird::cell;

namespace {

// The bits of what went wrong in a process that refuses these calls; 0: nothing.
template <class Body>
int in_filtered(const Refused& refused, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    Guards guards;
    refuse_system_calls(refused, guards);
    ::_exit(guards.has(Guard::kSystemCalls) ? body(guards) : 77);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    TEST_IGNORE_MESSAGE("this system has no filter for system calls");
  }
  return status;
}

}  // namespace

TEST(what_no_trainer_needs_is_refused_and_the_rest_goes_on) {
  TEST_ASSERT_EQUAL_INT(
      0, in_filtered({}, [](Guards) {
        int wrong = 0;
        if (::unshare(CLONE_NEWUSER) == 0 || errno != EPERM) wrong |= 1;
        if (::mount("none", "/", nullptr, MS_REMOUNT, nullptr) == 0 || errno != EPERM) wrong |= 2;
        if (::socket(AF_UNIX, SOCK_STREAM, 0) < 0) wrong |= 4;
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        if (child < 0 || ::waitpid(child, nullptr, 0) != child) wrong |= 8;
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) wrong |= 16;
        return wrong;
      }));
}

TEST(sockets_and_tracing_are_refused_where_nothing_else_holds_them) {
  TEST_ASSERT_EQUAL_INT(0, in_filtered({true, true}, [](Guards guards) {
                          int wrong = guards.has(Guard::kNoSockets) ? 0 : 1;
                          int pair[2];
                          if (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EACCES) wrong |= 2;
                          if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EACCES) wrong |= 4;
                          if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) wrong |= 8;
                          if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 || errno != EPERM)
                            wrong |= 16;
                          return wrong;
                        }));
}
