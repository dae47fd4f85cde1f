#include "power/readers/recorded_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace laird::power {

RecordedReader::RecordedReader(int fd, std::string path, const Board& board, DurationNs interval_ns,
                               double speed)
    : fd_(fd),
      path_(std::move(path)),
      board_(board),
      speed_(speed),
      decoder_(board_, interval_ns) {}

Result<std::unique_ptr<RecordedReader>> RecordedReader::open(const std::string& path,
                                                             const Board& board,
                                                             DurationNs interval_ns, double speed) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "cannot open " + path);
  return std::unique_ptr<RecordedReader>(new RecordedReader(fd, path, board, interval_ns, speed));
}

RecordedReader::~RecordedReader() { ::close(fd_); }

void RecordedReader::fill() {
  std::array<char, 16 * 1024> block;
  const auto take = [this](PowerReading reading) { queue_.push_back(std::move(reading)); };
  while (queue_.empty() && !file_done_) {
    const ssize_t n = ::read(fd_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      file_done_ = true;
      decoder_.finish(take);
      return;
    }
    decoder_.feed(std::string_view(block.data(), static_cast<std::size_t>(n)), take);
  }
}

TimeNs RecordedReader::due(TimeNs at) const {
  if (speed_ <= 0) return at;
  return start_ + static_cast<TimeNs>(static_cast<double>(at) / speed_);
}

std::optional<PowerReading> RecordedReader::poll(TimeNs now) {
  if (!started_) {
    started_ = true;
    start_ = now;
  }
  fill();
  if (queue_.empty()) return std::nullopt;
  const TimeNs at = due(queue_.front().at);
  if (speed_ > 0 && at > now) return std::nullopt;
  PowerReading out = std::move(queue_.front());
  queue_.pop_front();
  out.at = at;
  return out;
}

TimeNs RecordedReader::next_poll_at(TimeNs now) const {
  if (queue_.empty()) return file_done_ ? kNever : now;
  return speed_ > 0 ? std::max(now, due(queue_.front().at)) : now;
}

ReaderStatus RecordedReader::status(TimeNs) const {
  ReaderStatus out;
  out.source = Source::kRecorded;
  out.ended = file_done_ && queue_.empty();
  out.working = !out.ended;
  out.detail = "capture " + path_;
  return out;
}

}  // namespace laird::power
