#include "agent/placement/planner/timetable.hpp"

#include <algorithm>

namespace laird::placement {
namespace {

// More lateness than this is not told apart; one task's more still fits beside it.
constexpr Seconds kLateMax = INT64_MAX / 2;
static_assert(kWeightMax * (2 * kForever) <= INT64_MAX - kLateMax);

}  // namespace

void Timetable::begin(std::size_t board) {
  board_ = board;
  lanes_ = lanes_of(instance_, board);
  const PlannedBoard& b = instance_.boards[board];
  plain_serial_ = instance_.mode == Mode::kSerial && b.closed.empty();
  end_s_ = 0;
  segments_.clear();
  segments_.push_back({});
  for (const Window& w : b.closed) {
    if (segments_.back().from_s == w.from_s) segments_.pop_back();
    segments_.push_back({w.from_s, b.memory_mb, b.gpu, lanes_});
    if (w.to_s < kForever) segments_.push_back({w.to_s, 0, 0, 0});
  }
}

Seconds Timetable::earliest(std::size_t task, Seconds from_s) const {
  const Choice& c = instance_.choice(task, board_);
  Seconds start = std::max(from_s, c.ready_s);
  if (plain_serial_) return std::max(start, end_s_);
  const PlannedBoard& b = instance_.boards[board_];
  const std::int64_t memory_free = b.memory_mb - instance_.tasks[task].memory_mb;
  const int gpu_free = b.gpu - c.gpu;
  const std::size_t count = segments_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Segment& s = segments_[i];
    if (s.lanes < lanes_ && s.memory_mb <= memory_free && s.gpu <= gpu_free) {
      if (i + 1 == count || start + c.time_s <= segments_[i + 1].from_s) return start;
    } else if (i + 1 < count) {
      start = std::max(start, segments_[i + 1].from_s);
    } else {
      return kForever;
    }
  }
  return kForever;
}

std::size_t Timetable::cut_at(Seconds at, std::size_t hint) {
  std::size_t i = hint;
  while (i < segments_.size() && segments_[i].from_s < at) ++i;
  if (i < segments_.size() && segments_[i].from_s == at) return i;
  Segment piece = segments_[i - 1];
  piece.from_s = at;
  segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(i), piece);
  return i;
}

void Timetable::take(std::size_t task, Seconds start_s) {
  const Choice& c = instance_.choice(task, board_);
  if (plain_serial_) {
    end_s_ = std::max(end_s_, start_s + c.time_s);
    return;
  }
  const std::size_t first = cut_at(start_s, 0);
  const std::size_t last = cut_at(start_s + c.time_s, first);
  for (std::size_t i = first; i < last; ++i) {
    segments_[i].memory_mb += instance_.tasks[task].memory_mb;
    segments_[i].gpu += c.gpu;
    segments_[i].lanes += 1;
  }
}

BoardResult run_order(const Instance& instance, Timetable& timetable, std::size_t board,
                      const Order& order, std::vector<Seconds>* starts) {
  BoardResult out;
  timetable.begin(board);
  const auto put = [&](std::size_t task, Seconds start) {
    timetable.take(task, start);
    out.finish_s = std::max(out.finish_s, start + instance.choice(task, board).time_s);
    if (starts != nullptr) (*starts)[task] = start;
    const Seconds latest = latest_start(instance, task, board);
    if (start <= latest) return;
    out.missed_weight += instance.tasks[task].weight;
    out.late_s = std::min(out.late_s + instance.tasks[task].weight * (start - latest), kLateMax);
  };
  for (const int t : order) {
    const auto task = static_cast<std::size_t>(t);
    if (instance.tasks[task].running >= 0) put(task, 0);
  }
  for (const int t : order) {
    const auto task = static_cast<std::size_t>(t);
    if (instance.tasks[task].running >= 0) continue;
    const Seconds start = timetable.earliest(task);
    if (start >= kForever) {
      out.finish_s = kForever;
      return out;
    }
    put(task, start);
  }
  return out;
}

std::vector<Placed> place_orders(const Instance& instance, const std::vector<Order>& orders) {
  std::vector<Placed> out(instance.tasks.size());
  std::vector<Seconds> starts(instance.tasks.size(), kForever);
  Timetable timetable(instance);
  for (std::size_t b = 0; b < orders.size(); ++b) {
    (void)run_order(instance, timetable, b, orders[b], &starts);
    for (const int t : orders[b]) {
      out[static_cast<std::size_t>(t)] = {static_cast<int>(b), starts[static_cast<std::size_t>(t)]};
    }
  }
  return out;
}

std::vector<Order> orders_of(const Instance& instance, const std::vector<Placed>& placed) {
  std::vector<Order> out(instance.boards.size());
  for (std::size_t t = 0; t < placed.size(); ++t) {
    out[static_cast<std::size_t>(placed[t].board)].push_back(static_cast<int>(t));
  }
  for (Order& order : out) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return placed[static_cast<std::size_t>(a)].start_s <
             placed[static_cast<std::size_t>(b)].start_s;
    });
  }
  return out;
}

}  // namespace laird::placement
