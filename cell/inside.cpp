#include "cell/inside.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "cell/container.hpp"
#include "cell/folder.hpp"
#include "cell/guards/landlock.hpp"
#include "cell/guards/mounts.hpp"
#include "cell/guards/privileges.hpp"
#include "cell/guards/processes.hpp"
#include "cell/guards/seccomp.hpp"
#include "cell/message.hpp"
#include "cell/relay.hpp"

namespace laird::cell {
namespace {

constexpr int kMeasureEveryMs = 2'000;
constexpr int kLowestSource = 9;

template <class T>
void tell(int warden, char letter, T message) {
  Bytes out = encoded(std::move(message));
  out.insert(out.begin(), static_cast<std::uint8_t>(letter));
  static_cast<void>(send_bytes(warden, out));
}

void set_limit(__rlimit_resource_t resource, std::uint64_t most) {
  rlimit now{};
  if (most == 0 || ::getrlimit(resource, &now) != 0) return;
  const rlim_t limit = std::min<rlim_t>(most, now.rlim_max);
  const rlimit wanted{limit, limit};
  ::setrlimit(resource, &wanted);
}

// Processes are counted for each user; in a user namespace of its own, since Linux 5.14, for the
// cell alone. Before, whatever the user runs already is added.
bool limit_processes(const Surrounding& here) {
  const std::uint64_t most = here.spec.limits.processes;
  const uid_t uid = here.person ? here.person->uid : ::getuid();
  if (most == 0 || (uid == 0 && !here.own_users)) return false;
  set_limit(RLIMIT_NPROC, counts_apart(here.own_users) ? most : threads_of(uid) + most);
  return true;
}

bool join_groups(const std::vector<int>& groups) {
  bool all = !groups.empty();
  for (const int procs : groups) all = ::write(procs, "0", 1) == 1 && all;
  return all;
}

void bring_loopback_up() {
  const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) return;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  ::ioctl(any.get(), SIOCSIFFLAGS, &request);
}

// Whether the trainer's user comes to the folder by its path.
bool can_reach(const std::string& folder, const Person& person) {
  const int uid = ::setfsuid(person.uid);
  const int gid = ::setfsgid(person.gid);
  const Fd at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::setfsgid(static_cast<gid_t>(gid));
  ::setfsuid(static_cast<uid_t>(uid));
  return static_cast<bool>(at);
}

OpenPaths open_paths(const Surrounding& here) {
  OpenPaths out;
  const std::vector<std::string> hidden =
      here.own_files ? std::vector<std::string>() : outermost(here.spec.hidden);
  out.readable = all_but(hidden, entries_of);
  out.devices = {"/dev", "/proc"};
  out.writable = {here.spec.folder(), "/dev/shm"};
  if (here.own_files && here.spec.private_tmp) {
    out.writable.insert(out.writable.end(), {"/tmp", "/var/tmp"});
  }
  return out;
}

void mark_close_on_exec(int first) {
  constexpr long kCloseRange = 436;
  if (::syscall(kCloseRange, first, ~0U, 1U << 2) == 0) return;
  for (int fd = first; fd < 1024; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Status place_descriptors(const Surrounding& here) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  // podman hands on three; a trainer in a container connects to its agent.
  const std::size_t count = here.spec.is_container() ? 3 : 4;
  const int input = here.spec.socket_is_input ? here.socket : null;
  const std::array<int, 4> sources = {input, here.output, here.output, here.socket};
  std::array<int, 4> lifted{};
  for (std::size_t i = 0; i < count; ++i) {
    lifted[i] = ::fcntl(sources[i], F_DUPFD_CLOEXEC, kLowestSource);
    if (lifted[i] < 0) return fail_errno(errno, "duplicate a descriptor");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (::dup2(lifted[i], static_cast<int>(i)) < 0) return fail_errno(errno, "place a descriptor");
  }
  mark_close_on_exec(static_cast<int>(count));
  return {};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

void reset_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
}

// From here on the process has what the trainer has, and no more.
Status confine(const Surrounding& here, Entered& entered) {
  Guards guards;
  const bool is_probe = here.spec.argv.empty();
  if (here.own_processes) guards.add(Guard::kProcesses);
  if (here.own_files) guards.add(Guard::kFiles);
  if (here.own_network) guards.add(Guard::kNetwork);
  entered.in_group = join_groups(here.groups);
  const Limits& limits = here.spec.limits;
  set_limit(RLIMIT_NOFILE, limits.open_files);
  set_limit(RLIMIT_FSIZE, limits.folder_bytes);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (!entered.in_group) set_limit(RLIMIT_DATA, limits.memory_bytes);
  if (limit_processes(here)) guards.add(Guard::kProcessLimit);
  const bool reaches =
      is_probe || !here.person || here.own_files || can_reach(here.spec.folder(), *here.person);
  if (!is_probe && ::chdir(here.spec.folder().c_str()) != 0) {
    return fail_errno(errno, "cannot go to " + here.spec.folder());
  }
  limit_capabilities();
  if (here.person && reaches) {
    LAIRD_TRY(become(*here.person));
    guards.add(Guard::kUser);
  }
  drop_capabilities();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // taken back by a change of user, so after it
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "no_new_privs");
  confine_paths(open_paths(here), guards);
  refuse_system_calls({!here.own_network && !here.spec.network, !here.own_processes}, guards);
  entered.guards = guards.bits();
  return {};
}

// podman keeps its rights, which it needs to make the container; what runs in that has none. All of
// it is in the task's control group: podman makes no other.
Status confine_engine(const Surrounding& here, Entered& entered) {
  Guards guards;
  for (const Guard guard : {Guard::kProcesses, Guard::kFiles, Guard::kSystemCalls})
    guards.add(guard);
  if (here.person) guards.add(Guard::kUser);
  if (!here.spec.network) guards.add(Guard::kNetwork);
  entered.in_group = join_groups(here.groups);
  if (::chdir("/") != 0) return fail_errno(errno, "cannot go to /");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  entered.guards = guards.bits();
  return {};
}

[[noreturn]] void become_trainer(const Surrounding& here, int runs) {
  ::setsid();
  Entered entered;
  Status ok = here.spec.is_container() ? confine_engine(here, entered) : confine(here, entered);
  if (!ok) {
    entered.problem = ok.error().context;
  } else if (here.spec.argv.empty()) {
    tell(here.warden, kEntered, entered);
    ::_exit(0);
  }
  if (ok) {
    tell(here.warden, kEntered, entered);
    const int warden = ::fcntl(here.warden, F_DUPFD_CLOEXEC, kLowestSource);
    static_cast<void>(::fcntl(runs, F_DUPFD_CLOEXEC, kLowestSource));  // lasts until exec
    ok = place_descriptors(here);
    const std::vector<char*> argv = pointers(here.spec.argv);
    const std::vector<char*> environment = pointers(here.spec.environment);
    reset_signals();
    if (ok) ::execve(argv[0], argv.data(), environment.data());
    const std::string why = std::strerror(errno);
    entered.problem = ok ? "cannot start " + here.spec.argv[0] + ": " + why : ok.error().context;
    tell(warden, kEntered, entered);
    ::_exit(127);
  }
  tell(here.warden, kEntered, entered);
  ::_exit(127);
}

// Why the trainer may not go on; empty when it may.
std::string too_much(const Surrounding& here) {
  const std::uint64_t most = here.spec.limits.folder_bytes;
  if (most == 0 || here.spec.argv.empty()) return "";
  Used used = folder_used(here.spec.folder());
  if (here.own_processes) used.bytes += nameless_used("/proc");
  if (used.all_seen && used.bytes <= most) return "";
  return (used.all_seen ? "its folder holds " + std::to_string(used.bytes / 1'000'000) + " MB"
                        : std::string("its folder holds more files than can be counted")) +
         ", and cell.disk allows " + std::to_string(most / 1'000'000) + " MB";
}

// podman tells a trainer's signal as 128 and the signal.
int status_in_container(int status) {
  constexpr int kSignalled = 128;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return code > kSignalled && code <= kSignalled + SIGRTMAX ? code - kSignalled : status;
}

class FirstProcess {
 public:
  FirstProcess(const Surrounding& here, pid_t trainer, Fd runs, Relay relay)
      : here_(here), trainer_(trainer), runs_(std::move(runs)), relay_(std::move(relay)) {}

  [[noreturn]] void live() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    const Fd children(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    while (!is_gone_) {
      const std::array<pollfd, Relay::kWaits> lines = relay_.waits();
      std::array<pollfd, 3 + Relay::kWaits> wait = {
          pollfd{here_.warden, POLLIN, 0}, pollfd{children.get(), POLLIN, 0},
          pollfd{runs_.get(), POLLIN, 0}, lines[0], lines[1]};
      const int ready = ::poll(wait.data(), wait.size(), until_measure_ms());
      if (ready < 0 && errno != EINTR) break;
      if (wait[1].revents != 0) drain(children.get());
      collect(WNOHANG);
      if (wait[0].revents != 0) hear();
      if (wait[2].revents != 0) told_to_run();
      if (wait[3].revents != 0 || wait[4].revents != 0) relay_.carry();
      if (ready >= 0 && until_measure_ms() == 0) measure();
    }
    relay_.finish();
    end_all();
    told_to_run();
    tell(here_.warden, kLeft, left_);
    ::_exit(0);
  }

 private:
  static void drain(int signals) {
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) > 0) {
    }
  }

  void collect(int flags) {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, flags);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return;
      if (pid != trainer_) continue;
      is_gone_ = true;
      left_.status = here_.spec.is_container() ? status_in_container(status) : status;
    }
  }

  void hear() {
    const Result<Received> got = receive(here_.warden);
    if (!got && got.error().code == Code::kUnavailable) return;
    if (!got || got->ended) {
      is_gone_ = true;
      return;
    }
    if (const auto order = decoded<Order>(got->bytes)) signal_all(order->signal);
  }

  void told_to_run() {
    if (!runs_) return;
    runs_.reset();
    static_cast<void>(send_bytes(here_.warden, Bytes{static_cast<std::uint8_t>(kRuns)}));
  }

  // A trainer that talks without end does not put the look at its folder off.
  [[nodiscard]] int until_measure_ms() const {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t passed_ms =
        (now.tv_sec - measured_.tv_sec) * 1000 + (now.tv_nsec - measured_.tv_nsec) / 1'000'000;
    return static_cast<int>(
        std::clamp<std::int64_t>(kMeasureEveryMs - passed_ms, 0, kMeasureEveryMs));
  }

  void measure() {
    ::clock_gettime(CLOCK_MONOTONIC, &measured_);
    if (!left_.why.empty()) return;
    left_.why = too_much(here_);
    if (!left_.why.empty()) signal_all(SIGKILL);
  }

  void signal_all(int signal) const {
    if (here_.own_processes) {
      ::kill(-1, signal);  // all of the namespace but this one
      return;
    }
    ::kill(-trainer_, signal);
    for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, signal);
  }

  // Whoever is born while the others die is found in the next round.
  void end_all() {
    constexpr int kRoundsMax = 1000;
    for (int round = 0; round < kRoundsMax; ++round) {
      if (here_.own_processes) {
        ::kill(-1, SIGKILL);
        if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
        continue;
      }
      const std::vector<pid_t> left = descendants_of(::getpid());
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      collect(WNOHANG);
      if (left.empty()) return;
      ::usleep(2'000);
    }
  }

  const Surrounding& here_;
  const pid_t trainer_;
  Fd runs_;  // closed by the trainer's process when it becomes the program
  Relay relay_;
  timespec measured_{};
  bool is_gone_ = false;
  Left left_;
};

}  // namespace

void live_inside(const Surrounding& asked) {
  Surrounding here = asked;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  if (here.own_network) bring_loopback_up();
  if (here.spec.is_container()) {
    if (const Status made = make_engine_view(place_of(here.spec) + "/run", run_root_of(here.spec));
        !made) {
      tell(here.warden, kEntered, Entered{0, false, made.error().context});
      ::_exit(1);
    }
  } else if (here.own_files) {
    const bool has_folder = !here.spec.argv.empty();
    const Status made =
        make_view({has_folder ? here.spec.folder() : "", here.device, here.inode, here.spec.hidden,
                   here.spec.private_tmp, here.own_processes, here.spec.limits.shared_bytes});
    if (!made) {
      tell(here.warden, kNoView, Entered{0, false, made.error().context});
      ::_exit(1);
    }
  }
  if (const std::string why = too_much(here); !why.empty()) {
    tell(here.warden, kEntered, Entered{0, false, why});
    ::_exit(1);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ::_exit(1);
  const pid_t trainer = ::fork();
  if (trainer < 0) ::_exit(1);
  if (trainer == 0) become_trainer(here, ends[1]);
  ::close(ends[1]);
  Relay relay;
  if (here.spec.is_container()) {
    relay = Relay(Fd(here.listener), Fd(here.socket));
  } else if (here.socket >= 0) {
    ::close(here.socket);
  }
  // Only the trainer's process keeps these.
  if (here.output >= 0) ::close(here.output);
  for (const int fd : here.groups) ::close(fd);
  if (::chdir("/") != 0) ::_exit(1);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  FirstProcess(here, trainer, Fd(ends[0]), std::move(relay)).live();
}

}  // namespace laird::cell
