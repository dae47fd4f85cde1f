#include "os/run_program.hpp"

#include <csignal>

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(output_and_exit_code_come_back) {
  const test::TemporaryFolder folder;
  const auto ended = run_program({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"},
                                 folder.path() + "/log", 10 * kSecond);
  TEST_ASSERT_TRUE(ended.has_value());
  TEST_ASSERT_EQUAL_INT(3, ended->code);
  TEST_ASSERT_EQUAL_STRING("out\nerr\n", ended->output.c_str());
}

TEST(a_signal_is_told_apart_from_an_exit) {
  const test::TemporaryFolder folder;
  const auto ended =
      run_program({"/bin/sh", "-c", "kill -9 $$"}, folder.path() + "/log", 10 * kSecond);
  TEST_ASSERT_TRUE(ended.has_value() && ended->signal == SIGKILL && !ended->timed_out);
}

TEST(what_takes_too_long_is_ended_with_all_it_started) {
  const test::TemporaryFolder folder;
  const auto ended = run_program({"/bin/sh", "-c", "sleep 1000 & sleep 1000"},
                                 folder.path() + "/log", 50 * kMillisecond);
  TEST_ASSERT_TRUE(ended.has_value() && ended->timed_out);
}

TEST(a_long_output_is_kept_by_its_ends) {
  const test::TemporaryFolder folder;
  const auto ended = run_program(
      {"/bin/sh", "-c", "echo first; head -c 2000000 /dev/zero | tr '\\0' x; echo; echo last"},
      folder.path() + "/log", 20 * kSecond);
  TEST_ASSERT_TRUE(ended.has_value());
  TEST_ASSERT_TRUE(ended->output.starts_with("first\n") && ended->output.ends_with("last\n"));
  TEST_ASSERT_TRUE(ended->output.size() < 600'000);
}

TEST(a_program_that_is_not_there_is_an_error) {
  const test::TemporaryFolder folder;
  TEST_ASSERT_FALSE(run_program({"/no/such/program"}, folder.path() + "/log", kSecond).has_value());
}
