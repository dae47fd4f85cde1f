#include "control/commands/setup/over_ssh.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "control/screen/output.hpp"
#include "os/child_process.hpp"
#include "os/fd.hpp"

namespace laird::control {
namespace {

constexpr std::size_t kAnswerBytesMax = 1 << 20;

bool ended_well(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool is_destination(const std::string& text) {
  return !text.empty() && text.size() <= 255 && text.front() != '-' &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@") ==
             std::string::npos;
}

Status run_visibly(const std::vector<std::string>& argv, bool dry_run) {
  std::string all;
  for (const std::string& word : argv) all += (all.empty() ? "" : " ") + word;
  if (dry_run) {
    print("would run: %s\n", all.c_str());
    return {};
  }
  ChildSpec spec;
  spec.argv = argv;
  spec.input = spec.output = spec.error = ChildSpec::kInherit;
  spec.dies_with_parent = true;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  if (ended_well(*pid)) return {};
  return fail(Code::kUnavailable, all + " failed");
}

Result<std::string> ask_over_ssh(const std::string& at, const std::string& script) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "a pipe for ssh");
  const Fd answer(ends[0]);
  Fd write_end(ends[1]);
  ChildSpec spec;
  spec.argv = {"ssh", "--", at, script};
  spec.input = spec.error = ChildSpec::kInherit;
  spec.output = write_end.get();
  spec.dies_with_parent = true;
  const Result<pid_t> pid = start_child(spec);
  LAIRD_TRY(pid);
  write_end.reset();
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(answer.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (out.size() < kAnswerBytesMax) out.append(buffer, static_cast<std::size_t>(n));
  }
  if (ended_well(*pid)) return out;
  return fail(Code::kUnavailable, "ssh " + at + " failed; does `ssh " + at +
                                      " sudo -n true` work from here? Its user must be one who "
                                      "may use sudo without a password");
}

}  // namespace laird::control
