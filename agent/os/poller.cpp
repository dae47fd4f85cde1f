#include "agent/os/poller.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "os/fd.hpp"

namespace laird::agent {
namespace {

class EpollPoller final : public Poller {
 public:
  explicit EpollPoller(Fd epoll) : epoll_(std::move(epoll)) {}

  [[nodiscard]] Status add(int fd, std::uint32_t events) override {
    epoll_event what = interest(fd, events);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &what) != 0) {
      return fail_errno(errno, "epoll add");
    }
    return {};
  }
  void change(int fd, std::uint32_t events) override {
    epoll_event what = interest(fd, events);
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &what);
  }
  void remove(int fd) override { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  [[nodiscard]] Result<std::size_t> wait(DurationNs wait_max, Round& round) override {
    // Rounded up: waking a moment early would spin until the timer is due.
    const auto wait_ms = static_cast<int>(
        std::clamp<DurationNs>((wait_max + kMillisecond - 1) / kMillisecond, 0, 3'600'000));
    std::array<epoll_event, kReadyMax> ready{};
    const int n = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), wait_ms);
    if (n < 0 && errno != EINTR) return fail_errno(errno, "epoll wait");
    const auto count = static_cast<std::size_t>(std::max(n, 0));
    for (std::size_t i = 0; i < count; ++i) round[i] = {ready[i].data.fd, ready[i].events};
    return count;
  }

 private:
  [[nodiscard]] static epoll_event interest(int fd, std::uint32_t events) {
    epoll_event what{};
    what.events = events;
    what.data.fd = fd;
    return what;
  }

  Fd epoll_;
};

}  // namespace

Result<std::unique_ptr<Poller>> open_epoll() {
  Fd fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return fail_errno(errno, "epoll");
  return std::make_unique<EpollPoller>(std::move(fd));
}

}  // namespace laird::agent
