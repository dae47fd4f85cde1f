#include "agent/view/metrics_port.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/settings/listen_address.hpp"
#include "agent/view/http_request.hpp"

namespace laird::agent {
namespace {

constexpr std::size_t kVisitorsMax = 16;
// In one turn of the loop: fewer, so that whoever connects is listened to once before the next ones
// push him out.
constexpr std::size_t kAcceptsMax = 8;
static_assert(kAcceptsMax < kVisitorsMax);
// How many may wait to be taken in.
constexpr int kBacklog = 128;
// For the whole visit: a scraper on the other side of the world needs less.
constexpr DurationNs kVisitMax = 5 * kSecond;

}  // namespace

struct MetricsPort::Visitor {
  Fd fd;
  std::string asked;
  std::string answer;
  std::size_t sent = 0;
  std::uint64_t number = 0;  // in the order in which they came
  Loop::TimerId timer = 0;
};

MetricsPort::MetricsPort(Loop& loop, Fd listener, Text text)
    : loop_(loop), listener_(std::move(listener)), text_(std::move(text)) {}

Result<std::unique_ptr<MetricsPort>> MetricsPort::open(Loop& loop, const std::string& listen,
                                                       Text text) {
  const Result<ListenAddress> at = parse_listen_address(listen);
  LAIRD_TRY(at);
  Fd fd(::socket(at->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "metrics");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* address = reinterpret_cast<const sockaddr*>(&at->address);
  if (::bind(fd.get(), address, at->length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return fail_errno(errno, "cannot serve metrics on " + listen +
                                 "; set \"metrics\" \"listen\" to another address");
  }
  std::unique_ptr<MetricsPort> out(new MetricsPort(loop, std::move(fd), std::move(text)));
  MetricsPort* self = out.get();
  const Status watched =
      loop.watch(out->listener_.get(), EPOLLIN, [self](std::uint32_t) { self->accept_some(); });
  LAIRD_TRY(watched);
  return out;
}

MetricsPort::~MetricsPort() {
  while (!visitors_.empty()) drop(visitors_.begin()->first);
  loop_.forget(listener_.get());
}

void MetricsPort::accept_some() {
  for (std::size_t i = 0; i < kAcceptsMax; ++i) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    take_in(std::move(fd));
  }
}

// Idle visitors cannot lock a scraper out: the oldest one that has asked for nothing yet goes.
void MetricsPort::make_room() {
  if (visitors_.size() < kVisitorsMax) return;
  const auto idle =
      std::min_element(visitors_.begin(), visitors_.end(), [](const auto& a, const auto& b) {
        return std::pair(!a.second->answer.empty(), a.second->number) <
               std::pair(!b.second->answer.empty(), b.second->number);
      });
  drop(idle->first);
}

void MetricsPort::take_in(Fd fd) {
  make_room();
  const int number = fd.get();
  auto visitor = std::make_shared<Visitor>();
  visitor->fd = std::move(fd);
  visitor->number = ++taken_in_;
  if (!loop_.watch(number, EPOLLIN, [this, number](std::uint32_t) { on_ready(number); })) return;
  visitor->timer = loop_.after(kVisitMax, [this, number] { drop(number); });
  visitors_[number] = std::move(visitor);
  on_ready(number);
}

void MetricsPort::drop(int fd) {
  const auto found = visitors_.find(fd);
  if (found == visitors_.end()) return;
  loop_.cancel(found->second->timer);
  loop_.forget(fd);
  visitors_.erase(found);
}

void MetricsPort::on_ready(int fd) {
  const auto found = visitors_.find(fd);
  if (found == visitors_.end()) return;
  const std::shared_ptr<Visitor> visitor = found->second;
  if (!visitor->answer.empty()) {
    send_some(*visitor);
    return;
  }
  char block[1024];
  const ssize_t n = ::recv(fd, block, sizeof block, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    drop(fd);
    return;
  }
  visitor->asked.append(block, static_cast<std::size_t>(n));
  const HttpRequest request = judge_request(visitor->asked);
  if (request.verdict == HttpVerdict::kIncomplete) return;
  visitor->answer =
      http_response(request, request.verdict == HttpVerdict::kMetrics ? text_() : std::string());
  send_some(*visitor);
}

void MetricsPort::send_some(Visitor& visitor) {
  const int fd = visitor.fd.get();
  while (visitor.sent < visitor.answer.size()) {
    const ssize_t n = ::send(fd, visitor.answer.data() + visitor.sent,
                             visitor.answer.size() - visitor.sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      loop_.change(fd, EPOLLOUT);
      return;
    }
    if (n <= 0) break;
    visitor.sent += static_cast<std::size_t>(n);
  }
  drop(fd);
}

}  // namespace laird::agent
