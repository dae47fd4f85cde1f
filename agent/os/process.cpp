#include "agent/os/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/child_process.hpp"

namespace laird::agent {
namespace {

// Room for CUDA and Python runtimes' own mappings on top of what the task asked for.
constexpr std::int64_t kMemoryHeadroomBytes = 64 * 1000 * 1000;

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Result<Process> start_process(const ProcessSpec& spec, Cgroup* group) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "socketpair");
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  Fd output(ends[0]);
  const Fd child_output(ends[1]);

  ChildSpec child;
  child.argv = spec.argv;
  child.environment.emplace();
  for (const auto& [key, value] : spec.env) child.environment->push_back(key + "=" + value);
  child.environment->push_back("LAIRD_FD=" + std::to_string(ChildSpec::kExtraFd));
  child.folder = spec.folder;
  child.output = child_output.get();
  child.error = child_output.get();
  child.extra = theirs.get();
  child.own_session = true;
  // If the agent dies, this process must not outlive it and train on beside its successor.
  child.dies_with_parent = true;
  child.no_new_privileges = true;
  if (group == nullptr && spec.memory_bytes > 0) {
    child.limits.push_back(
        {RLIMIT_DATA, static_cast<std::uint64_t>(spec.memory_bytes + kMemoryHeadroomBytes)});
  }
  child.limits.push_back({RLIMIT_CORE, 0});
  bool in_group = false;
  const Result<pid_t> pid = start_child(
      child, [&](pid_t made) { in_group = group != nullptr && group->add(made).has_value(); });
  LAIRD_TRY(pid);
  set_nonblocking(ours.get());
  set_nonblocking(output.get());
  return Process{*pid, std::move(ours), std::move(output), in_group};
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
