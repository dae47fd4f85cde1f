// Long series kept small: what a week brings fits into a fixed number of places, and the extremes
// of every place stay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace laird::story {

struct Point {
  TimeNs at = 0;
  double value = 0.0;
  double beside = 0.0;  // a second number of the same moment: samples beside a loss
};

// A value over time. Up to `places_max` points are kept as they came. Beyond that neighbours share
// a place, which keeps its first, lowest, highest and last point.
class Series {
 public:
  explicit Series(std::size_t places_max = 1024) : places_max_(places_max) {}

  // Moments must not go back. A value that cannot be drawn (not finite) is left out.
  void add(const Point& point);
  // For a value that holds until the next one: the same value again says nothing new.
  void add_change(TimeNs at, double value);
  // Fewer places from now on.
  void shrink(std::size_t places_max);

  [[nodiscard]] bool empty() const { return places_.empty(); }
  // At most four for each place, in the order of time.
  [[nodiscard]] std::vector<Point> points() const;
  // How far apart points of one place may be; 0: every point is there.
  [[nodiscard]] DurationNs place_width() const { return width_; }

 private:
  struct Place {
    Point first;
    Point low;
    Point high;
    Point last;
  };
  static void join(Place& into, const Place& later);
  void thin();

  std::size_t places_max_;
  DurationNs width_ = 0;
  std::vector<Place> places_;
};

// What a task was doing.
enum class Doing : std::uint8_t {
  kRunning,
  kThrottled,  // a limit on power or lane time holds it back
  kWaiting,    // for the lane, for memory, or to be started
  kStarting,   // its trainer is getting ready
  kMakingWay,  // it writes a checkpoint, or its trainer is ending
  kCrashed,    // it waits for the next attempt
  kPaused,
  kAgentDown,
};
inline constexpr std::size_t kDoings = 8;
[[nodiscard]] const char* name(Doing doing);

// A stretch of a task's time, and what it was spent on. A stretch of one kind is exact; several
// short ones that share a cell say how much of it each had.
struct Cell {
  TimeNs from = 0;
  TimeNs to = 0;
  std::array<DurationNs, kDoings> ns{};
  int lane = -1;  // where it ran last within the cell; -1: nowhere

  [[nodiscard]] Doing mostly() const;
};

// A task's stretches without a gap. Up to `cells_max` are kept as they were; beyond that short
// neighbours share a cell.
class Track {
 public:
  explicit Track(std::size_t cells_max = 1024) : cells_max_(cells_max) {}

  // Begins where the last stretch ended.
  void add(Doing doing, int lane, TimeNs from, TimeNs to);
  void shrink(std::size_t cells_max);
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

 private:
  void thin();

  std::size_t cells_max_;
  DurationNs width_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace laird::story
