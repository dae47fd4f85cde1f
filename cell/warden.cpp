#include "cell/warden.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cell/container.hpp"
#include "cell/guards/privileges.hpp"
#include "cell/guards/processes.hpp"
#include "cell/inside.hpp"

namespace laird::cell {
namespace {

constexpr int kRequestWaitMs = 10'000;
constexpr std::array<int, 4> kOrders = {SIGTERM, SIGSTOP, SIGCONT, SIGKILL};
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr long kCgroup1 = 0x27e0eb;
constexpr long kCgroup2 = 0x63677270;

// One way of making a cell.
struct Way {
  bool processes = false;
  bool files = false;
  bool users = false;
};

// From the strongest to the weakest; the last one always works.
std::vector<Way> ways(const Spec& spec) {
  std::vector<Way> out;
  if (spec.is_container()) return {{true, true, false}};
  if (spec.namespaces) {
    const bool users = !has_capability(CAP_SYS_ADMIN);
    out.push_back({true, true, users});
    out.push_back({true, false, users});
  }
  out.push_back({});
  return out;
}

bool write_map(pid_t pid, const char* name, const std::string& text) {
  std::ofstream out("/proc/" + std::to_string(pid) + "/" + name);
  out << text;
  out.flush();
  return static_cast<bool>(out);
}

// The cell's user is the same as outside: other users' files stay other users'.
bool map_user(pid_t pid) {
  const auto same = [](std::uint64_t id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  static_cast<void>(write_map(pid, "setgroups", "deny"));
  return write_map(pid, "uid_map", same(::geteuid())) &&
         write_map(pid, "gid_map", same(::getegid()));
}

// A process that begins as a copy of this one, as fork gives it, in namespaces of its own.
pid_t clone_into(const Way& way, bool network) {
  unsigned long flags = SIGCHLD;
  if (way.processes) flags |= CLONE_NEWPID | CLONE_NEWIPC;
  if (way.processes && !network) flags |= CLONE_NEWNET;
  if (way.files) flags |= CLONE_NEWNS;
  if (way.users) flags |= CLONE_NEWUSER;
  return static_cast<pid_t>(::syscall(SYS_clone, flags, 0, 0, 0, 0));
}

// The control groups' files, opened here: the kernel asks for the rights of who opened them. Only
// groups of the agent's.
std::vector<Fd> open_groups(const std::vector<Fd>& received, uid_t agent) {
  std::vector<Fd> out;
  for (std::size_t i = kStreams; i < received.size(); ++i) {
    struct statfs system {};
    struct stat info {};
    const int folder = received[i].get();
    if (::fstatfs(folder, &system) != 0 || ::fstat(folder, &info) != 0) continue;
    if ((system.f_type != kCgroup1 && system.f_type != kCgroup2) || info.st_uid != agent) continue;
    Fd procs(::openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (procs) out.push_back(std::move(procs));
  }
  return out;
}

// Of version 1 and of version 2. What is frozen does not end, and who froze it may be gone.
void thaw(const std::vector<Fd>& received) {
  for (std::size_t i = kStreams; i < received.size(); ++i) {
    for (const auto& [name, word] :
         {std::pair("freezer.state", "THAWED"), std::pair("cgroup.freeze", "0")}) {
      const Fd file(::openat(received[i].get(), name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
      if (file) static_cast<void>(!::write(file.get(), word, std::strlen(word)));
    }
  }
}

// The folder of tasks by its real path, where what is above it may be reached through links. It is
// no link itself: what is in the state folder is the agent's to change, what leads there is root's.
Result<std::string> without_links(const std::string& tasks_folder) {
  const std::size_t slash = tasks_folder.rfind('/');
  char* above =
      ::realpath(tasks_folder.substr(0, std::max<std::size_t>(slash, 1)).c_str(), nullptr);
  if (above == nullptr) return fail_errno(errno, "cannot find " + tasks_folder);
  std::string out(above);
  std::free(above);
  return out + tasks_folder.substr(slash);
}

class Warden {
 public:
  explicit Warden(const Keeping& keeping) : keeping_(keeping) {}
  ~Warden() {
    if (place_lock_) clear_place(place_of(spec_));
  }
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;

  [[nodiscard]] int run() {
    if (const Status ok = prepare(); !ok) return refuse(ok.error().context);
    for (const Way& way : ways(spec_)) {
      if (const Status ok = begin(way); !ok) {
        last_problem_ = ok.error().context;
        continue;
      }
      while (!is_over_) turn();
      if (!try_weaker_) return finish();
    }
    return refuse(last_problem_);
  }

 private:
  int refuse(const std::string& why) const {
    Report report;
    report.text = why.substr(0, 900);
    static_cast<void>(send(keeping_.control, report));
    return 1;
  }

  Status prepare() {
    pollfd wait{keeping_.control, POLLIN, 0};
    if (::poll(&wait, 1, kRequestWaitMs) <= 0) return fail(Code::kInvalid, "no request came");
    Result<Received> got = receive(keeping_.control);
    LAIRD_TRY(got);
    const std::optional<Request> request = decoded<Request>(got->bytes);
    if (!request) return fail(Code::kInvalid, "this is no request");
    Result<Spec> spec = keeping_.resolve(*request);
    LAIRD_TRY(spec);
    spec_ = std::move(*spec);
    LAIRD_TRY(check(spec_));
    if (may_change_user()) person_ = find_person(spec_.user);
    if (spec_.argv.empty()) {
      clear_places(spec_.containers_folder);
      return {};
    }
    if (got->fds.size() < kStreams) return fail(Code::kInvalid, "a descriptor is missing");
    Result<std::string> tasks = without_links(spec_.tasks_folder);
    LAIRD_TRY(tasks);
    spec_.tasks_folder = std::move(*tasks);
    received_ = std::move(got->fds);
    groups_ = open_groups(received_, keeping_.agent.uid);
    const Owner to = person_ ? Owner{person_->uid, person_->gid} : keeping_.agent;
    Result<Fd> folder = take_folder(spec_.tasks_folder, spec_.task, keeping_.agent, to);
    LAIRD_TRY(folder);
    folder_ = std::move(*folder);
    if (request->fresh && request->warm_from != 0) {
      LAIRD_TRY(keep_warm(folder_.get(), request->warm_from));
    } else if (request->fresh) {
      LAIRD_TRY(empty_folder(folder_.get(), {kModelsKept, kToldKept}));
    }
    return spec_.is_container() ? prepare_container() : Status{};
  }

  Status prepare_container() {
    if (!has_capability(CAP_SYS_ADMIN)) {
      return fail(Code::kPermission,
                  "a container needs a laird-cell that root runs (docs/containers.md)");
    }
    Result<Fd> lock = take_place(spec_);
    LAIRD_TRY(lock);
    place_lock_ = std::move(*lock);
    ContainerAround around;
    around.place = place_of(spec_);
    // What podman asks of its surroundings: nothing of whoever started this.
    ::setenv("PATH", kPath, 1);
    ::setenv("HOME", around.place.c_str(), 1);
    LAIRD_TRY(find_images(spec_, around));
    Result<Fd> listener = listen_in(around.place);
    LAIRD_TRY(listener);
    listener_ = std::move(*listener);
    around.user = person_ ? Owner{person_->uid, person_->gid} : keeping_.agent;
    if (person_) around.groups = person_->groups;
    for (const std::string& root : spec_.container.data_roots) {
      struct stat info {};
      if (::stat(root.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
        around.data_roots.push_back(root);
      }
    }
    around.gpu = gpu_way("");
    around.has_group = !groups_.empty();
    if (spec_.limits.processes > 0 && around.user.uid != 0) {
      around.processes = threads_of(around.user.uid) + spec_.limits.processes;
    }
    spec_.argv = container_words(spec_, around);
    spec_.environment = {std::string("PATH=") + kPath, "HOME=" + around.place};
    return {};
  }

  Status begin(const Way& way) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return fail_errno(errno, "socketpair");
    }
    cell_.reset(ends[0]);
    const Fd theirs(ends[1]);
    const int yes = 1;
    ::setsockopt(cell_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    is_over_ = false;
    try_weaker_ = false;
    way_ = way;
    pid_ = clone_into(way, spec_.network);
    if (pid_ < 0) return fail_errno(errno, "cannot make a cell");
    if (pid_ == 0) be_inside(theirs.get());
    if (way.users && !map_user(pid_)) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      return fail(Code::kUnavailable, "this system gives a user no namespaces");
    }
    // The cell begins once it is somebody.
    return send(cell_.get(), Order{});
  }

  [[noreturn]] void be_inside(int warden) {
    cell_.reset();
    // The agent's connection is no business of the cell.
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, keeping_.control);
    pollfd wait{warden, POLLIN, 0};
    ::poll(&wait, 1, -1);
    const Result<Received> go = receive(warden);
    if (!go || go->ended) ::_exit(1);
    Surrounding here;
    here.spec = spec_;
    if (!way_.users) here.person = person_;
    here.own_processes = way_.processes;
    here.own_files = way_.files;
    here.own_network = way_.processes && !spec_.network;
    here.own_users = way_.users;
    here.warden = warden;
    if (!spec_.argv.empty()) {
      struct stat info {};
      if (::fstat(folder_.get(), &info) != 0) ::_exit(1);
      here.device = info.st_dev;
      here.inode = info.st_ino;
      here.socket = received_[0].get();
      here.output = received_[1].get();
    }
    here.listener = listener_.get();
    for (const Fd& group : groups_) here.groups.push_back(group.get());
    live_inside(here);
  }

  void turn() {
    std::array<pollfd, 2> wait = {pollfd{keeping_.control, POLLIN, 0},
                                  pollfd{cell_.get(), POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0) {
      if (errno != EINTR) end();
      return;
    }
    if (wait[1].revents != 0) hear_cell();
    if (!is_over_ && wait[0].revents != 0) hear_agent();
  }

  void hear_agent() {
    const Result<Received> got = receive(keeping_.control);
    if (!got && got.error().code == Code::kUnavailable) return;
    const std::optional<Order> order =
        got && !got->ended ? decoded<Order>(got->bytes) : std::nullopt;
    if (!order) return end();  // the agent is gone, or is none
    if (order->signal == SIGKILL) return end();
    for (const int known : kOrders) {
      if (order->signal == known) static_cast<void>(send(cell_.get(), *order));
    }
  }

  // Whoever is in the cell ends with its first process.
  void end() {
    thaw(received_);
    if (way_.processes) {
      ::kill(pid_, SIGKILL);
    } else {
      static_cast<void>(send(cell_.get(), Order{SIGKILL}));
      ::shutdown(cell_.get(), SHUT_WR);
    }
    left_.status = SIGKILL;
    while (!is_over_) {
      pollfd wait{cell_.get(), POLLIN, 0};
      ::poll(&wait, 1, -1);
      hear_cell();
    }
  }

  void hear_cell() {
    const Result<Received> got = receive(cell_.get());
    if (!got && got.error().code == Code::kUnavailable) return;
    if (!got || got->ended || got->bytes.empty()) {
      ::waitpid(pid_, nullptr, 0);
      is_over_ = true;
      return;
    }
    const Bytes body(got->bytes.begin() + 1, got->bytes.end());
    switch (static_cast<char>(got->bytes.front())) {
      case kEntered: entered(decoded<Entered>(body), got->sender); break;
      case kNoView: no_view(decoded<Entered>(body)); break;
      case kRuns: runs(); break;
      case kLeft:
        if (const auto left = decoded<Left>(body)) left_ = *left;
        break;
      default: break;
    }
  }

  void no_view(const std::optional<Entered>& told) {
    try_weaker_ = true;
    if (told) last_problem_ = told->problem;
  }

  void entered(const std::optional<Entered>& told, int pid) {
    if (!told) return;
    entered_ = *told;
    trainer_ = pid;
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // not before: a user's namespace could not be mapped
  }

  // Told once: what came after a start that failed says so.
  void runs() {
    if (!entered_.problem.empty() || trainer_ == 0) return;
    Report report;
    report.kind = Report::Kind::kStarted;
    report.pid = trainer_;
    report.guards = entered_.guards;
    report.in_group = entered_.in_group;
    static_cast<void>(send(keeping_.control, report));
  }

  int finish() {
    Report report;
    if (!entered_.problem.empty()) return refuse(entered_.problem);
    report.kind = Report::Kind::kEnded;
    report.status = left_.status;
    report.text = left_.why;
    static_cast<void>(send(keeping_.control, report));
    return 0;
  }

  const Keeping& keeping_;
  Spec spec_;
  Fd place_lock_;
  Fd listener_;
  std::optional<Person> person_;
  std::vector<Fd> received_;
  std::vector<Fd> groups_;
  Fd folder_;
  Fd cell_;
  Way way_;
  pid_t pid_ = -1;
  int trainer_ = 0;
  Entered entered_;
  Left left_;
  bool is_over_ = false;
  bool try_weaker_ = false;
  std::string last_problem_ = "cannot make a cell";
};

}  // namespace

int keep(const Keeping& keeping) { return Warden(keeping).run(); }

}  // namespace laird::cell
