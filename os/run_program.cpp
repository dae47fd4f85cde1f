#include "os/run_program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/fd.hpp"

namespace laird {
namespace {

constexpr std::size_t kPartMax = 256 * 1024;
constexpr DurationNs kPauseMax = 20 * kMillisecond;

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

// True when it has ended by itself; it is left to be reaped. Asked again and again, as a kernel
// before 5.3, which JetPack 4 has, gives nothing to poll for.
bool wait_until(pid_t pid, TimeNs until, SystemClock& clock) {
  for (DurationNs pause = kMillisecond;; pause = std::min(2 * pause, kPauseMax)) {
    siginfo_t info{};
    const int asked = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (asked == 0 && info.si_pid == pid) return true;
    if (clock.boot_ns() >= until) return false;
    const timespec rest{0, static_cast<long>(pause)};
    ::nanosleep(&rest, nullptr);
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
  // Under an agent this process leads a session that is stopped and let go as a whole: then the
  // program stays in it.
  spec.own_session = ::getsid(0) != ::getpid();
  spec.dies_with_parent = true;
  SystemClock clock;
  const TimeNs until = clock.boot_ns() + most;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  Ended ended;
  ended.timed_out = !wait_until(*pid, until, clock);
  if (ended.timed_out) ::kill(spec.own_session ? -*pid : *pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  // What it may have started and left.
  if (spec.own_session) ::kill(-*pid, SIGKILL);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.output = read_log(out.get());
  return ended;
}

}  // namespace laird
