#include "power/readers/tegrastats/tegrastats_reader.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/child_process.hpp"
#include "os/fd.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace laird::power {

TegrastatsReader::TegrastatsReader(std::string program, const Board& board, DurationNs period_ns)
    : program_(std::move(program)),
      board_(board),
      period_ns_(period_ns),
      line_(std::make_unique<Line>()) {}

std::unique_ptr<TegrastatsReader> TegrastatsReader::child(std::string program, const Board& board,
                                                          DurationNs period_ns) {
  return std::unique_ptr<TegrastatsReader>(
      new TegrastatsReader(std::move(program), board, period_ns));
}

std::unique_ptr<TegrastatsReader> TegrastatsReader::from_fd(int fd, const Board& board,
                                                            DurationNs period_ns) {
  auto out = std::unique_ptr<TegrastatsReader>(new TegrastatsReader({}, board, period_ns));
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  out->fd_ = fd;
  return out;
}

TegrastatsReader::~TegrastatsReader() {
  stop_child();
  if (fd_ >= 0) ::close(fd_);
}

void TegrastatsReader::start(TimeNs now) {
  start_at_ = now + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kPauseMax);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    trouble_ = std::string("no pipe: ") + std::strerror(errno);
    return;
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  ChildSpec spec;
  spec.argv = {program_, "--interval",
               std::to_string(std::max<std::int64_t>(10, period_ns_ / kMillisecond))};
  spec.output = theirs.get();
  spec.dies_with_parent = true;
  const Result<pid_t> pid = start_child(spec);
  if (!pid) {
    trouble_ = pid.error().context;
    return;
  }
  ::fcntl(ours.get(), F_SETFL, ::fcntl(ours.get(), F_GETFL) | O_NONBLOCK);
  fd_ = ours.release();
  pid_ = *pid;
}

void TegrastatsReader::stop_child() {
  if (pid_ <= 0) return;
  // It keeps no state worth a graceful end.
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void TegrastatsReader::ended(TimeNs now) {
  ::close(fd_);
  fd_ = -1;
  if (program_.empty()) {
    ended_ = true;
    return;
  }
  stop_child();
  trouble_ = program_ + " ended; starting it again";
  start_at_ = now + pause_ns_;
}

void TegrastatsReader::drain(TimeNs now) {
  std::array<char, 16 * 1024> block;
  // A bounded number of blocks, so a child that floods cannot hold the loop.
  for (int i = 0; i < 4 && fd_ >= 0; ++i) {
    const ssize_t n = ::read(fd_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      ended(now);
      return;
    }
    stream_.feed(std::string_view(block.data(), static_cast<std::size_t>(n)),
                 [&](std::string_view text) {
                   parse_line(text, *line_);
                   ++lines_;
                   if (!line_->has_memory) return;
                   if (queue_.size() >= kQueueMax) queue_.pop_front();
                   queue_.push_back(reading_of(*line_, board_, now, Source::kTegrastats));
                   last_at_ = now;
                   pause_ns_ = kSecond;
                   trouble_.clear();
                 });
  }
}

std::optional<PowerReading> TegrastatsReader::poll(TimeNs now) {
  if (queue_.empty()) {
    if (fd_ < 0 && !ended_ && now >= start_at_) start(now);
    if (fd_ >= 0) drain(now);
  }
  if (queue_.empty()) return std::nullopt;
  PowerReading out = std::move(queue_.front());
  queue_.pop_front();
  return out;
}

TimeNs TegrastatsReader::next_poll_at(TimeNs now) const {
  return fd_ < 0 && !ended_ ? std::max(now, start_at_) : now + period_ns_;
}

ReaderStatus TegrastatsReader::status(TimeNs now) const {
  ReaderStatus out;
  out.source = Source::kTegrastats;
  out.ended = ended_ && queue_.empty();
  out.working = now - last_at_ <= 3 * period_ns_ + kSecond;
  out.detail = program_.empty() ? "lines of tegrastats" : "child process " + program_;
  if (!trouble_.empty()) out.detail += "; " + trouble_;
  if (stream_.overlong() > 0) {
    out.detail += "; " + std::to_string(stream_.overlong()) + " lines too long";
  }
  return out;
}

}  // namespace laird::power
