#include "os/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/fd.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

struct Said {
  std::string text;
  int wait_status = -1;
};

// Runs the script to its end and gives what it printed.
Said said_by(const std::string& script, ChildSpec spec = {}) {
  int ends[2];
  TEST_ASSERT_EQUAL_INT(0, ::pipe2(ends, O_CLOEXEC));
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  spec.argv = {"/bin/sh", "-c", script};
  spec.output = theirs.get();
  const Result<pid_t> pid = start_child(spec);
  TEST_ASSERT_TRUE_MESSAGE(pid.has_value(), pid ? "" : pid.error().context.c_str());
  theirs.reset();
  Said out;
  char block[4096];
  for (ssize_t n = 0; (n = ::read(ours.get(), block, sizeof block)) > 0;) {
    out.text.append(block, static_cast<std::size_t>(n));
  }
  TEST_ASSERT_EQUAL_INT(*pid, ::waitpid(*pid, &out.wait_status, 0));
  return out;
}

}  // namespace

TEST(a_program_that_cannot_be_run_is_an_error_of_the_start) {
  ChildSpec spec;
  for (const char* program : {"/nonexistent/program", "/dev/null", "no-such-program-in-path", ""}) {
    spec.argv = {program};
    const Result<pid_t> pid = start_child(spec);
    TEST_ASSERT_FALSE_MESSAGE(pid.has_value(), program);
    TEST_ASSERT_TRUE_MESSAGE(pid.error().context.find(program) != std::string::npos, program);
  }
  TEST_ASSERT_FALSE(start_child(ChildSpec{}).has_value());
  spec.argv = {"/bin/true"};
  spec.folder = "/nonexistent/folder";
  TEST_ASSERT_FALSE(start_child(spec).has_value());
  TEST_ASSERT_EQUAL_INT(-1, ::waitpid(-1, nullptr, 0));  // nothing is left behind
}

TEST(a_name_is_looked_up_in_the_path) {
  ChildSpec spec;
  spec.argv = {"true"};
  const Result<pid_t> pid = start_child(spec);
  TEST_ASSERT_TRUE(pid.has_value());
  int status = -1;
  ::waitpid(*pid, &status, 0);
  TEST_ASSERT_EQUAL_INT(0, status);
}

TEST(it_has_the_descriptors_it_was_given_and_no_other) {
  // Open ones of ours without close-on-exec, low and high.
  const Fd low(::open("/dev/zero", O_RDONLY));
  const Fd high(::fcntl(low.get(), F_DUPFD, 100));
  const std::string list =
      "n=0; while [ $n -lt 128 ]; do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; n=$((n+1)); done";
  TEST_ASSERT_EQUAL_STRING("0 1 2 ", said_by(list).text.c_str());
  TEST_ASSERT_EQUAL_STRING("/dev/null\n/dev/null\n",
                           said_by("readlink /proc/self/fd/0 /proc/$$/fd/2").text.c_str());
}

TEST(descriptors_that_lie_on_each_others_places_arrive) {
  const Fd saved(::fcntl(0, F_DUPFD_CLOEXEC, 50));
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ::dup2(zero.get(), 0);
  ChildSpec spec;
  spec.error = 0;
  spec.input = ChildSpec::kNull;
  const Said said = said_by("readlink /proc/$$/fd/0 /proc/$$/fd/2", spec);
  ::dup2(saved.get(), 0);
  TEST_ASSERT_EQUAL_STRING("/dev/null\n/dev/zero\n", said.text.c_str());
}

TEST(its_environment_is_ours_or_the_one_given_or_empty) {
  ::setenv("LAIRD_TEST_MARK", "ours", 1);
  TEST_ASSERT_EQUAL_STRING("ours", said_by("printf %s \"$LAIRD_TEST_MARK\"").text.c_str());
  ChildSpec spec;
  spec.environment = {"A=1"};
  TEST_ASSERT_EQUAL_STRING("1 ", said_by("printf '%s ' $A $LAIRD_TEST_MARK", spec).text.c_str());
  // Long enough to lie outside of the strings themselves.
  const std::string value(200, 'v');
  spec.environment = {"B=" + value, "C=" + value};
  TEST_ASSERT_EQUAL_STRING((value + " " + value).c_str(),
                           said_by("printf %s \"$B $C\"", spec).text.c_str());
  spec.environment.emplace();
  TEST_ASSERT_EQUAL_STRING("", said_by("printf %s \"$LAIRD_TEST_MARK$HOME\"", spec).text.c_str());
  ::unsetenv("LAIRD_TEST_MARK");
}

TEST(signals_are_as_a_fresh_process_has_them) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t all, old;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &old);
  const Said said = said_by("grep -E 'Sig(Blk|Ign)' /proc/self/status");
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::signal(SIGPIPE, before);
  TEST_ASSERT_EQUAL_STRING("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
                           said.text.c_str());
}

TEST(it_has_a_session_of_its_own_if_asked) {
  const std::string session = "cut -d' ' -f6 /proc/$$/stat";
  const std::string ours = std::to_string(::getsid(0)) + "\n";
  TEST_ASSERT_EQUAL_STRING(ours.c_str(), said_by(session).text.c_str());
  ChildSpec spec;
  spec.own_session = true;
  TEST_ASSERT_TRUE(said_by(session, spec).text != ours);
}

TEST(it_dies_with_its_parent_when_that_is_asked_for) {
  int ends[2];
  TEST_ASSERT_EQUAL_INT(0, ::pipe2(ends, O_CLOEXEC));
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  // A parent that starts a sleeper which holds the pipe, and goes.
  const pid_t parent = ::fork();
  if (parent == 0) {
    ChildSpec spec;
    spec.argv = {"/bin/sleep", "60"};
    spec.output = theirs.get();
    spec.dies_with_parent = true;
    ::_exit(start_child(spec) ? 0 : 1);
  }
  theirs.reset();
  int status = -1;
  ::waitpid(parent, &status, 0);
  TEST_ASSERT_EQUAL_INT(0, status);
  char byte = 0;
  TEST_ASSERT_EQUAL_INT(0, ::read(ours.get(), &byte, 1));  // the end, not after a minute
}
