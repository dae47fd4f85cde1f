#include "lab/ledger/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace laird::lab {
namespace {

using consensus::Demand;
using consensus::kResources;
using consensus::kWhole;

constexpr std::int64_t kWeekTicks = 7 * 24 * 3600;

enum class Return : std::uint8_t { kNever, kJournal, kFresh };

struct Event {
  enum class Kind : std::uint8_t {
    kCrash,
    kReturn,
    kCut,
    kMend,
    kSplit,
    kHeal,
    kJoin,
    kMembers,
    kDemand,
    kStale,
    kBlackout,
    kLeave
  };
  std::int64_t at = 0;
  Kind kind = Kind::kCrash;
  NodeId a = 0;
  NodeId b = 0;
  Return how = Return::kNever;
};

class Schedule {
 public:
  Schedule(const ScheduleLimits& limits, std::uint64_t seed)
      : limits_(limits), random_(seed ^ 0xC0FFEE), seed_(seed) {}

  ScheduleResult run();

 private:
  void plan_crashes();
  void plan_network();
  void plan_joins();
  NodeId victim(int already);
  void apply(World& world, const Event& event);
  void new_demand(World& world, NodeId node);
  void add_liars(World& world);
  void stop_lies(World& world);
  [[nodiscard]] consensus::CountersBegin draw_counters();
  void measure_reclaim(const World& world, ScheduleResult& result);
  void tell_news(const World& world);

  ScheduleLimits limits_;
  Random random_;
  std::uint64_t seed_;
  int nodes_ = 0;
  std::int64_t calm_at_ = 0;
  std::int64_t fault_at_ = 0;  // when a board or a link last failed or came back
  std::shared_ptr<const NeighbourGraph> graph_;
  std::shared_ptr<const NeighbourGraph> wider_graph_;
  std::vector<NodeId> victims_;
  std::vector<Event> events_;
  std::vector<std::pair<Account, std::int64_t>> down_since_;
  consensus::Epoch told_epoch_ = 0;
  consensus::Register told_;
};

NodeId Schedule::victim(int already) {
  const NodeId any = random_.below(static_cast<std::uint32_t>(nodes_));
  if (already == 0) return any;
  const NodeId last = victims_.back();
  const auto near = graph_->neighbours(last);
  switch (random_.below(4)) {
    case 0: return any;
    case 1: return near.front();  // its first heir
    default: return near[random_.below(static_cast<std::uint32_t>(near.size()))];
  }
}

void Schedule::plan_crashes() {
  const int crashes =
      static_cast<int>(random_.below(static_cast<std::uint32_t>(limits_.crashes_max + 1)));
  std::int64_t at = random_.between(10, 60);
  for (int k = 0; k < crashes; ++k) {
    const NodeId node = victim(k);
    if (std::find(victims_.begin(), victims_.end(), node) != victims_.end()) continue;
    victims_.push_back(node);
    events_.push_back({at, Event::Kind::kCrash, node, 0, Return::kNever});
    const Return how = static_cast<Return>(random_.below(3));
    const std::int64_t away = random_.chance(0.5) ? random_.between(1, limits_.lease_ticks)
                                                  : random_.between(1, 4 * limits_.lease_ticks);
    if (how != Return::kNever) {
      events_.push_back({at + away, Event::Kind::kReturn, node, 0, how});
    }
    // The next crash comes at once, or while this board is being settled, or later.
    const std::uint32_t gap = random_.below(3);
    at += gap == 0   ? random_.between(0, 2)
          : gap == 1 ? limits_.lease_ticks + random_.between(-4, 12)
                     : random_.between(0, 90);
  }
}

void Schedule::plan_network() {
  const auto splits = random_.below(static_cast<std::uint32_t>(limits_.partitions_max + 1));
  for (std::uint32_t k = 0; k < splits; ++k) {
    const std::int64_t at = random_.between(10, 150);
    events_.push_back({at, Event::Kind::kSplit, random_.below(4), 0, Return::kNever});
    events_.push_back({at + random_.between(3, 4 * limits_.lease_ticks), Event::Kind::kHeal, 0, 0,
                       Return::kNever});
  }
  const auto cuts = random_.below(static_cast<std::uint32_t>(limits_.cuts_max + 1));
  for (std::uint32_t k = 0; k < cuts; ++k) {
    const NodeId a = random_.below(static_cast<std::uint32_t>(nodes_));
    const auto near = graph_->neighbours(a);
    const NodeId b = near[random_.below(static_cast<std::uint32_t>(near.size()))];
    const std::int64_t at = random_.between(5, 150);
    events_.push_back({at, Event::Kind::kCut, a, b, Return::kNever});
    events_.push_back({at + random_.between(3, 4 * limits_.lease_ticks), Event::Kind::kMend, a, b,
                       Return::kNever});
  }
  for (int k = 0; k < 4; ++k) {
    events_.push_back({random_.between(5, 250), Event::Kind::kDemand, 0, 0, Return::kNever});
    events_.push_back({random_.between(60, 300), Event::Kind::kStale, 0, 0, Return::kNever});
  }
  if (nodes_ > 3 && random_.chance(0.15)) {
    events_.push_back({random_.between(20, 200), Event::Kind::kLeave,
                       random_.below(static_cast<std::uint32_t>(nodes_)), 0, Return::kNever});
  }
  if (random_.chance(0.15)) {
    const std::int64_t at = random_.between(40, 200);
    events_.push_back({at, Event::Kind::kBlackout, 0, 0, Return::kNever});
    events_.push_back({at + random_.between(0, 40), Event::Kind::kStale, 0, 0, Return::kNever});
  }
}

void Schedule::plan_joins() {
  if (limits_.joins_max == 0 || !random_.chance(0.3)) return;
  const NodeId fresh = static_cast<NodeId>(nodes_);
  std::vector<NodeId> list = graph_->members();
  list.push_back(fresh);
  wider_graph_ = std::make_shared<NeighbourGraph>(list);
  const std::int64_t at = random_.between(10, 150);
  events_.push_back({at, Event::Kind::kJoin, fresh, 0, Return::kNever});
  // The others hear of the new member list one by one.
  for (NodeId node = 0; node < fresh; ++node) {
    events_.push_back(
        {at + random_.between(0, 20), Event::Kind::kMembers, node, 0, Return::kNever});
  }
}

void Schedule::new_demand(World& world, NodeId node) {
  Board& b = world.boards()[node];
  if (b.ledger == nullptr || !b.up) return;
  const Parts fair = kWhole / nodes_;
  for (std::size_t r = 0; r < kResources; ++r) {
    Demand d;
    d.demand = fair / 100 * random_.between(0, 400);
    d.urgency = static_cast<std::uint16_t>(random_.between(64, 1024));
    d.floor = random_.chance(0.3) ? fair / 100 * random_.between(0, 50) : 0;
    d.cap = random_.chance(0.3) ? fair / 100 * random_.between(50, 200) : kWhole;
    b.ledger->set_demand(r, d);
  }
}

void Schedule::apply(World& world, const Event& e) {
  if (limits_.tell) {
    static const char* kNames[] = {"crash", "return",  "cut",    "mend",  "split",    "heal",
                                   "join",  "members", "demand", "stale", "blackout", "leave"};
    if (e.kind != Event::Kind::kMembers) {
      std::printf("tick %lld: %s %u %u %s\n", static_cast<long long>(world.tick()),
                  kNames[static_cast<int>(e.kind)], e.a, e.b,
                  e.kind != Event::Kind::kReturn ? ""
                  : e.how == Return::kJournal    ? "with journal"
                                                 : "without journal");
    }
  }
  using Kind = Event::Kind;
  const bool harmless = e.kind == Kind::kJoin || e.kind == Kind::kMembers ||
                        e.kind == Kind::kDemand || e.kind == Kind::kLeave;
  if (!harmless) fault_at_ = world.tick();
  switch (e.kind) {
    case Event::Kind::kCrash:
      if (!world.honest(e.a)) break;
      if (world.boards()[e.a].up)
        down_since_.emplace_back(world.boards()[e.a].ledger->account(), world.tick());
      world.crash(e.a);
      break;
    case Event::Kind::kReturn:
      std::erase_if(down_since_, [&](const auto& d) { return d.first.node == e.a; });
      if (e.how == Return::kJournal) {
        world.restart_with_journal(e.a);
      } else {
        world.restart_without_journal(e.a);
      }
      new_demand(world, e.a);
      break;
    case Event::Kind::kCut: world.cut(e.a, e.b, true); break;
    case Event::Kind::kMend: world.cut(e.a, e.b, false); break;
    case Event::Kind::kSplit: {
      // The partition separates one board, two, three, or half of the fleet.
      const std::uint32_t sizes[] = {1, 2, 3, static_cast<std::uint32_t>(nodes_) / 2};
      for (std::uint32_t k = 0; k < sizes[e.a]; ++k) {
        world.boards()[random_.below(static_cast<std::uint32_t>(nodes_))].partition = 1;
      }
      break;
    }
    case Event::Kind::kHeal:
      for (Board& b : world.boards()) b.partition = 0;
      break;
    case Event::Kind::kJoin:
      world.add_board(e.a, wider_graph_);
      new_demand(world, e.a);
      break;
    case Event::Kind::kMembers: world.set_members(e.a, wider_graph_); break;
    case Event::Kind::kDemand:
      for (NodeId n = 0; n < world.boards().size(); ++n) {
        if (random_.chance(0.5)) new_demand(world, n);
      }
      break;
    case Event::Kind::kStale: world.release_stale(); break;
    case Event::Kind::kLeave:
      if (world.boards()[e.a].up) world.boards()[e.a].ledger->leave();
      break;
    case Event::Kind::kBlackout: world.blackout(kWeekTicks + random_.between(0, 10'000)); break;
  }
}

void Schedule::measure_reclaim(const World& world, ScheduleResult& result) {
  std::erase_if(down_since_, [&](const auto& d) {
    if (world.unsettled(d.first)) return false;
    const std::int64_t since = std::max(d.second, fault_at_);
    result.reclaim_ticks = std::max(result.reclaim_ticks, world.tick() - since);
    return true;
  });
}

std::string name(const Account& a) {
  return std::to_string(a.node) + "." + std::to_string(a.incarnation);
}

// Prints in one line what a new version of the register has changed.
void tell_version(const World& world, consensus::Epoch founding_epoch,
                  const consensus::Register& before, const consensus::Register& now) {
  std::printf("tick %lld: version %u of epoch %llu by %s:", static_cast<long long>(world.tick()),
              now.version, static_cast<unsigned long long>(founding_epoch),
              name(now.owner).c_str());
  for (const consensus::Entry& e : now.entries) {
    const consensus::Entry* old = before.find(e.account);
    if (old == nullptr) std::printf(" enter %s,", name(e.account).c_str());
    if (e.dead && (old == nullptr || !old->dead || (e.confirmed_dead && !old->confirmed_dead))) {
      std::printf(" dead%s %s,", e.confirmed_dead ? " for certain" : "", name(e.account).c_str());
    }
    if (old != nullptr && e.quorum != old->quorum) {
      std::printf(" quorum %s %d,", name(e.account).c_str(), e.quorum);
    }
    for (const consensus::Tie& t : e.ties) {
      const consensus::Tie* was = old == nullptr ? nullptr : old->tie_to(t.peer);
      if (e.account < t.peer && (was == nullptr || was->edge_number != t.edge_number)) {
        std::printf(" open %s-%s,", name(e.account).c_str(), name(t.peer).c_str());
      }
    }
  }
  for (const consensus::Entry& e : before.entries) {
    const consensus::Entry* left = now.find(e.account);
    if (left == nullptr) std::printf(" settle %s,", name(e.account).c_str());
    for (const consensus::Tie& t : e.ties) {
      const bool inside = left == nullptr && now.find(t.peer) == nullptr;
      const consensus::Tie* is = left == nullptr ? nullptr : left->tie_to(t.peer);
      if (e.account < t.peer && !inside && (is == nullptr || is->edge_number != t.edge_number)) {
        std::printf(" close %s-%s,", name(e.account).c_str(), name(t.peer).c_str());
      }
    }
  }
  std::printf(" keepers");
  for (const Account& k : now.keepers) std::printf(" %s", name(k).c_str());
  std::printf("\n");
}

// Prints the end of a run: the newest register, and each board's own view.
void tell_end(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return;
  const consensus::Register& reg = newest->registered();
  std::printf("tick %lld: register %u of epoch %llu, owner %s, keepers",
              static_cast<long long>(world.tick()), reg.version,
              static_cast<unsigned long long>(newest->founding_epoch()), name(reg.owner).c_str());
  for (const Account& k : reg.keepers) std::printf(" %s", name(k).c_str());
  std::printf("\n");
  for (const consensus::Entry& e : reg.entries) {
    std::printf("  %s%s base %lld, quorum %d, ties", name(e.account).c_str(),
                e.confirmed_dead ? " (dead for certain)"
                : e.dead         ? " (dead)"
                                 : "",
                static_cast<long long>(e.base[0]), e.quorum);
    for (const consensus::Tie& t : e.ties) std::printf(" %s", name(t.peer).c_str());
    std::printf("\n");
  }
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr) continue;
    const TimeNs now = world.local_time(b);
    std::printf("  board %s: %s%s%s, holds %lld, register %u", name(b.ledger->account()).c_str(),
                b.up ? "up" : "down", b.ledger->left() ? ", left" : "",
                b.ledger->fenced(now) ? ", fenced" : "",
                static_cast<long long>(b.ledger->holding()[0]), b.ledger->registered().version);
    if (const consensus::Register* vote = b.ledger->voted_for()) {
      std::printf(", voted for one by %s", name(vote->owner).c_str());
    }
    for (const consensus::Edge& e : b.ledger->edges()) {
      std::printf("; edge to %s%s%s", name(e.peer).c_str(), e.closing ? " closing" : "",
                  e.peer_dead ? " dead" : "");
    }
    std::printf("\n");
  }
}

void Schedule::tell_news(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return;
  if (newest->founding_epoch() == told_epoch_ && newest->registered().version == told_.version)
    return;
  if (told_epoch_ != 0) tell_version(world, newest->founding_epoch(), told_, newest->registered());
  told_epoch_ = newest->founding_epoch();
  told_ = newest->registered();
}

// A liar is the lowest member, which calls the roll and owns the first version, or another keeper,
// or anybody.
void Schedule::add_liars(World& world) {
  for (int k = 0; k < limits_.liars; ++k) {
    const std::uint32_t kind = random_.below(3);
    const auto boards = static_cast<std::uint32_t>(nodes_);
    const NodeId node = kind == 0   ? 0
                        : kind == 1 ? random_.below(std::min(boards, std::uint32_t{8}))
                                    : random_.below(boards);
    world.add_liar(node, seed_ * 31 + static_cast<std::uint64_t>(k));
    if (limits_.tell) std::printf("%s\n", world.liars().back().habits().c_str());
  }
}

// Whoever lied goes on honestly or is switched off.
void Schedule::stop_lies(World& world) {
  world.stop_lies();
  for (const Liar& l : world.liars()) {
    if (random_.chance(0.4)) world.crash(l.node());
  }
}

consensus::CountersBegin Schedule::draw_counters() {
  consensus::CountersBegin begin;
  if (!limits_.near_limits) return begin;
  const auto near = [&](std::uint32_t limit) {
    switch (random_.below(3)) {
      case 0: return std::uint32_t{0};
      case 1: return 0x8000'0000U - random_.below(40);
      default: return limit - random_.below(200);
    }
  };
  begin.version = random_.chance(0.5) ? 0x8000'0000U - random_.below(20) : 0;
  begin.edge_number = random_.chance(0.5) ? 0x8000'0000U - random_.below(20) : 0;
  begin.seq = near(consensus::kSeqMax);
  begin.round = random_.chance(0.5) ? 0 : (1ULL << (random_.chance(0.5) ? 31 : 62)) - 3;
  return begin;
}

ScheduleResult Schedule::run() {
  ScheduleResult result;
  result.seed = seed_;
  // The size is drawn log-uniformly with a preference for small fleets: the rare cases are in small
  // fleets, the traffic is in large ones.
  const double span = std::log(static_cast<double>(limits_.nodes_max + 1) / limits_.nodes_min);
  nodes_ = std::min(
      limits_.nodes_max,
      static_cast<int>(limits_.nodes_min * std::exp(span * std::pow(random_.unit(), 1.5))));
  std::vector<NodeId> ids;
  ids.reserve(static_cast<std::size_t>(nodes_));
  for (int i = 0; i < nodes_; ++i) ids.push_back(static_cast<NodeId>(i));
  graph_ = std::make_shared<NeighbourGraph>(ids);
  plan_crashes();
  plan_network();
  plan_joins();
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.at < b.at; });
  calm_at_ = events_.empty() ? 0 : events_.back().at + 1;

  consensus::LedgerConfig config;
  config.lease = limits_.lease_ticks * config.tick;
  config.drift_ppm = limits_.drift_ppm;
  config.faults = limits_.faults;
  NetworkConfig network;
  network.loss = 0.4 * random_.unit();
  network.duplicate = 0.2 * random_.unit();
  network.delay_max = static_cast<int>(random_.between(1, 4));
  network.stale = nodes_ > 30 ? 0.001 : 0.01;
  if (limits_.network) {
    const double stale = network.stale;
    network = *limits_.network;
    network.stale = stale;
  }
  config.counters = draw_counters();
  WorldOptions options;
  options.real_incarnations = limits_.near_limits;
  options.rebooted = limits_.near_limits && random_.chance(0.4);
  options.broker_lies = limits_.broker_lies;
  World world(config, graph_, network, seed_, options);
  add_liars(world);
  for (NodeId n = 0; n < static_cast<NodeId>(nodes_); ++n) new_demand(world, n);

  Checker checker;
  std::size_t next = 0;
  bool calm = false;
  const std::int64_t end = calm_at_ + 12 * limits_.lease_ticks;
  while (world.tick() < end) {
    while (next < events_.size() && events_[next].at <= world.tick()) apply(world, events_[next++]);
    if (!calm && world.tick() >= calm_at_) {
      calm = true;
      for (Board& b : world.boards()) b.partition = 0;
      stop_lies(world);
      result.needs_operator = needs_operator(world);
      if (limits_.tell) {
        std::printf("tick %lld: faults stop; %s\n", static_cast<long long>(world.tick()),
                    result.needs_operator.empty() ? "everything can be recovered"
                                                  : result.needs_operator.c_str());
      }
    }
    world.step();
    checker.check(world);
    measure_reclaim(world, result);
    if (limits_.tell) tell_news(world);
    if (limits_.liars > 0) {
      if (!calm || world.tick() % 2 != 0) continue;
      result.business = unsettled_business(world);
      if (!result.business.empty()) result.fenced_ticks = world.tick() - calm_at_;
      if (world.tick() > calm_at_ + result.fenced_ticks + limits_.lease_ticks) break;
    } else if (calm && world.tick() > calm_at_ + limits_.lease_ticks && world.tick() % 5 == 0) {
      double worst = 0;
      for (std::size_t r = 0; r < kResources; ++r) {
        worst = std::max(worst, static_cast<double>(stranded(world, r)) / kWhole);
      }
      result.stranded = worst;
      if (worst <= 1e-6) break;
    }
    if (!checker.result().first_break.empty() && !limits_.tell) break;
  }
  if (limits_.tell) tell_end(world);
  result.nodes = nodes_;
  result.crashes = static_cast<int>(victims_.size());
  result.ticks = world.tick();
  result.versions = world.newest() == nullptr ? 0 : world.newest()->registered().version;
  result.excess_max = checker.result().excess_max;
  result.overstated_max = checker.result().overstated_max;
  result.owed_max = checker.result().owed_max;
  result.bound = checker.result().bound;
  result.guarded = checker.result().guarded;
  result.first_break = checker.result().first_break;
  return result;
}

}  // namespace

ScheduleResult run_schedule(const ScheduleLimits& limits, std::uint64_t seed) {
  return Schedule(limits, seed).run();
}

}  // namespace laird::lab
