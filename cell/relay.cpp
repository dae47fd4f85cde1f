#include "cell/relay.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace laird::cell {
namespace {

constexpr std::size_t kBlock = 16 * 1024;

bool is_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Relay::Relay(Fd listener, Fd agent) : listener_(std::move(listener)), agent_(std::move(agent)) {}

std::array<pollfd, Relay::kWaits> Relay::waits() const {
  std::array<pollfd, kWaits> out = {pollfd{-1, 0, 0}, pollfd{-1, 0, 0}};
  if (!agent_) return out;
  if (!trainer_) {
    out[0] = {listener_.get(), POLLIN, 0};
    return out;
  }
  const auto wanted = [](const Way& in, const Way& from) {
    short events = in.held.size() < kHeldMax && !in.has_ended ? POLLIN : short{0};
    if (!from.held.empty()) events = static_cast<short>(events | POLLOUT);
    return events;
  };
  const short trainer = wanted(to_agent_, to_trainer_);
  const short agent = wanted(to_trainer_, to_agent_);
  // A hang-up cannot be masked: who is waited for nothing is not waited for.
  if (trainer != 0) out[0] = {trainer_.get(), trainer, 0};
  if (agent != 0) out[1] = {agent_.get(), agent, 0};
  return out;
}

void Relay::carry() {
  if (!agent_) return;
  if (!trainer_) accept_trainer();
  if (!trainer_) return;
  const bool both = move(trainer_.get(), agent_.get(), to_agent_) &&
                    move(agent_.get(), trainer_.get(), to_trainer_);
  if (!both) {
    agent_.reset();
    trainer_.reset();
  }
}

void Relay::finish() {
  carry();
  agent_.reset();
  trainer_.reset();
  listener_.reset();
}

void Relay::accept_trainer() {
  if (!listener_) return;
  trainer_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (trainer_) listener_.reset();
}

bool Relay::move(int from, int to, Way& way) {
  for (;;) {
    while (!way.held.empty()) {
      const ssize_t n = ::send(to, way.held.data(), way.held.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && !is_later()) return false;
      if (n <= 0) break;
      way.held.erase(0, static_cast<std::size_t>(n));
    }
    if (way.has_ended) {
      if (way.held.empty()) ::shutdown(to, SHUT_WR);
      return true;
    }
    if (way.held.size() >= kHeldMax) return true;
    std::array<char, kBlock> block{};
    const ssize_t n = ::recv(from, block.data(), block.size(), MSG_DONTWAIT);
    if (n < 0) return is_later();
    if (n == 0) way.has_ended = true;
    way.held.append(block.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace laird::cell
