#include "trainers/average/channels.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "os/line_splitter.hpp"

namespace laird::trainers {
namespace {

void raise(int fd) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof one));
}

void lower(int fd) {
  std::uint64_t count = 0;
  static_cast<void>(::read(fd, &count, sizeof count));
}

}  // namespace

LineInbox::LineInbox(int fd, std::size_t line_max)
    : fd_(fd),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this, line_max] { read_all(line_max); }) {}

LineInbox::~LineInbox() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  raise(stop_.get());
  room_.notify_all();
  thread_.join();
}

void LineInbox::read_all(std::size_t line_max) {
  LineSplitter splitter(line_max, Overlong::kSkip);
  std::vector<char> block(std::size_t{256} * 1024);
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{fd_, POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) break;
    if (entries[1].revents != 0) break;
    if (entries[0].revents == 0) continue;
    const ssize_t n = ::read(fd_, block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    std::string_view left(block.data(), static_cast<std::size_t>(n));
    while (const std::optional<std::string_view> line = splitter.next(left)) put(*line);
    if (splitter.overlong() > 0) {
      const std::lock_guard lock(mutex_);
      overlong_ = true;
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  raise(wake_.get());
}

void LineInbox::put(std::string_view line) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return bytes_ < kBytesMax || stopping_; });
  lines_.emplace_back(line);
  bytes_ += line.size();
  raise(wake_.get());
}

std::optional<std::string> LineInbox::take() {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) {
    if (!ended_) lower(wake_.get());
    return std::nullopt;
  }
  std::string out = std::move(lines_.front());
  lines_.pop_front();
  bytes_ -= out.size();
  room_.notify_all();
  return out;
}

bool LineInbox::closed() const {
  const std::lock_guard lock(mutex_);
  return ended_ && lines_.empty();
}

bool LineInbox::overlong() const {
  const std::lock_guard lock(mutex_);
  return overlong_;
}

void Outbox::put(std::string text, bool urgent) {
  bytes_ += text.size();
  (urgent ? urgent_ : rest_).push_back(std::move(text));
}

bool Outbox::flush() {
  for (;;) {
    if (at_ == now_.size()) {
      std::deque<std::string>& next = urgent_.empty() ? rest_ : urgent_;
      if (next.empty()) return true;
      now_ = std::move(next.front());
      next.pop_front();
      at_ = 0;
    }
    const ssize_t n = ::write(fd_, now_.data() + at_, now_.size() - at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    at_ += static_cast<std::size_t>(n);
    bytes_ -= static_cast<std::size_t>(n);
  }
}

}  // namespace laird::trainers
