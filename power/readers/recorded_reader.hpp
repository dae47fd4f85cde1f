// A tegrastats capture played back as if it were live, at its own pace, faster, or at once.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "power/readers/reader.hpp"
#include "power/readers/recording.hpp"

namespace laird::power {

class RecordedReader final : public Reader {
 public:
  // speed 1 is the capture's own pace, 10 ten times that, 0 everything at once.
  [[nodiscard]] static Result<std::unique_ptr<RecordedReader>> open(const std::string& path,
                                                                    const Board& board,
                                                                    DurationNs interval_ns,
                                                                    double speed);
  ~RecordedReader() override;

  // Readings keep the spacing of the capture (divided by the speed), counted from the first poll;
  // at speed 0 they keep the capture's own times.
  [[nodiscard]] std::optional<PowerReading> poll(TimeNs now) override;
  [[nodiscard]] TimeNs next_poll_at(TimeNs now) const override;
  [[nodiscard]] ReaderStatus status(TimeNs now) const override;

 private:
  RecordedReader(int fd, std::string path, const Board& board, DurationNs interval_ns,
                 double speed);
  void fill();
  [[nodiscard]] TimeNs due(TimeNs at) const;

  int fd_;
  std::string path_;
  Board board_;
  double speed_;
  RecordingDecoder decoder_;
  std::deque<PowerReading> queue_;
  bool file_done_ = false;
  bool started_ = false;
  TimeNs start_ = 0;
};

}  // namespace laird::power
