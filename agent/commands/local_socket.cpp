#include "agent/commands/local_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/require.hpp"
#include "os/line_splitter.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kClientsMax = 64;
// Of one user: the others have room however many one opens.
constexpr std::size_t kClientsOfOneMax = 32;
// In one turn of the loop. Fewer than one user may have, so that whoever connects is listened to
// once before others push him out.
constexpr std::size_t kAcceptsMax = 16;
static_assert(kAcceptsMax < kClientsOfOneMax && kClientsOfOneMax < kClientsMax);
constexpr std::size_t kRequestMax = 64 * 1024;
// Bytes of answers that wait to be read, of all clients together.
constexpr std::size_t kOutgoingMax = 2 * 1024 * 1024;

Value failure(Code code, std::string text) {
  return Value::object().set("ok", false).set("code", name(code)).set("error", std::move(text));
}

Value answer_of(const core::Answer& a) {
  if (!a.ok) return failure(a.code, a.text);
  return Value::object().set("ok", true).set("text", a.text);
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
  std::uint64_t used = 0;  // of two clients, the one with the higher number sent something later
  bool spoke = false;      // it has sent something at all
  uid_t user = 0;
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
  // No other agent uses our state folder, but the config may put the socket elsewhere.
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
      loop.watch(out->listener_.get(), EPOLLIN, [self](std::uint32_t) { self->accept_some(); });
  LAIRD_TRY(watched);
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

void LocalSocket::accept_some() {
  for (std::size_t i = 0; i < kAcceptsMax; ++i) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    take_in(std::move(fd));
  }
}

void LocalSocket::take_in(Fd fd) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
  make_room_for(who.uid);
  const int number = fd.get();
  auto client = std::make_shared<Client>();
  client->fd = std::move(fd);
  client->used = ++uses_;
  client->user = who.uid;
  clients_[number] = std::move(client);
  if (!loop_.watch(number, EPOLLIN,
                   [this, number](std::uint32_t ready) { on_ready(number, ready); })) {
    clients_.erase(number);
    return;
  }
  // Who has asked already is answered before others can push him out.
  on_readable(number);
}

// Idle clients cannot lock others out: one that never spoke goes first, then the one that has been
// silent longest; of the user's own when he has many.
void LocalSocket::make_room_for(uid_t user) {
  const auto own = static_cast<std::size_t>(std::count_if(
      clients_.begin(), clients_.end(), [user](const auto& c) { return c.second->user == user; }));
  const bool only_own = own >= kClientsOfOneMax;
  if (!only_own && clients_.size() < kClientsMax) return;
  const auto rank = [&](const auto& c) {
    return std::tuple(only_own && c.second->user != user, c.second->spoke, c.second->used);
  };
  const auto idle =
      std::min_element(clients_.begin(), clients_.end(),
                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  drop(idle->first);
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
  client->spoke = true;
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
  // A client that does not read its answers is not listened to until it has read them.
  loop_.change(fd, out.empty() ? EPOLLIN : EPOLLOUT);
}

// An answer with data has the data's members beside "ok"; one without has its text there.
Value LocalSocket::answer_to(const Query& query) const {
  Result<QueryAnswer> found = answer_query(query, sources_);
  if (!found) return failure(found.error().code, found.error().context);
  Value out = Value::object().set("ok", true);
  if (!found->data.is(Kind::kObject)) return out.set("text", found->text);
  for (auto& [key, value] : found->data.members()) out.set(key, std::move(value));
  return out;
}

void LocalSocket::hand_in(int fd, core::OperatorRequest request) {
  const std::weak_ptr<Client> client = clients_[fd];
  const Agent::Reply reply = [this, fd, client](const core::Answer& a) {
    if (!client.expired()) answer(fd, answer_of(a));
  };
  struct HandIn {
    Agent& agent;
    const Agent::Reply& reply;
    void operator()(core::Submitted& r) { agent.submit(std::move(r.spec), reply, r.replace); }
    void operator()(core::EditRequested& r) { agent.edit(std::move(r), reply); }
    void operator()(core::RemoveRequested& r) { agent.remove(std::move(r.task), reply); }
    void operator()(core::CancelRequested& r) { agent.cancel(std::move(r.task), reply); }
    void operator()(core::PauseRequested& r) { agent.pause(std::move(r.task), reply); }
    void operator()(core::ResumeRequested& r) { agent.resume(std::move(r.task), reply); }
    void operator()(core::MoveRequested& r) {
      agent.move(std::move(r.task), std::move(r.to), reply);
    }
    void operator()(core::DrainRequested& r) { agent.drain(r.drain, reply); }
    void operator()(core::CapRequested& r) { agent.set_cap(r.cap_mw, r.for_ns, reply); }
    void operator()(core::BudgetChanged& r) { agent.change_budget(std::move(r.budget), reply); }
    void operator()(core::ConfigRequested&) {
      LAIRD_REQUIRE(false, "settings are changed by signed commands only");
    }
  };
  std::visit(HandIn{agent_, reply}, request);
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
  Value body = Value::object();
  for (const auto& [key, value] : request->members()) {
    if (key != "op") body.members().emplace_back(key, value);
  }
  Result<Request> wanted = parse_request(Way::kLocal, op->as_string(), body);
  if (!wanted) {
    answer(fd, failure(wanted.error().code, core::clipped(wanted.error().context)));
  } else if (const Query* query = std::get_if<Query>(&*wanted)) {
    answer(fd, answer_to(*query));
  } else if (auto* change = std::get_if<core::OperatorRequest>(&*wanted)) {
    hand_in(fd, std::move(*change));
  } else {
    LAIRD_REQUIRE(false, "settings are changed by signed commands only");
  }
}

}  // namespace laird::agent
