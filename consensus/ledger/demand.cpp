#include "consensus/ledger/demand.hpp"

#include <algorithm>
#include <bit>

namespace laird::consensus {
namespace {

constexpr int kOctaveBits = 8;  // binary digits of an octave
// Twice the success for the same work makes a deadline dearer by this. Success for work is told
// apart between 2^-kOctavesBelow per budget and second and 2^(kOctaves - kOctavesBelow).
constexpr std::int64_t kPriceStep = kPriceWhole / 8;
constexpr std::int64_t kOctaves = 24;
constexpr std::int64_t kOctavesBelow = 16;
static_assert(kPriceWhole + kOctaves * kPriceStep <= kMissPriceMax);
static_assert(kMissPriceMax < kNumberMax / 64, "a price and a sum of prices must fit");

// log2 with kOctaveBits binary digits after the point; between powers of two on the straight line.
std::int64_t log2_fixed(std::uint64_t value) {
  const int whole = static_cast<int>(std::bit_width(value | 1)) - 1;
  const std::uint64_t rest = (value | 1) - (std::uint64_t{1} << whole);
  const std::uint64_t part =
      whole >= kOctaveBits ? rest >> (whole - kOctaveBits) : rest << (kOctaveBits - whole);
  return (static_cast<std::int64_t>(whole) << kOctaveBits) + static_cast<std::int64_t>(part);
}

// `success` in millionths of a thousandth, `work` in parts times milliseconds.
std::int64_t price_of_success(Wide success, Wide work) {
  if (success <= 0) return 0;
  const auto clipped = [](Wide v) {
    return static_cast<std::uint64_t>(std::clamp<Wide>(v, 1, INT64_MAX));
  };
  // One success is 10^9, one budget for a second is 10^15 parts times milliseconds: 19.93 octaves
  // less.
  constexpr std::int64_t kUnits = 5102;
  const std::int64_t octaves = log2_fixed(clipped(success)) - log2_fixed(clipped(work)) + kUnits +
                               (kOctavesBelow << kOctaveBits);
  return (kPriceStep * std::clamp<std::int64_t>(octaves, 0, kOctaves << kOctaveBits)) >>
         kOctaveBits;
}

// What one lane needs, and the success and the work of the tasks that it is for.
struct LaneNeed {
  Parts parts = 0;
  Wide success = 0;
  Wide work = 0;
};

// `tasks` is all of one lane, ascending by the time left.
LaneNeed need_of_lane(const std::vector<TaskNeed>& tasks, std::size_t from, std::size_t to) {
  LaneNeed out;
  Wide busy = 0;
  for (std::size_t i = from; i < to; ++i) {
    const TaskNeed& task = tasks[i];
    const DurationNs left = std::max(task.left, kSecond);
    busy += std::max<DurationNs>(task.busy, 0);
    const Wide speed = std::min<Wide>(busy * kWhole / left, kWhole);
    out.parts = std::max(out.parts, static_cast<Parts>(speed * task.full / kWhole));
    out.success += static_cast<Wide>(task.success_ppm) * task.weight_milli;
    out.work += static_cast<Wide>(task.full) * std::max<DurationNs>(task.busy, 0) / kMillisecond;
  }
  return out;
}

std::uint16_t urgency_for(Parts range) {
  const std::int64_t slope = kPriceWhole / std::max<Parts>(range, 1);
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(slope, 1, kUrgencyMax));
}

}  // namespace

void Demand::archive(Archive& ar) {
  ar(demand, floor, cap, urgency);
  if (ar.since(4)) ar(want, miss_price);
}

Demand in_range(Demand d) {
  d.urgency = std::max<std::uint16_t>(d.urgency, 1);
  d.floor = std::clamp<Parts>(d.floor, 0, kWhole);
  d.cap = std::clamp<Parts>(d.cap, d.floor, kWhole);
  d.demand = std::clamp<Parts>(d.demand, 0, kWhole);
  d.want = std::clamp<Parts>(d.want, d.demand, kWhole);
  d.miss_price = std::clamp<std::int64_t>(d.miss_price, 0, kMissPriceMax);
  return d;
}

Response response_to(const Demand& d, std::int64_t price) {
  const std::int64_t a = d.urgency;
  const std::int64_t above = a * d.want;
  const std::int64_t below = above + d.miss_price;
  Response out;
  if (const Parts x = d.want + price / a; x >= d.demand) {
    out = {x, false, above};
  } else if (const Parts y = d.want + (price + d.miss_price) / a; y <= d.demand) {
    out = {y, false, below};
  } else {
    out = {d.demand, true, 0};
  }
  const Parts kept = std::clamp(out.best, d.floor, d.cap);
  return kept == d.floor || kept == d.cap ? Response{kept, true, 0} : out;
}

Demand demand_from(const std::vector<TaskNeed>& tasks, const BoardLimits& limits) {
  std::vector<TaskNeed> sorted = tasks;
  for (TaskNeed& task : sorted) task.full = std::clamp<Parts>(task.full, 0, kWhole);
  std::stable_sort(sorted.begin(), sorted.end(), [](const TaskNeed& a, const TaskNeed& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.left < b.left;
  });
  LaneNeed all;
  for (std::size_t from = 0; from < sorted.size();) {
    std::size_t to = from;
    while (to < sorted.size() && sorted[to].lane == sorted[from].lane) ++to;
    const LaneNeed lane = need_of_lane(sorted, from, to);
    all.parts = std::min(kWhole, all.parts + lane.parts);
    all.success += lane.success;
    all.work += lane.work;
    from = to;
  }
  Demand d;
  d.floor = std::max<Parts>({limits.idle, limits.least, 0});
  d.cap = std::max(limits.cap, d.floor);
  d.want = std::clamp(limits.want, d.floor, d.cap);
  d.demand = std::clamp(limits.idle + all.parts, d.floor, d.want);
  // A board with nothing to do has the slope that it would have with all of its lanes at work.
  d.urgency = urgency_for((d.want > d.floor ? d.want : d.cap) - d.floor);
  if (all.parts > 0) {
    d.miss_price = d.urgency * (d.demand - d.floor) + price_of_success(all.success, all.work);
  }
  return in_range(d);
}

double cost_of(const Demand& demand, double share) {
  const Demand d = in_range(demand);
  const double lack = static_cast<double>(d.want) - share;
  const double late = std::max(0.0, static_cast<double>(d.demand) - share);
  const double sum =
      0.5 * static_cast<double>(d.urgency) * lack * lack + static_cast<double>(d.miss_price) * late;
  return sum / static_cast<double>(kUrgencyOne) / static_cast<double>(kWhole);
}

}  // namespace laird::consensus
