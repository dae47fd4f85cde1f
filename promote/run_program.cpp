#include "promote/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/fd.hpp"

namespace laird::promote {
namespace {

constexpr std::size_t kPartMax = 256 * 1024;

std::string part_of(int fd, off_t at, std::size_t most) {
  std::string out(most, '\0');
  const ssize_t n = ::pread(fd, out.data(), most, at);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

std::string read_log(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return {};
  const auto size = static_cast<std::size_t>(std::max<off_t>(found.st_size, 0));
  if (size <= 2 * kPartMax) return part_of(fd, 0, size);
  return part_of(fd, 0, kPartMax) + "\n...\n" +
         part_of(fd, static_cast<off_t>(size - kPartMax), kPartMax);
}

// True when it has ended by itself.
bool wait_until(int pidfd, TimeNs until, SystemClock& clock) {
  for (;;) {
    pollfd entry{pidfd, POLLIN, 0};
    const DurationNs left = std::clamp<DurationNs>(until - clock.boot_ns(), 0, kHour);
    const int ready = ::poll(&entry, 1, static_cast<int>(left / kMillisecond + 1));
    if (ready > 0) return true;
    if (clock.boot_ns() >= until) return false;
  }
}

}  // namespace

Result<Ended> run_program(const std::vector<std::string>& argv, const std::string& log,
                          DurationNs most) {
  const Fd out(::open(log.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out) return fail_errno(errno, "write " + log);
  ChildSpec spec;
  spec.argv = argv;
  spec.output = out.get();
  spec.error = out.get();
  spec.own_session = true;
  spec.dies_with_parent = true;
  SystemClock clock;
  const TimeNs until = clock.boot_ns() + most;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  Ended ended;
  if (!pidfd || !wait_until(pidfd.get(), until, clock)) {
    ended.timed_out = static_cast<bool>(pidfd);
    ::kill(-*pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  // What it may have started and left.
  ::kill(-*pid, SIGKILL);
  if (!pidfd) return fail(Code::kUnavailable, "this kernel cannot wait for " + argv[0]);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.output = read_log(out.get());
  return ended;
}

}  // namespace laird::promote
