#include "report/story/series.hpp"

#include <algorithm>
#include <cmath>

namespace laird::story {
namespace {

// The width to try next: twice the last one, or what would give every place an equal part.
DurationNs wider(DurationNs width, DurationNs span, std::size_t places) {
  const DurationNs even = span / static_cast<DurationNs>(std::max<std::size_t>(1, places)) + 1;
  return width == 0 ? even : 2 * width;
}

}  // namespace

void Series::join(Place& into, const Place& later) {
  if (later.low.value < into.low.value) into.low = later.low;
  if (later.high.value > into.high.value) into.high = later.high;
  into.last = later.last;
}

void Series::add(const Point& point) {
  if (!std::isfinite(point.value) || !std::isfinite(point.beside)) return;
  const Place place{point, point, point, point};
  if (!places_.empty() && width_ > 0 && point.at - places_.back().first.at <= width_) {
    join(places_.back(), place);
    return;
  }
  places_.push_back(place);
  if (places_.size() > places_max_) thin();
}

void Series::add_change(TimeNs at, double value) {
  if (!places_.empty() && places_.back().last.value == value) return;
  add({at, value, 0.0});
}

void Series::shrink(std::size_t places_max) {
  places_max_ = std::max<std::size_t>(2, places_max);
  if (places_.size() > places_max_) thin();
  places_.shrink_to_fit();
}

// Leaves room, so that the next points do not thin again at once.
void Series::thin() {
  const std::size_t wanted = std::max<std::size_t>(1, places_max_ * 3 / 4);
  const DurationNs span = places_.back().last.at - places_.front().first.at;
  while (places_.size() > wanted) {
    width_ = wider(width_, span, wanted);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].last.at - places_[kept].first.at <= width_) {
        join(places_[kept], places_[i]);
      } else {
        places_[++kept] = places_[i];
      }
    }
    places_.resize(kept + 1);
  }
}

std::vector<Point> Series::points() const {
  std::vector<Point> out;
  for (const Place& place : places_) {
    std::array<const Point*, 4> all = {&place.first, &place.low, &place.high, &place.last};
    if (place.low.at > place.high.at) std::swap(all[1], all[2]);
    const Point* last = nullptr;
    for (const Point* p : all) {
      const bool is_same = last != nullptr && p->at == last->at && p->value == last->value;
      if (!is_same) out.push_back(*p);
      last = p;
    }
  }
  return out;
}

const char* name(Doing doing) {
  static constexpr std::array<const char*, kDoings> kNames = {"running",  "throttled",  "waiting",
                                                              "starting", "making way", "crashed",
                                                              "paused",   "agent down"};
  return kNames[static_cast<std::size_t>(doing)];
}

Doing Cell::mostly() const {
  return static_cast<Doing>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

namespace {

void join_cells(Cell& into, const Cell& later) {
  into.to = later.to;
  for (std::size_t i = 0; i < kDoings; ++i) into.ns[i] += later.ns[i];
  if (later.lane >= 0) into.lane = later.lane;
}

bool are_alike(const Cell& a, Doing doing, int lane) {
  const DurationNs whole = a.to - a.from;
  return a.ns[static_cast<std::size_t>(doing)] == whole && a.lane == lane;
}

}  // namespace

void Track::add(Doing doing, int lane, TimeNs from, TimeNs to) {
  if (to <= from) return;
  Cell cell{from, to, {}, doing == Doing::kRunning ? lane : -1};
  cell.ns[static_cast<std::size_t>(doing)] = to - from;
  if (!cells_.empty()) {
    Cell& last = cells_.back();
    const bool shares = width_ > 0 && to - last.from <= width_;
    if (shares || are_alike(last, doing, cell.lane)) {
      join_cells(last, cell);
      return;
    }
  }
  cells_.push_back(cell);
  if (cells_.size() > cells_max_) thin();
}

void Track::shrink(std::size_t cells_max) {
  cells_max_ = std::max<std::size_t>(2, cells_max);
  if (cells_.size() > cells_max_) thin();
  cells_.shrink_to_fit();
}

void Track::thin() {
  const std::size_t wanted = std::max<std::size_t>(1, cells_max_ * 3 / 4);
  const DurationNs span = cells_.back().to - cells_.front().from;
  while (cells_.size() > wanted) {
    width_ = wider(width_, span, wanted);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < cells_.size(); ++i) {
      if (cells_[i].to - cells_[kept].from <= width_) {
        join_cells(cells_[kept], cells_[i]);
      } else {
        cells_[++kept] = cells_[i];
      }
    }
    cells_.resize(kept + 1);
  }
}

}  // namespace laird::story
