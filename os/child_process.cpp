#include "os/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "os/fd.hpp"

namespace laird {
namespace {

// The child's end of every descriptor lies above those it will have, or one would overwrite another
// on its way to its place.
constexpr int kLowestSource = 9;

// All that the child needs between fork and exec, where it may only make async-signal-safe calls.
struct ChildSetup {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* folder;         // null: stays
  std::array<int, 3> source;  // for 0 to 2; kInherit: leave it
  int status;                 // carries errno back if exec fails
  pid_t parent;
  bool own_session;
  bool dies_with_parent;
};

[[noreturn]] void fail_in_child(int status_fd) {
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(status_fd, &error, sizeof error);
  ::_exit(127);
}

void mark_close_on_exec(int first) {
  // By number: glibc has a function for it since 2.34, the kernel's headers its name since 5.9.
  constexpr long kCloseRange = 436;
  constexpr unsigned kMarkOnly = 1U << 2;
  if (::syscall(kCloseRange, static_cast<unsigned>(first), ~0U, kMarkOnly) == 0) return;
  // Kernels before 5.11, which older boards run.
  constexpr int kOpenMax = 1024;
  for (int fd = first; fd < kOpenMax; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void reset_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
}

[[noreturn]] void run_child(const ChildSetup& setup) {
  if (setup.own_session) ::setsid();
  if (setup.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != setup.parent) ::_exit(127);
  }
  reset_signals();
  if (setup.folder != nullptr && ::chdir(setup.folder) != 0) fail_in_child(setup.status);
  int kept = 0;
  for (const int source : setup.source) {
    if (source >= 0 && ::dup2(source, kept) < 0) fail_in_child(setup.status);
    ++kept;
  }
  // Libraries of ours open descriptors that would pass through exec; the program gets its own and
  // nothing else. Marked rather than closed: the status pipe must last until exec.
  mark_close_on_exec(kept);
  ::execve(setup.program, setup.argv, setup.environment);
  fail_in_child(setup.status);
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

// Another descriptor of the same file, above those the child will have.
Result<Fd> lifted(int fd) {
  Fd out(::fcntl(fd, F_DUPFD_CLOEXEC, kLowestSource));
  if (!out) return fail_errno(errno, "duplicate a descriptor");
  return out;
}

// As execvp looks a program up, but here and not in the child, where it would have to allocate.
Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return fail(Code::kInvalid, "no program to start");
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "/usr/bin:/bin" : path;
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const std::string candidate = std::string(left.substr(0, end)) + "/" + name;
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
    if (candidate.starts_with('/') && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return fail(Code::kNotFound, "cannot start " + name + ": it is in no folder of PATH");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<pid_t> start_child(const ChildSpec& spec) {
  const Result<std::string> program = find_program(spec.argv.empty() ? "" : spec.argv.front());
  LAIRD_TRY(program);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno(errno, "open /dev/null");
  ChildSetup setup{};
  std::array<Fd, 3> sources;
  const std::array<int, 3> wanted = {spec.input, spec.output, spec.error};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    setup.source[i] = wanted[i];
    const bool is_null = wanted[i] == ChildSpec::kNull;
    if (wanted[i] < 0 && !is_null) continue;
    Result<Fd> fd = lifted(is_null ? null.get() : wanted[i]);
    LAIRD_TRY(fd);
    sources[i] = std::move(*fd);
    setup.source[i] = sources[i].get();
  }
  auto status = make_pipe();
  LAIRD_TRY(status);
  Result<Fd> child_status = lifted(status->second.get());
  LAIRD_TRY(child_status);
  const std::vector<char*> argv = pointers(spec.argv);
  const std::vector<std::string> given = spec.environment.value_or(std::vector<std::string>());
  const std::vector<char*> own = pointers(given);
  setup.program = program->c_str();
  setup.argv = argv.data();
  setup.environment = spec.environment ? own.data() : environ;
  setup.folder = spec.folder.empty() ? nullptr : spec.folder.c_str();
  setup.status = child_status->get();
  setup.parent = ::getpid();
  setup.own_session = spec.own_session;
  setup.dies_with_parent = spec.dies_with_parent;
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid == 0) run_child(setup);

  // Closed on exec: end of file says that the program runs, an errno that it does not.
  status->second.reset();
  child_status->reset();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(status->first.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof error)) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return fail_errno(error, "cannot start " + spec.argv.front());
}

std::string program_beside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const std::filesystem::path& folder :
       {self.parent_path(), std::filesystem::path("/usr/libexec/laird")}) {
    const std::string candidate = (folder / name).string();
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace laird
