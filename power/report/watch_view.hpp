// The live table of `power watch`: one row per value with its recent past as a sparkline.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "power/model/meter.hpp"
#include "power/readers/reader.hpp"

namespace laird::power {

// The values as block characters, lowest to highest; the scale starts at zero for `from_zero`.
[[nodiscard]] std::string sparkline(const std::deque<double>& values, bool from_zero);

class WatchView {
 public:
  explicit WatchView(const Board& board) : board_(board) {}

  void add(const PowerReading& reading);
  // The whole screen, newline-separated, no line wider than `columns`.
  [[nodiscard]] std::string screen(const Meter& meter, const ReaderStatus& status,
                                   std::size_t columns) const;

 private:
  struct Row {
    std::string name;
    std::string unit;
    int decimals = 2;
    bool from_zero = true;
    bool fresh = false;  // part of the newest reading
    std::deque<double> values;
    double low = 0;
    double high = 0;
  };

  void put(const std::string& name, const char* unit, int decimals, bool from_zero, double value);

  static constexpr std::size_t kRowsMax = 64;
  static constexpr std::size_t kHistoryMax = 120;

  const Board& board_;
  std::vector<Row> rows_;
  std::string rule_;
};

}  // namespace laird::power
