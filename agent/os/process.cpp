#include "agent/os/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace laird::agent {
namespace {

constexpr int kChildSocketFd = 3;

// Room for CUDA and Python runtimes' own mappings on top of what the task asked for.
constexpr std::int64_t kMemoryHeadroomBytes = 64 * 1000 * 1000;

// Runs in the child between fork and exec: only async-signal-safe calls.
struct ChildSetup {
  int socket;
  int output;
  int go;      // a byte comes once the child is in its group
  int status;  // carries errno back if exec fails
  const char* folder;
  char* const* argv;
  char* const* envp;
  pid_t parent;
  std::int64_t memory_bytes;
};

[[noreturn]] void fail_in_child(int status_fd) {
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(status_fd, &error, sizeof error);
  ::_exit(127);
}

void mark_close_on_exec(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // Kernels before 5.11, which older boards run.
  constexpr int kOpenMax = 1024;
  for (int fd = first; fd < kOpenMax; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void run_child(const ChildSetup& setup) {
  ::setsid();
  // If the agent dies, this process must not outlive it and train on beside its successor.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != setup.parent) ::_exit(127);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
  char byte = 0;
  while (::read(setup.go, &byte, 1) < 0 && errno == EINTR) {
  }
  if (setup.memory_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(setup.memory_bytes + kMemoryHeadroomBytes),
                       static_cast<rlim_t>(setup.memory_bytes + kMemoryHeadroomBytes)};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (::chdir(setup.folder) != 0) fail_in_child(setup.status);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(setup.output, 1) < 0 ||
      ::dup2(setup.output, 2) < 0 || ::dup2(setup.socket, kChildSocketFd) < 0) {
    fail_in_child(setup.status);
  }
  // Libraries of the agent open descriptors that would pass through exec; the trainer gets its own
  // four and nothing else. Marked rather than closed: the status pipe must last until exec.
  mark_close_on_exec(kChildSocketFd + 1);
  ::execve(setup.argv[0], setup.argv, setup.envp);
  fail_in_child(setup.status);
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

// dup2 onto fd 3 needs sources above it, or one would overwrite another.
Fd above_standard(Fd fd) {
  if (fd.get() > 8) return fd;
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 9));
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Result<Process> start_process(const ProcessSpec& spec, Cgroup* group) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return fail_errno(errno, "socketpair");
  }
  Fd ours(pair[0]);
  Fd theirs = above_standard(Fd(pair[1]));
  auto output = make_pipe();
  if (!output) return tl::make_unexpected(output.error());
  auto go = make_pipe();
  if (!go) return tl::make_unexpected(go.error());
  auto status = make_pipe();
  if (!status) return tl::make_unexpected(status.error());
  const Fd child_output = above_standard(std::move(output->second));
  const Fd child_go = above_standard(std::move(go->first));
  const Fd child_status = above_standard(std::move(status->second));

  std::vector<std::string> env_text;
  for (const auto& [key, value] : spec.env) env_text.push_back(key + "=" + value);
  env_text.push_back("LAIRD_FD=" + std::to_string(kChildSocketFd));
  std::vector<char*> argv;
  std::vector<char*> envp;
  argv.reserve(spec.argv.size() + 1);
  envp.reserve(env_text.size() + 1);
  for (const std::string& arg : spec.argv) argv.push_back(const_cast<char*>(arg.c_str()));
  for (const std::string& item : env_text) envp.push_back(const_cast<char*>(item.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const ChildSetup setup{
      theirs.get(),       child_output.get(),  child_go.get(),
      child_status.get(), spec.folder.c_str(), argv.data(),
      envp.data(),        ::getpid(),          group == nullptr ? spec.memory_bytes : 0};
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid == 0) run_child(setup);

  const bool in_group = group != nullptr && group->add(pid).has_value();
  [[maybe_unused]] const ssize_t sent = ::write(go->second.get(), "", 1);
  theirs.reset();
  // Closed on exec: end of file says that the program runs, an errno that it does not.
  const_cast<Fd&>(child_status).reset();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(status->first.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
    return fail_errno(error, "cannot start " + spec.argv[0]);
  }
  set_nonblocking(ours.get());
  set_nonblocking(output->first.get());
  return Process{pid, std::move(ours), std::move(output->first), in_group};
}

void SystemProcesses::signal_group(int pid, int signal) { ::kill(-pid, signal); }

bool SystemProcesses::has_ended(int pid) {
  // This child alone: waiting for "any" would steal children of other parts.
  siginfo_t info{};
  const int seen = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return seen == 0 && info.si_pid == pid;
}

int SystemProcesses::collect(int pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace laird::agent
