#include "power/readers/recording.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "power/readers/tegrastats/tegrastats_reading.hpp"

namespace laird::power {

RecordingDecoder::RecordingDecoder(const Board& board, DurationNs interval_ns)
    : board_(board), interval_ns_(interval_ns), line_(std::make_unique<Line>()) {}

void RecordingDecoder::feed(std::string_view block, const Take& take) {
  counts_.bytes += block.size();
  stream_.feed(block, [&](std::string_view text) { line(text, take); });
  counts_.too_long = stream_.overlong();
}

void RecordingDecoder::finish(const Take& take) {
  stream_.finish([&](std::string_view text) { line(text, take); });
  flush_second(true, take);
}

void RecordingDecoder::line(std::string_view text, const Take& take) {
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  ++counts_.lines;
  parse_line(text, *line_);
  if (!line_->has_memory) {
    ++counts_.foreign;
    return;
  }
  for (const Item& item : line_->items()) {
    if (item.kind == ItemKind::kUnknown) ++counts_.unknown_tokens;
  }
  PowerReading reading = reading_of(*line_, board_, 0, Source::kRecorded);
  if (reading.total_mw) ++counts_.with_total;
  if (!line_->has_time) {
    reading.at = untimed_at_;
    untimed_at_ += interval_ns_;
    take(std::move(reading));
    return;
  }
  if (!counts_.has_time) {
    counts_.has_time = true;
    counts_.first_time_s = line_->time_s;
    second_s_ = line_->time_s;
  }
  if (line_->time_s != second_s_ || second_.size() >= kPerSecondMax) {
    flush_second(false, take);
    second_s_ = line_->time_s;
  }
  second_.push_back(std::move(reading));
}

void RecordingDecoder::flush_second(bool last, const Take& take) {
  if (second_.empty()) return;
  const TimeNs start = (second_s_ - counts_.first_time_s) * kSecond;
  // The last second may be cut short; half a second is as good a guess as any for its spacing.
  const DurationNs span = last && second_.size() > 1 ? kSecond / 2 : kSecond;
  const DurationNs spacing = span / static_cast<DurationNs>(second_.size());
  DurationNs offset = 0;
  for (PowerReading& reading : second_) {
    reading.at = start + offset;
    offset += spacing;
    take(std::move(reading));
  }
  second_.clear();
}

Result<RecordingCounts> read_recording(const std::string& path, const Board& board,
                                       DurationNs interval_ns, const RecordingDecoder::Take& take) {
  const bool standard = path == "-";
  const int fd = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "cannot open " + path);
  RecordingDecoder decoder(board, interval_ns);
  const auto block = std::make_unique<std::array<char, 256 * 1024>>();
  int error = 0;
  for (;;) {
    const ssize_t n = ::read(fd, block->data(), block->size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    decoder.feed(std::string_view(block->data(), static_cast<std::size_t>(n)), take);
  }
  if (!standard) ::close(fd);
  if (error != 0) return fail_errno(error, "cannot read " + path);
  decoder.finish(take);
  return decoder.counts();
}

}  // namespace laird::power
