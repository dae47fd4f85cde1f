#include "agent/selftest/own_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/fd.hpp"
#include "power/readers/reader.hpp"

namespace laird::agent::selftest {

Result<std::string> ask_in_own_process(const std::function<std::string()>& ask,
                                       DurationNs patience) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string words = ask();
    const ssize_t ignored = ::write(write_end.get(), words.data(), words.size());
    ::_exit(ignored < 0 ? 1 : 0);
  }
  write_end.reset();
  std::string out;
  const TimeNs until = power::monotonic_now() + patience;
  bool in_time = true;
  for (char block[512];;) {
    const DurationNs left = until - power::monotonic_now();
    pollfd entry{read_end.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left / kMillisecond + 1)) == 0) {
      in_time = false;
      break;
    }
    const ssize_t n = ::read(read_end.get(), block, sizeof block);
    if (n <= 0) break;
    out.append(block, static_cast<std::size_t>(n));
  }
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!in_time)
    return fail(Code::kUnavailable,
                "the driver did not answer in " + std::to_string(patience / kSecond) + " s");
  if (WIFSIGNALED(status)) {
    return fail(Code::kUnavailable,
                "asking the driver ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (out.starts_with("! ")) return fail(Code::kUnavailable, out.substr(2));
  return out;
}

}  // namespace laird::agent::selftest
