#include "agent/trainer_host/cell_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/require.hpp"
#include "cell/from_settings.hpp"
#include "os/child_process.hpp"

namespace laird::agent {
namespace {

constexpr const char* kProgram = "laird-cell";
// A service manager that is busy starting a machine takes its time.
constexpr int kGuardsWaitMs = 5'000;

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::string find_helper(const std::string& configured) {
  if (!configured.empty()) return configured;
  if (::access(cell::kDefaultSocket, F_OK) == 0) return cell::kDefaultSocket;
  const std::string found = program_beside(kProgram);
  return found.empty() ? "/usr/libexec/laird/" + std::string(kProgram) : found;
}

Result<Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalid, "the socket's path is too long: " + path);
  }
  path.copy(address.sun_path, path.size());
  Fd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out) return fail_errno(errno, "socket");
  if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno(errno, "cannot start a trainer: no laird-cell at " + path +
                                 "; is laird-cell.socket running?");
  }
  return out;
}

Result<std::pair<Fd, Fd>> make_socketpair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "socketpair");
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

}  // namespace

CellProcesses::CellProcesses(const Settings& settings, std::string config_path, Log log)
    : settings_(settings),
      config_path_(std::move(config_path)),
      log_(std::move(log)),
      helper_(find_helper(settings.cell.helper)) {}

CellProcesses::~CellProcesses() {
  while (!running_.empty()) collect(running_.begin()->first);
}

Status CellProcesses::connect(Running& to) const {
  if (helper_.ends_with(".sock")) {
    Result<Fd> socket = connect_to(helper_);
    LAIRD_TRY(socket);
    to.control = std::move(*socket);
    return {};
  }
  auto pair = make_socketpair(SOCK_SEQPACKET);
  LAIRD_TRY(pair);
  ChildSpec child;
  child.argv = {helper_};
  child.environment.emplace();
  child.input = pair->second.get();
  child.error = ChildSpec::kInherit;
  child.own_session = true;
  const Result<pid_t> pid = start_child(child);
  LAIRD_TRY(pid);
  to.helper = *pid;
  to.control = std::move(pair->first);
  return {};
}

void CellProcesses::try_guards() {
  Running trial;
  cell::Request request;
  request.spec = cell::spec_of(settings_, config_path_, nullptr, "", 0);
  Status ok = connect(trial);
  if (ok) ok = cell::send(trial.control.get(), request);
  if (!ok) {
    log_(LogLevel::kWarning, "cell: " + ok.error().context);
    return;
  }
  while (!trial.has_ended) {
    pollfd wait{trial.control.get(), POLLIN, 0};
    if (::poll(&wait, 1, kGuardsWaitMs) <= 0) break;
    hear(trial);
  }
  if (!trial.ending.why.empty()) log_(LogLevel::kWarning, "cell: " + trial.ending.why);
  trial.control.reset();
  if (trial.helper > 0) ::waitpid(trial.helper, nullptr, 0);
}

Result<Process> CellProcesses::start(const ProcessSpec& spec, const Cgroup* group) {
  const auto trainer = settings_.trainers.find(spec.trainer);
  LAIRD_REQUIRE(trainer != settings_.trainers.end(), "the pool starts what is on its list");
  auto socket = make_socketpair(SOCK_STREAM);
  LAIRD_TRY(socket);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  Fd output(ends[0]);
  const Fd theirs(ends[1]);
  cell::Request request;
  request.trainer = spec.trainer;
  request.task = spec.task;
  request.memory_bytes = spec.memory_bytes;
  request.fresh = spec.fresh;
  request.check = spec.check;
  request.warm_from = spec.warm_from;
  request.spec = cell::spec_of(settings_, config_path_, &trainer->second, spec.task,
                               spec.memory_bytes, spec.check);
  std::vector<int> fds = {socket->second.get(), theirs.get()};
  std::vector<Fd> folders;
  if (group != nullptr) {
    for (const std::string& path : group->folders()) {
      Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (folder) folders.push_back(std::move(folder));
    }
  }
  for (const Fd& folder : folders) fds.push_back(folder.get());
  Running running;
  running.task = spec.task;
  running.wants_group = group != nullptr;
  LAIRD_TRY(connect(running));
  const Status sent = cell::send(running.control.get(), request, fds);
  if (!sent) {
    running.control.reset();
    if (running.helper > 0) ::waitpid(running.helper, nullptr, 0);
    return tl::make_unexpected(sent.error());
  }
  set_nonblocking(socket->first.get());
  set_nonblocking(output.get());
  Process out{next_id_++, std::move(socket->first), std::move(output), running.control.get()};
  running_.emplace(out.id, std::move(running));
  return out;
}

void CellProcesses::hear(Running& from) {
  while (!from.has_ended) {
    const Result<cell::Received> got = cell::receive(from.control.get());
    if (!got && got.error().code == Code::kUnavailable) return;
    const auto report = got && !got->ended ? cell::decoded<cell::Report>(got->bytes) : std::nullopt;
    if (report) {
      take(from, *report);
    } else {
      from.has_ended = true;
    }
  }
}

void CellProcesses::take(Running& from, const cell::Report& report) {
  using Kind = cell::Report::Kind;
  switch (report.kind) {
    case Kind::kStarted:
      guards_ = cell::Guards(report.guards);
      from.is_outside = from.wants_group && !report.in_group;
      if (from.task.empty()) return;
      log_(LogLevel::kDebug,
           "task " + from.task + ": runs as process " + std::to_string(report.pid));
      return;
    case Kind::kFailed:
      from.ending = {SIGKILL, report.text.empty() ? "its cell could not be made" : report.text};
      return;
    case Kind::kEnded: from.ending = {report.status, report.text}; return;
  }
}

void CellProcesses::signal_all(int id, int signal) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  static_cast<void>(cell::send(found->second.control.get(), cell::Order{signal}));
}

bool CellProcesses::has_ended(int id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return false;
  hear(found->second);
  return found->second.has_ended;
}

bool CellProcesses::is_outside_group(int id) {
  const auto found = running_.find(id);
  return found != running_.end() && found->second.is_outside;
}

Ending CellProcesses::collect(int id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return {};
  Running& running = found->second;
  signal_all(id, SIGKILL);
  while (!running.has_ended) {
    pollfd wait{running.control.get(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    hear(running);
  }
  running.control.reset();
  if (running.helper > 0) ::waitpid(running.helper, nullptr, 0);
  const Ending out = running.ending;
  running_.erase(found);
  return out;
}

}  // namespace laird::agent
