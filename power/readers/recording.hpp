// A tegrastats capture as readings in time.
//
// Lines carry whole seconds at best, and at short intervals several share one: those are spread
// evenly over their second. Lines without a time are `interval_ns` apart, tegrastats' default being
// one second. Time zero is the first line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/line_splitter.hpp"
#include "power/model/board.hpp"
#include "power/model/reading.hpp"
#include "power/readers/tegrastats/tegrastats_line.hpp"

namespace laird::power {

struct RecordingCounts {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t foreign = 0;         // lines of something else
  std::uint64_t too_long = 0;        // skipped
  std::uint64_t unknown_tokens = 0;  // kept, but of no known shape
  std::uint64_t with_total = 0;
  bool has_time = false;
  std::int64_t first_time_s = 0;
};

// Turns lines into readings with times; feed it blocks of text, readings come out in order.
class RecordingDecoder {
 public:
  using Take = std::function<void(PowerReading)>;

  RecordingDecoder(const Board& board, DurationNs interval_ns);
  void feed(std::string_view block, const Take& take);
  void finish(const Take& take);
  [[nodiscard]] const RecordingCounts& counts() const { return counts_; }

 private:
  void line(std::string_view text, const Take& take);
  void flush_second(bool last, const Take& take);

  static constexpr std::size_t kPerSecondMax = 1000;

  const Board& board_;
  DurationNs interval_ns_;
  std::unique_ptr<Line> line_;
  LineSplitter stream_{kLineBytesMax, Overlong::kSkip};
  RecordingCounts counts_;
  std::vector<PowerReading> second_;  // readings that share one second
  std::int64_t second_s_ = 0;
  TimeNs untimed_at_ = 0;
};

// A whole file, in blocks: memory does not grow with it. "-" is standard input.
[[nodiscard]] Result<RecordingCounts> read_recording(const std::string& path, const Board& board,
                                                     DurationNs interval_ns,
                                                     const RecordingDecoder::Take& take);

}  // namespace laird::power
