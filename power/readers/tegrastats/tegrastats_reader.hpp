// Live readings from tegrastats: a child process of ours, or any descriptor that carries its lines.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>

#include "os/line_splitter.hpp"
#include "power/readers/reader.hpp"
#include "power/readers/tegrastats/tegrastats_line.hpp"

namespace laird::power {

class TegrastatsReader final : public Reader {
 public:
  // Starts `program --interval MS` (no shell) and starts it again, with growing pauses, when it
  // ends. The child gets no descriptor but its output and dies with this process.
  [[nodiscard]] static std::unique_ptr<TegrastatsReader> child(std::string program,
                                                               const Board& board,
                                                               DurationNs period_ns);
  // Takes ownership of the descriptor; ends when it does.
  [[nodiscard]] static std::unique_ptr<TegrastatsReader> from_fd(int fd, const Board& board,
                                                                 DurationNs period_ns);
  ~TegrastatsReader() override;

  [[nodiscard]] std::optional<PowerReading> poll(TimeNs now) override;
  [[nodiscard]] int fd() const override { return fd_; }
  [[nodiscard]] TimeNs next_poll_at(TimeNs now) const override;
  [[nodiscard]] ReaderStatus status(TimeNs now) const override;
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  TegrastatsReader(std::string program, const Board& board, DurationNs period_ns);
  void start(TimeNs now);
  void stop_child();
  void ended(TimeNs now);
  void drain(TimeNs now);

  static constexpr std::size_t kQueueMax = 16;
  static constexpr DurationNs kPauseMax = kMinute;

  std::string program_;  // empty when reading a given descriptor
  Board board_;
  DurationNs period_ns_;
  std::unique_ptr<Line> line_;
  LineSplitter stream_{kLineBytesMax, Overlong::kSkip};
  std::deque<PowerReading> queue_;
  int fd_ = -1;
  pid_t pid_ = -1;
  TimeNs start_at_ = INT64_MIN / 2;
  TimeNs last_at_ = INT64_MIN / 2;
  DurationNs pause_ns_ = kSecond;
  bool ended_ = false;
  std::uint64_t lines_ = 0;
  std::string trouble_;
};

}  // namespace laird::power
