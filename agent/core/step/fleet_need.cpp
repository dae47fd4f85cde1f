// From the need to demand: how much of each resource this board's tasks need so that every task
// that can still meet its deadline does, and how much the board could use.
//
// Source: our own, for the costs f_i of the co-optimization paper (Doostmohammadian et al. 2025).
// The cost function is in consensus/ledger/demand.hpp, what a task needs in
// agent/placement/need.hpp; docs/ledger.md, "Price and grant". Symbols: full = what a lane takes of
// the resource while a task runs on it (mW, thousandths of a core, millionths of a gpu); idle =
// what the board takes when nothing runs, of power alone. A board's power is what readings and
// known use have taught (power/model/lane_weights.hpp), and before that what its board file says.
//
// Being throttled never lowers a demand: the need is counted at the full speed of the lane, and the
// speed of a task is measured while it runs, not while the gate rests its lane.
#include "agent/core/step/fleet_need.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "agent/placement/need.hpp"

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

// A governor holds the mean a little below its cap, and readings are rounded. With a cap of just
// what a board can draw it would hold work back, so everything is asked for with this much more.
constexpr std::int64_t kHeadroomPart = 32;
// So many readings make what was learned of the board's power better than its file.
constexpr std::uint64_t kReadingsMin = 100;

struct BoardUse {
  std::int64_t idle = 0;
  std::int64_t least_permille = 0;              // of a lane with a task: its gate closes no further
  EnumArray<LaneKind, std::int64_t, 2> kind{};  // all lanes of a kind
  EnumArray<LaneKind, std::int64_t, 2> lanes{};  // how many
};

std::int64_t with_headroom(std::int64_t amount) {
  const std::int64_t bounded = std::clamp<std::int64_t>(amount, 0, kAmountMax);
  return std::min(kAmountMax, bounded + bounded / kHeadroomPart);
}

BoardUse power_use(const State& state) {
  const power::LaneWeights& learned = state.power.weights;
  const power::MeterConfig& file = state.config.meter;
  const bool known = learned.observations() >= kReadingsMin;
  BoardUse use;
  use.least_permille = state.config.power.governor.rungs[power::Rung::kStepGate].floor_permille;
  use.idle = with_headroom(known ? learned.idle_mw() : file.idle_mw);
  use.kind[LaneKind::kGpu] = with_headroom(known ? learned.gpu_mw() : file.gpu_weight);
  use.kind[LaneKind::kCpu] = with_headroom(known ? learned.cpu_mw() : file.cpu_weight);
  return use;
}

BoardUse use_of(const State& state, Resource resource) {
  BoardUse use;
  if (resource == Resource::kPower) use = power_use(state);
  for (const Lane& lane : state.lanes) {
    const LaneKind kind = lane.config.kind;
    ++use.lanes[kind];
    if (resource == Resource::kCpu) use.kind[kind] += lane.config.cores_milli;
    if (resource == Resource::kGpu && kind == LaneKind::kGpu) use.kind[kind] += 1'000'000;
  }
  for (const LaneKind kind : {LaneKind::kGpu, LaneKind::kCpu}) {
    if (use.lanes[kind] == 0) use.kind[kind] = 0;
  }
  return use;
}

bool takes_part(const Task& task) {
  return task.outcome == Outcome::kNone && task.state != TaskState::kPaused &&
         task.state != TaskState::kPausing;
}

// Tasks of one kind of lane. With no more tasks than lanes each has a lane to itself, otherwise
// they take turns on all of them.
class KindNeeds {
 public:
  KindNeeds(const State& state, LaneKind kind, std::int64_t lanes) : kind_(kind), lanes_(lanes) {
    for (const Task& task : state.live) {
      if (task.spec.lane == kind && takes_part(task)) tasks_.push_back(&task);
    }
  }
  // Of the kind's lanes, how many can be at work.
  [[nodiscard]] std::int64_t at_work() const {
    return std::min(static_cast<std::int64_t>(tasks_.size()), lanes_);
  }
  void add(consensus::Parts full, TimeNs now, std::vector<consensus::TaskNeed>& out) const {
    if (full <= 0) return;
    const bool turns = static_cast<std::int64_t>(tasks_.size()) > lanes_;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Task& task = *tasks_[i];
      const placement::Claim claim = placement::claim_of(placement::need_of(task, task.rate, now));
      consensus::TaskNeed need;
      need.lane = 2 * (turns ? 0 : i) + static_cast<std::size_t>(kind_);
      need.full = turns ? full : full / lanes_;
      need.busy = turns ? claim.busy / lanes_ : claim.busy;
      need.left = claim.left;
      need.success_ppm = static_cast<std::uint32_t>(std::lround(claim.success * 1e6));
      need.weight_milli = task.spec.weight_milli;
      out.push_back(need);
    }
  }

 private:
  LaneKind kind_;
  std::int64_t lanes_;
  std::vector<const Task*> tasks_;
};

consensus::Parts parts_of(std::int64_t amount, const Division& division) {
  const Wide parts = static_cast<Wide>(amount) * consensus::kWhole / division.divided;
  return static_cast<consensus::Parts>(
      std::clamp<Wide>(parts, -consensus::kWhole, consensus::kWhole));
}

constexpr std::array kKinds = {LaneKind::kGpu, LaneKind::kCpu};

}  // namespace

consensus::BoardLimits limits_of(const State& state, Resource resource, const Division& division) {
  const BoardUse use = use_of(state, resource);
  const std::int64_t idle = use.idle - division.reserved;
  std::int64_t wanted = idle;
  std::int64_t all = idle;
  std::int64_t least = idle;
  for (const LaneKind kind : kKinds) {
    if (use.lanes[kind] == 0) continue;
    const KindNeeds tasks(state, kind, use.lanes[kind]);
    const std::int64_t at_work = use.kind[kind] * tasks.at_work() / use.lanes[kind];
    wanted += at_work;
    least += at_work * use.least_permille / power::kLevelFull;
    all += use.kind[kind];
  }
  return {parts_of(idle, division), parts_of(least, division), parts_of(wanted, division),
          parts_of(all, division)};
}

std::vector<consensus::TaskNeed> needs_of(const State& state, Resource resource,
                                          const Division& division) {
  const BoardUse use = use_of(state, resource);
  std::vector<consensus::TaskNeed> out;
  for (const LaneKind kind : kKinds) {
    if (use.lanes[kind] == 0) continue;
    const KindNeeds tasks(state, kind, use.lanes[kind]);
    tasks.add(parts_of(use.kind[kind], division), state.now, out);
  }
  return out;
}

consensus::Demand demand_of(const State& state, Resource resource) {
  const TimeNs wall_now = state.now + state.wall_minus_agent;
  const FleetMember* self = state.fleet.budget.member(state.config.node);
  const Division division{state.fleet.budget.divided_at(resource, wall_now),
                          self == nullptr ? 0 : self->floor[resource]};
  if (division.divided <= 0) {
    consensus::Demand none;
    none.cap = 0;
    return none;
  }
  return consensus::demand_from(needs_of(state, resource, division),
                                limits_of(state, resource, division));
}

}  // namespace laird::core
