#include "lab/watts/fleet.hpp"

#include <algorithm>
#include <memory>

#include "base/duration.hpp"
#include "base/require.hpp"
#include "lab/network/carry.hpp"
#include "lab/simulator/random.hpp"
#include "lab/watts/before.hpp"
#include "lab/watts/planner.hpp"
#include "power/model/power_gate.hpp"

namespace laird::lab {
namespace {

constexpr TimeNs kStart = kSecond;  // when boards begin
constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);
constexpr DurationNs kEvery = kSecond;  // readings, ticks, plans

struct Quality {
  double loss = 0.02;
  double duplicate = 0.0;
  double delay_min = 10e6;  // ns
  double delay_max = 150e6;
};

template <class What>
struct Arriving {
  TimeNs at = 0;
  std::size_t from = 0;
  What what;
};

// Takes out what has arrived, in the order in which it was sent.
template <class What>
std::vector<Arriving<What>> take_arrived(std::vector<Arriving<What>>& inbox, TimeNs now) {
  const auto later = std::stable_partition(inbox.begin(), inbox.end(),
                                           [now](const Arriving<What>& a) { return a.at <= now; });
  std::vector<Arriving<What>> out(std::make_move_iterator(inbox.begin()),
                                  std::make_move_iterator(later));
  inbox.erase(inbox.begin(), later);
  return out;
}

struct Member {
  std::unique_ptr<CurveBoard> board;
  TimeNs tick_at = 0;  // readings and, but for ours, ticks
  TimeNs metered_at = kStart;
  double energy_j = 0.0;
  double seen = 0.0;  // use as a reading shows it
  bool joined = false;
  std::vector<Arriving<std::string>> inbox;
  std::unique_ptr<consensus::Ledger> ledger;  // before
  std::vector<Arriving<consensus::Message>> letters;
};

class WattsFleet {
 public:
  WattsFleet(const WattsWorkload& workload, std::int64_t budget_mw, Strategy strategy,
             std::uint64_t seed)
      : workload_(workload), budget_mw_(budget_mw), strategy_(strategy), random_(seed) {
    std::int64_t floors = 0;
    for (const WattsBoard& board : workload.boards) floors += board.floor_mw;
    divided_mw_ = std::max<std::int64_t>(budget_mw - floors, 1);
    make_budget();
    members_.resize(workload.boards.size());
    for (std::size_t b = 0; b < members_.size(); ++b) begin(b, seed + b);
    if (strategy == Strategy::kBefore) begin_ledgers();
  }

  WattsResult run() {
    const TimeNs end = kStart + static_cast<DurationNs>((workload_.until_s + 1.0) * 1e9);
    const auto window = static_cast<DurationNs>(kWattsWindowS * 1e9);
    TimeNs plan_at = kStart;
    TimeNs look_at = kStart + kSecond;
    while (true) {
      const std::size_t next = soonest();
      const TimeNs at = std::min(members_[next].tick_at, members_[next].board->next_at());
      if (plan_at <= std::min(at, look_at)) {
        plan(plan_at);
        plan_at += kEvery;
      } else if (look_at <= at) {
        look(look_at, (look_at - kStart) % window == 0);
        if (look_at >= end) break;
        look_at += kSecond;
      } else {
        happen(next, at);
      }
    }
    return finish();
  }

 private:
  void make_budget() {
    fleet_.budget.founding_epoch = 1;
    fleet_.budget.total[kPower] = budget_mw_;
    for (const WattsBoard& board : workload_.boards) {
      core::FleetMember member{board.node, {}};
      member.floor[kPower] = board.floor_mw;
      fleet_.budget.founders.push_back(board.node);
      fleet_.budget.members.push_back(member);
    }
  }

  [[nodiscard]] core::Division division(std::size_t b) const {
    return {divided_mw_, workload_.boards[b].floor_mw};
  }

  void configure(std::size_t b, core::CoreConfig& config) const {
    const WattsBoard& drawn = workload_.boards[b];
    power::Board board;
    board.model = drawn.model;
    board.temperature_limit_mc = 90'000;
    config.node = drawn.node;
    config.lanes[0].kind = core::LaneKind::kGpu;
    config.meter = power::MeterConfig::for_board(board);
    config.power = core::PowerConfig::for_board(board);
    const auto boards = static_cast<std::int64_t>(members_.size());
    if (strategy_ == Strategy::kEqual) config.power.cap_mw = budget_mw_ / boards;
    if (strategy_ == Strategy::kSize) {
      config.power.cap_mw = drawn.most_mw() * budget_mw_ / workload_.most_mw();
    }
    if (strategy_ == Strategy::kOurs) config.fleet = fleet_;
  }

  void begin(std::size_t b, std::uint64_t seed) {
    Member& member = members_[b];
    member.board = std::make_unique<CurveBoard>("foresight", seed);
    member.board->configure = [this, b](core::CoreConfig& config) { configure(b, config); };
    member.board->send = [this, b](const core::SendToPeer& message) { post(b, message); };
    member.board->begin(workload_.boards[b].tasks);
    member.tick_at = kStart + static_cast<DurationNs>(b * 37 % 100) * 10 * kMillisecond + 1;
  }

  void begin_ledgers() {
    const auto graph = core::graph_of_members(fleet_.budget);
    const consensus::LedgerConfig config = core::ledger_config(fleet_, 1);
    for (std::size_t b = 0; b < members_.size(); ++b) {
      members_[b].ledger = std::make_unique<consensus::Ledger>(
          config, core::node_number(workload_.boards[b].node), 1, graph, graph, kStart);
    }
  }

  [[nodiscard]] std::size_t soonest() const {
    std::size_t best = 0;
    TimeNs best_at = kNever;
    for (std::size_t b = 0; b < members_.size(); ++b) {
      const TimeNs at = std::min(members_[b].tick_at, members_[b].board->next_at());
      if (at >= best_at) continue;
      best = b;
      best_at = at;
    }
    return best;
  }

  // Power since the last look at this board; its lane was used like this all the time.
  void meter(std::size_t b, TimeNs at) {
    Member& member = members_[b];
    const power::PowerModel& model = workload_.boards[b].model;
    const double use = member.board->use();
    const DurationNs passed = at - member.metered_at;
    const double mw =
        static_cast<double>(model.idle_mw) + use * static_cast<double>(model.gpu_dynamic_mw);
    member.energy_j += mw * 1e-3 * seconds(passed);
    member.seen = power::seen_after(member.seen, use, passed, core::kMeterLag).use;
    member.metered_at = at;
  }

  void happen(std::size_t b, TimeNs at) {
    Member& member = members_[b];
    meter(b, at);
    const core::Fleet& fleet = member.board->state().fleet;
    if (fleet.ledger && at >= fleet.tick_at) hear(b, at);
    if (member.tick_at == at) {
      member.tick_at += kEvery;
      read_power(b, at);
      if (strategy_ == Strategy::kOurs && !member.joined) {
        member.joined = true;
        member.board->tell(at, core::FleetJoined{false});
      }
      if (member.ledger) tick_ledger(b, at);
      return;
    }
    if (member.board->next_at() == at) member.board->happen_next();
  }

  void read_power(std::size_t b, TimeNs at) {
    const power::PowerModel& model = workload_.boards[b].model;
    power::PowerReading reading;
    reading.at = at;
    reading.total_mw =
        model.idle_mw +
        static_cast<std::int64_t>(members_[b].seen * static_cast<double>(model.gpu_dynamic_mw));
    members_[b].board->tell(at, core::PowerSampled{reading});
  }

  void set_cap(std::size_t b, TimeNs at, std::int64_t cap_mw) {
    meter(b, at);
    core::CapRequested cap;
    cap.cap_mw = std::max<std::int64_t>(cap_mw, 1);
    members_[b].board->tell(at, cap);
  }

  [[nodiscard]] std::size_t place_of(std::string_view node) const {
    for (std::size_t b = 0; b < members_.size(); ++b) {
      if (workload_.boards[b].node == node) return b;
    }
    LAIRD_REQUIRE(false, "a message goes to a member");
    return 0;
  }

  // Messages of our ledger, which the core gathers between two ticks.
  void post(std::size_t from, const core::SendToPeer& message) {
    const std::size_t to = place_of(message.to);
    const TimeNs now = members_[from].board->state().now;
    carry(quality_, random_, [&](double delay) {
      members_[to].inbox.push_back({now + static_cast<DurationNs>(delay), from, message.bytes});
    });
  }

  void hear(std::size_t b, TimeNs at) {
    core::PeersHeard heard;
    for (auto& message : take_arrived(members_[b].inbox, at)) {
      heard.messages.push_back({workload_.boards[message.from].node, std::move(message.what)});
    }
    if (!heard.messages.empty()) members_[b].board->tell(at, std::move(heard));
  }

  // The ledger beside the core.
  void tick_ledger(std::size_t b, TimeNs at) {
    Member& member = members_[b];
    consensus::Out out;
    for (const auto& letter : take_arrived(member.letters, at)) {
      member.ledger->on_message(core::node_number(workload_.boards[letter.from].node), letter.what,
                                at, out);
    }
    member.ledger->set_demand(kPower, demand_before(member.board->state(), division(b)));
    member.ledger->on_tick(at, out);
    for (consensus::Outgoing& o : out.messages) {
      const std::size_t to = place_of(*core::name_of(fleet_.budget, o.to));
      carry(quality_, random_, [&](double delay) {
        members_[to].letters.push_back({at + static_cast<DurationNs>(delay), b, o.message});
      });
    }
    const double share = static_cast<double>(member.ledger->effective(at)[kPower]) /
                         static_cast<double>(consensus::kWhole);
    set_cap(b, at,
            workload_.boards[b].floor_mw +
                static_cast<std::int64_t>(share * static_cast<double>(divided_mw_)));
  }

  void plan(TimeNs at) {
    if (strategy_ != Strategy::kCentral && strategy_ != Strategy::kOracle) return;
    std::vector<consensus::Demand> demands;
    for (std::size_t b = 0; b < members_.size(); ++b) {
      const core::State& state = members_[b].board->state();
      demands.push_back(
          strategy_ == Strategy::kOracle
              ? demand_of_oracle(state, workload_.boards[b], division(b))
              : consensus::demand_from(needs_of(state, core::Resource::kPower, division(b)),
                                       limits_of(state, core::Resource::kPower, division(b))));
    }
    const std::vector<std::int64_t> caps = caps_by_welfare(workload_, demands, divided_mw_);
    for (std::size_t b = 0; b < members_.size(); ++b) set_cap(b, at, caps[b]);
  }

  [[nodiscard]] static bool throttled(const core::State& state) {
    const bool works = std::any_of(state.live.begin(), state.live.end(), [](const core::Task& t) {
      return t.outcome == core::Outcome::kNone &&
             (t.state == core::TaskState::kReady || t.state == core::TaskState::kRunning);
    });
    return works && state.lanes[0].gate.ceiling_ppm < core::kShareWholePpm;
  }

  void look(TimeNs at, bool window_ends) {
    bool held = false;
    double energy_j = 0.0;
    for (std::size_t b = 0; b < members_.size(); ++b) {
      meter(b, at);
      energy_j += members_[b].energy_j;
      held = held || throttled(members_[b].board->state());
    }
    held_seconds_ += held ? 1.0 : 0.0;
    if (!window_ends) return;
    const double drawn_w = (energy_j - energy_then_j_) / kWattsWindowS;
    const double budget_w = static_cast<double>(budget_mw_) * 1e-3;
    wasted_j_ += held_seconds_ * std::max(0.0, budget_w - drawn_w);
    result_.over = std::max(result_.over, drawn_w / budget_w - 1.0);
    result_.moments.push_back({seconds(at - kStart), drawn_w, held_seconds_ > 0.0});
    held_seconds_ = 0.0;
    energy_then_j_ = energy_j;
  }

  WattsResult finish() {
    const double windows = static_cast<double>(result_.moments.size());
    const double budget_w = static_cast<double>(budget_mw_) * 1e-3;
    result_.waste = wasted_j_ / (budget_w * std::max(windows, 1.0) * kWattsWindowS);
    for (std::size_t b = 0; b < members_.size(); ++b) {
      result_.energy_j += members_[b].energy_j;
      const std::vector<SimulatedTask>& tasks = workload_.boards[b].tasks;
      for (std::uint32_t i = 0; i < tasks.size(); ++i) {
        const double weight = static_cast<double>(tasks[i].weight_milli) * 1e-3;
        result_.tasks += weight;
        if (members_[b].board->succeeded_at(i) != kNever) result_.successes += weight;
      }
    }
    return std::move(result_);
  }

  const WattsWorkload& workload_;
  std::int64_t budget_mw_;
  std::int64_t divided_mw_ = 1;
  Strategy strategy_;
  Random random_;
  Quality quality_;
  core::FleetConfig fleet_;
  std::vector<Member> members_;
  double held_seconds_ = 0.0;
  double energy_then_j_ = 0.0;
  double wasted_j_ = 0.0;
  WattsResult result_;
};

}  // namespace

std::string_view name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kEqual: return "equal";
    case Strategy::kSize: return "size";
    case Strategy::kBefore: return "before";
    case Strategy::kOurs: return "ours";
    case Strategy::kCentral: return "central";
    case Strategy::kOracle: return "oracle";
  }
  return "unknown";
}

WattsResult run_watts(const WattsWorkload& workload, std::int64_t budget_mw, Strategy strategy,
                      std::uint64_t seed) {
  WattsFleet fleet(workload, budget_mw, strategy, seed);
  return fleet.run();
}

}  // namespace laird::lab
