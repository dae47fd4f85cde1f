// What a report keeps of a stream of readings: bounded, however long the stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plot/svg_plot.hpp"
#include "power/model/meter.hpp"
#include "power/model/reading.hpp"
#include "power/readers/recording.hpp"

namespace laird::power {

// A value over time in at most kBucketsMax buckets; when they run out, neighbours are merged and
// every bucket becomes twice as wide.
class BucketedTrace {
 public:
  void add(TimeNs at, double value);
  [[nodiscard]] std::vector<plot::PlotPoint> points(double x_scale) const;  // x = seconds * x_scale
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] double mean() const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] DurationNs bucket_ns() const { return width_; }

  static constexpr std::size_t kBucketsMax = 1024;

 private:
  struct Bucket {
    double low = 0, high = 0, sum = 0;
    std::uint64_t count = 0;
  };
  void widen();

  DurationNs width_ = 100 * kMillisecond;
  TimeNs origin_ = 0;
  std::vector<Bucket> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0, low_ = 0, high_ = 0;
};

class ReportSummary {
 public:
  explicit ReportSummary(const Board& board)
      : board_(board), meter_(MeterConfig::for_board(board)) {}

  void add(const PowerReading& reading);
  // The page of what was added; `counts` and `title` say what it was made from.
  [[nodiscard]] std::string html(std::string_view title, const RecordingCounts& counts) const;
  // The same numbers as text for a terminal.
  [[nodiscard]] std::string text(std::string_view title, const RecordingCounts& counts) const;

  [[nodiscard]] const Meter& meter() const { return meter_; }

 private:
  struct Named {
    std::string name;
    BucketedTrace trace;
  };

  static BucketedTrace& trace_of(std::vector<Named>& all, const std::string& name);
  [[nodiscard]] double quantile_w(double q) const;
  [[nodiscard]] std::vector<plot::Bar> histogram() const;
  [[nodiscard]] std::string cards() const;
  [[nodiscard]] std::string rail_table() const;
  [[nodiscard]] std::string accuracy() const;
  [[nodiscard]] plot::Plot lines(const std::vector<Named>& all, double scale,
                                 const char* unit) const;

  const Board& board_;
  Meter meter_;
  BucketedTrace total_;
  std::vector<Named> rails_;
  std::vector<Named> zones_;
  std::vector<Named> loads_;
  std::map<std::int64_t, std::uint64_t> totals_by_10mw_;
  std::string rule_;
  Scope scope_ = Scope::kUnknown;
  TimeNs first_at_ = 0;
  TimeNs last_at_ = 0;
  bool any_ = false;
};

}  // namespace laird::power
