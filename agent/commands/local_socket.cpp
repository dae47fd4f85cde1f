#include "agent/commands/local_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/view/status.hpp"
#include "config/units.hpp"
#include "os/line_splitter.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kClientsMax = 64;
constexpr std::size_t kRequestMax = 64 * 1024;
// Answers that wait for their readers, all clients together.
constexpr std::size_t kOutgoingMax = 2 * 1024 * 1024;

Value failure(Code code, std::string text) {
  return Value::object()
      .set("ok", Value::boolean(false))
      .set("code", Value::string(std::string(name(code))))
      .set("error", Value::string(std::move(text)));
}

Value answer_of(const core::Answer& a) {
  if (!a.ok) return failure(a.code, a.text);
  return Value::object().set("ok", Value::boolean(true)).set("text", Value::string(a.text));
}

bool somebody_listens(const sockaddr_un& address) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return false;
  const int rc =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return rc == 0 || errno == EAGAIN;
}

}  // namespace

struct LocalSocket::Client {
  Fd fd;
  LineSplitter lines{kRequestMax, Overlong::kCut};
  std::string outgoing;
  std::uint64_t used = 0;  // the higher, the later it asked something
  bool alive = true;
};

Result<std::unique_ptr<LocalSocket>> LocalSocket::open(Loop& loop, Agent& agent,
                                                       const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalid, "the path of the control socket is longer than " +
                                    std::to_string(sizeof address.sun_path - 1) +
                                    " bytes; set \"control_socket\" to a shorter one: " + path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_errno(errno, "control socket");
  // The state folder is ours alone, but the config may put the socket elsewhere.
  if (somebody_listens(address)) {
    return fail(Code::kExists, "another program listens on " + path +
                                   "; give this agent its own \"control_socket\"");
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) ::unlink(path.c_str());
  const mode_t before = ::umask(0117);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(before);
  if (bound != 0) return fail_errno(errno, "cannot make the control socket " + path);
  if (::listen(listener.get(), SOMAXCONN) != 0) {
    return fail_errno(errno, "control socket");
  }
  std::unique_ptr<LocalSocket> out(new LocalSocket(loop, agent, path, std::move(listener)));
  LocalSocket* self = out.get();
  const Status watched =
      loop.watch(out->listener_.get(), EPOLLIN, [self](std::uint32_t) { self->accept_one(); });
  if (!watched) return tl::make_unexpected(watched.error());
  return out;
}

LocalSocket::~LocalSocket() {
  for (auto& [fd, client] : clients_) {
    client->alive = false;
    loop_.forget(fd);
  }
  loop_.forget(listener_.get());
  ::unlink(path_.c_str());
}

void LocalSocket::accept_one() {
  Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return;
  if (clients_.size() >= kClientsMax) {
    // Whoever has been silent longest makes room, so that idle clients cannot close the commands.
    const auto idle = std::min_element(
        clients_.begin(), clients_.end(),
        [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
    drop(idle->first);
  }
  const int number = fd.get();
  auto client = std::make_shared<Client>();
  client->fd = std::move(fd);
  client->used = ++uses_;
  clients_[number] = std::move(client);
  if (!loop_.watch(number, EPOLLIN,
                   [this, number](std::uint32_t ready) { on_ready(number, ready); })) {
    clients_.erase(number);
  }
}

void LocalSocket::drop(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  found->second->alive = false;
  loop_.forget(fd);
  clients_.erase(found);
}

void LocalSocket::on_ready(int fd, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    write_some(fd);
  } else {
    on_readable(fd);
  }
}

void LocalSocket::on_readable(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  const std::shared_ptr<Client> client = found->second;
  char block[8192];
  const ssize_t n = ::read(fd, block, sizeof block);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    drop(fd);
    return;
  }
  client->used = ++uses_;
  client->lines.feed(
      std::string_view(block, static_cast<std::size_t>(n)),
      [&](std::string_view line, bool overlong) {
        if (!client->alive) return;
        if (overlong) {
          answer(fd, failure(Code::kInvalid, "a request is at most " + std::to_string(kRequestMax) +
                                                 " bytes on one line"));
          return;
        }
        on_request(fd, line);
      });
}

void LocalSocket::answer(int fd, const Value& value) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  std::size_t waiting = 0;
  for (const auto& [other, client] : clients_) waiting += client->outgoing.size();
  const std::string text = json::to_text(value) + "\n";
  if (waiting + text.size() > kOutgoingMax) {
    drop(fd);
    return;
  }
  found->second->outgoing += text;
  write_some(fd);
}

void LocalSocket::write_some(int fd) {
  const auto found = clients_.find(fd);
  if (found == clients_.end()) return;
  std::string& out = found->second->outgoing;
  const ssize_t n = ::send(fd, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    drop(fd);
    return;
  }
  if (n > 0) out.erase(0, static_cast<std::size_t>(n));
  // Who does not read its answers is not heard until it does.
  loop_.change(fd, out.empty() ? EPOLLIN : EPOLLOUT);
}

bool LocalSocket::submit(int fd, const Value& request) {
  const Value* task = request.find("task", Kind::kObject);
  if (task == nullptr) return false;
  std::vector<config::Problem> problems;
  core::TaskSpec spec = parse_task(*task, "task", problems);
  if (!problems.empty()) {
    std::string all;
    for (const config::Problem& p : problems)
      all += (all.empty() ? "" : "\n") + p.path + ": " + p.what;
    answer(fd, failure(Code::kInvalid, all));
    return true;
  }
  const std::weak_ptr<Client> client = clients_[fd];
  agent_.submit(std::move(spec), [this, fd, client](const core::Answer& a) {
    if (!client.expired()) answer(fd, answer_of(a));
  });
  return true;
}

void LocalSocket::set_cap(int fd, const Value& request) {
  const Value* cap = request.find("cap", Kind::kString);
  const Value* duration = request.find("for", Kind::kString);
  if (cap == nullptr) {
    answer(fd, failure(Code::kInvalid, "cap-set needs \"cap\", a text like \"15W\""));
    return;
  }
  const Result<std::int64_t> cap_mw = config::parse_power(cap->as_string());
  const Result<DurationNs> for_ns =
      duration == nullptr ? Result<DurationNs>(0) : config::parse_duration(duration->as_string());
  if (!cap_mw || !for_ns) {
    const Error& error = cap_mw ? for_ns.error() : cap_mw.error();
    answer(fd, failure(Code::kInvalid, core::clipped(error.context)));
    return;
  }
  if (duration != nullptr && *for_ns <= 0) {
    answer(fd, failure(Code::kInvalid, "\"for\" must be more than nothing"));
    return;
  }
  const std::weak_ptr<Client> client = clients_[fd];
  agent_.set_cap(*cap_mw, *for_ns, [this, fd, client](const core::Answer& a) {
    if (!client.expired()) answer(fd, answer_of(a));
  });
}

Value LocalSocket::read_only(std::string_view op, const Value& request) {
  if (op == "tasks") {
    Value tasks = Value::array();
    for (const TaskRow& row : task_rows(agent_.state(), agent_.now())) tasks.add(task_json(row));
    return Value::object().set("ok", Value::boolean(true)).set("tasks", std::move(tasks));
  }
  if (op == "power") {
    return Value::object()
        .set("ok", Value::boolean(true))
        .set("power", power_json(agent_.state(), agent_.now()));
  }
  if (op == "status") {
    return Value::object()
        .set("ok", Value::boolean(true))
        .set("node", Value::string(agent_.state().config.node))
        .set("policy", Value::string(agent_.state().config.policy))
        .set("live", Value::integer(static_cast<std::int64_t>(agent_.state().live.size())))
        .set("journal", Value::string(agent_.journal_path()))
        .set("journal_blocked", Value::boolean(agent_.journal_blocked()));
  }
  if (op == "explain") {
    const Value* task = request.find("task", Kind::kString);
    if (task == nullptr) return failure(Code::kInvalid, "explain needs \"task\"");
    const Result<std::string> why = core::explain(agent_.state(), task->as_string());
    if (!why) return failure(why.error().code, why.error().context);
    return Value::object().set("ok", Value::boolean(true)).set("text", Value::string(*why));
  }
  return failure(Code::kInvalid,
                 "unknown op; there are submit, cancel, pause, resume, drain, undrain, cap-set, "
                 "cap-clear, tasks, "
                 "power, status, explain");
}

void LocalSocket::on_request(int fd, std::string_view line) {
  json::ParseLimits limits;
  limits.bytes_max = kRequestMax;
  const Result<Value> request = json::parse(line, "request", limits);
  if (!request) {
    answer(fd, failure(Code::kInvalid, core::clipped(request.error().context)));
    return;
  }
  const Value* op = request->find("op", Kind::kString);
  if (op == nullptr) {
    answer(fd, failure(Code::kInvalid, "a request is an object with a string \"op\""));
    return;
  }
  const std::string& what = op->as_string();
  if (what == "submit" && submit(fd, *request)) return;
  if (what == "submit") {
    answer(fd, failure(Code::kInvalid, "submit needs \"task\", an object"));
    return;
  }
  if (what == "cap-set") {
    set_cap(fd, *request);
    return;
  }
  if (what == "cap-clear") {
    const std::weak_ptr<Client> client = clients_[fd];
    agent_.set_cap(std::nullopt, 0, [this, fd, client](const core::Answer& a) {
      if (!client.expired()) answer(fd, answer_of(a));
    });
    return;
  }
  if (what == "cancel" || what == "pause" || what == "resume") {
    const Value* task = request->find("task", Kind::kString);
    if (task == nullptr || task->as_string().size() > core::kNameBytesMax) {
      answer(fd, failure(Code::kInvalid, what + " needs \"task\", a name of at most " +
                                             std::to_string(core::kNameBytesMax) + " bytes"));
      return;
    }
    const std::weak_ptr<Client> client = clients_[fd];
    const Agent::Reply reply = [this, fd, client](const core::Answer& a) {
      if (!client.expired()) answer(fd, answer_of(a));
    };
    if (what == "cancel") agent_.cancel(task->as_string(), reply);
    if (what == "pause") agent_.pause(task->as_string(), reply);
    if (what == "resume") agent_.resume(task->as_string(), reply);
    return;
  }
  if (what == "drain" || what == "undrain") {
    const std::weak_ptr<Client> client = clients_[fd];
    agent_.drain(what == "drain", [this, fd, client](const core::Answer& a) {
      if (!client.expired()) answer(fd, answer_of(a));
    });
    return;
  }
  answer(fd, read_only(what, *request));
}

}  // namespace laird::agent
