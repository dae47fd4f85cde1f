#include "os/process_end.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

int told = -1;

void tell_of_the_end() { static_cast<void>(::write(told, "atexit", 6)); }

// What a child writes into the pipe that ends by `end`, and its exit code.
template <typename End>
std::string said_at_the_end(End end, int& code) {
  std::array<int, 2> pipe{};
  TEST_ASSERT_EQUAL_INT(0, ::pipe2(pipe.data(), O_CLOEXEC));
  const pid_t child = ::fork();
  if (child == 0) {
    told = pipe[1];
    std::atexit(tell_of_the_end);
    std::FILE* buffered = ::fdopen(pipe[1], "w");
    std::fputs("buffered ", buffered);
    end();
  }
  ::close(pipe[1]);
  std::string out;
  std::array<char, 64> bytes{};
  ssize_t n = 0;
  while ((n = ::read(pipe[0], bytes.data(), bytes.size())) > 0) {
    out.append(bytes.data(), static_cast<std::size_t>(n));
  }
  ::close(pipe[0]);
  int status = 0;
  TEST_ASSERT_EQUAL_INT(child, ::waitpid(child, &status, 0));
  code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

}  // namespace

TEST(what_was_printed_is_written_and_no_handler_runs) {
  int code = 0;
  TEST_ASSERT_EQUAL_STRING("buffered ", said_at_the_end([] { end_process(7); }, code).c_str());
  TEST_ASSERT_EQUAL_INT(7, code);
}
