#include "lab/governor/loop.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "base/duration.hpp"
#include "power/model/lane_weights.hpp"
#include "power/model/modelled_board.hpp"
#include "power/model/power_gate.hpp"

namespace laird::lab {
namespace {

using power::Board;
using power::Governor;
using power::GovernorInput;
using power::ModelledBoard;
using power::ModelledLoad;

constexpr DurationNs kTick = 10 * kMillisecond;
constexpr DurationNs kSettleLimit = 5 * kSecond;
constexpr double kAboveFactor = 1.05;

// A board file is never quite right: less idle power than the modelled board has, and other
// weights for its lanes.
power::PowerModel believed(const Board& board) {
  power::PowerModel out = board.model;
  out.idle_mw = out.idle_mw * 9 / 10;
  out.gpu_dynamic_mw = out.gpu_dynamic_mw * 14 / 10;
  out.cpu_dynamic_mw = out.cpu_dynamic_mw * 9 / 10;
  return out;
}

std::int32_t permille(double share) { return static_cast<std::int32_t>(std::lround(share * 1000)); }

// What the gate lets through of each lane's demand, by the arithmetic the core uses; `full_mw` is
// the budget at full level. The core then carries a ceiling out in turns, pieces and rests
// (agent/core/step/gate.hpp). A load here is a use between 0 and 1 that is granted to nobody, so
// the ceiling acts at once and nothing is left of a turn.
LoadPoint through_gate(const power::LaneWeights& weights, std::int64_t full_mw, GateKind kind,
                       const LoadPoint& demand, std::int32_t level) {
  const double share = static_cast<double>(level) * 1e-3;
  if (kind == GateKind::kDuty) return {demand.at, demand.gpu * share, demand.cpu * share};
  const power::LaneDemand lanes[] = {{weights.gpu_part_mw(full_mw), permille(demand.gpu)},
                                     {weights.cpu_part_mw(full_mw), permille(demand.cpu)}};
  const double ceiling = static_cast<double>(power::ceiling_at_level(lanes, full_mw, level)) * 1e-3;
  return {demand.at, std::min(demand.gpu, ceiling), std::min(demand.cpu, ceiling)};
}

// The lanes' use as a reading shows it: through a first-order lag. The agent's idea of that lag is
// off as well.
class SeenUse {
 public:
  void add(const LoadPoint& use) {
    gpu_ = power::seen_after(gpu_, use.gpu, kTick, kBelievedLag).use;
    cpu_ = power::seen_after(cpu_, use.cpu, kTick, kBelievedLag).use;
  }
  void teach(power::LaneWeights& weights, std::int64_t total_mw) const {
    weights.observe(permille(gpu_), permille(cpu_), total_mw);
  }

 private:
  static constexpr DurationNs kBelievedLag = ModelledBoard::kSupplyLagNs * 7 / 10;
  double gpu_ = 0;
  double cpu_ = 0;
};

struct Pending {
  TimeNs due = 0;
  std::int32_t level = power::kLevelFull;
};

// Everything the run counts, fed once per tick with what is true, not with what was read.
class Score {
 public:
  explicit Score(LoopResult& out, bool stepped) : out_(out), stepped_(stepped) {}

  void step_at(TimeNs at) {
    close_step();
    step_at_ = at;
    last_off_ = at;
    ++out_.steps;
  }
  void moved(TimeNs at) {
    ++out_.moves;
    if (steady(at)) recent_.push_back(at);
    while (!recent_.empty() && recent_.front() <= at - 2 * kSecond) recent_.pop_front();
    out_.steady_moves_per_2s_max =
        std::max<std::uint64_t>(out_.steady_moves_per_2s_max, recent_.size());
  }
  void disturbed(TimeNs at) { disturbed_at_ = at; }
  void tick(TimeNs at, double power_mw, double demand_mw, double cap_mw) {
    out_.seconds += seconds(kTick);
    static const double kKeep = std::exp(-seconds(kTick) / seconds(ModelledBoard::kSupplyLagNs));
    const double wanted = std::min(demand_mw, cap_mw);
    best_mw_ = best_mw_ < 0 ? wanted : wanted + (best_mw_ - wanted) * kKeep;
    if (steady(at)) out_.steady_seconds += seconds(kTick);
    if (power_mw > cap_mw * kAboveFactor) above_ += seconds(kTick);
    constrained_ = demand_mw > cap_mw;
    if (!constrained_) {
      if (power_mw > cap_mw * kAboveFactor) last_off_ = at;
      return;
    }
    out_.constrained_seconds += seconds(kTick);
    energy_ += power_mw * seconds(kTick);
    allowed_ += cap_mw * seconds(kTick);
    best_ += best_mw_ * seconds(kTick);
    if (std::fabs(power_mw - cap_mw) > 0.05 * cap_mw) last_off_ = at;
    end_ = at;
  }
  void finish() {
    close_step();
    if (allowed_ > 0) out_.mean_to_cap_percent = 100.0 * (energy_ / allowed_ - 1.0);
    if (best_ > 0) out_.mean_to_best_percent = 100.0 * (energy_ / best_ - 1.0);
    if (out_.seconds > 0) out_.above_percent_of_time = 100.0 * above_ / out_.seconds;
  }

 private:
  [[nodiscard]] bool steady(TimeNs at) const { return at - disturbed_at_ >= kSettleLimit; }
  void close_step() {
    if (!stepped_ || step_at_ < 0) return;
    const double settle = seconds(last_off_ - step_at_);
    out_.settle_seconds_max = std::max(out_.settle_seconds_max, settle);
    out_.settled = out_.settled && settle <= seconds(kSettleLimit);
  }

  LoopResult& out_;
  bool stepped_;
  TimeNs step_at_ = -1;
  TimeNs last_off_ = 0;
  TimeNs disturbed_at_ = 0;
  TimeNs end_ = 0;
  bool constrained_ = false;
  double above_ = 0;
  double energy_ = 0;
  double allowed_ = 0;
  double best_ = 0;
  double best_mw_ = -1;
  std::deque<TimeNs> recent_;
};

// Correlated noise around 1: an AR(1) process with a time constant of one second.
class Noise {
 public:
  Noise(double sigma, std::uint64_t seed) : sigma_(sigma), random_(seed) {}
  double next() {
    const double keep = std::exp(-seconds(kTick));
    // Sum of uniforms instead of std::normal_distribution, which differs between libraries.
    double bell = -6.0;
    for (int i = 0; i < 12; ++i) bell += static_cast<double>(random_()) / 18446744073709551616.0;
    state_ = keep * state_ + std::sqrt(1 - keep * keep) * bell;
    return 1.0 + sigma_ * state_;
  }

 private:
  double sigma_;
  std::mt19937_64 random_;
  double state_ = 0;
};

// A reader's period with a tenth of jitter: captures are sampled on whole seconds, and readings in
// step with them would always fall on the same side of a change.
class ReadingClock {
 public:
  ReadingClock(DurationNs period, std::uint64_t seed) : period_(period), random_(seed ^ 0x5EED) {}
  DurationNs next() {
    const auto tenth = static_cast<std::uint64_t>(period_ / 10);
    return period_ * 95 / 100 + static_cast<DurationNs>(random_() % (tenth + 1));
  }

 private:
  DurationNs period_;
  std::mt19937_64 random_;
};

}  // namespace

power::GovernorConfig governor_config_for(const Board& board) {
  power::GovernorConfig out = power::GovernorConfig::for_board(board);
  out.idle_mw = believed(board).idle_mw;
  out.dynamic_mw = believed(board).gpu_dynamic_mw + believed(board).cpu_dynamic_mw;
  return out;
}

LoopResult run_loop(const Board& board, const Scenario& scenario, const LoopConfig& config) {
  LoopResult out;
  out.name = scenario.name;
  // 15 C: the loop is about the cap; temperature has its own tests.
  ModelledBoard model(board, 15'000);
  const power::GovernorConfig governor_config = governor_config_for(board);
  Governor governor(governor_config);
  power::LaneWeights weights(believed(board));
  SeenUse seen;
  Noise noise(scenario.noise, config.seed);
  ReadingClock clock(config.reading_period_ns, config.seed);
  TimeNs reading_at = 0;
  Score score(out, scenario.stepped);
  std::deque<Pending> pending;
  std::size_t load_index = 0;
  std::size_t cap_index = 0;
  LoadPoint demand;
  double cap_mw = 0;
  std::int32_t gate = power::kLevelFull;
  DurationNs held_ns = 0;
  const auto carry_out = [&](const std::optional<power::Move>& move, TimeNs now) {
    if (!move) return;
    score.moved(now);
    pending.push_back(Pending{now + config.actuation_delay_ns, move->level_permille});
    governor.on_applied(now, move->rung, power::KnobResult::kDone, move->level_permille);
  };
  for (TimeNs now = 0; now < scenario.length_ns; now += kTick) {
    while (cap_index < scenario.caps.size() && scenario.caps[cap_index].at <= now) {
      cap_mw = static_cast<double>(scenario.caps[cap_index++].cap_mw);
      governor.set_cap(now, static_cast<std::int64_t>(cap_mw));
      score.disturbed(now);
      if (scenario.stepped) score.step_at(now);
      // As the agent does: a new cap does not wait for a reading.
      carry_out(governor.step(GovernorInput{now, std::nullopt, std::nullopt, 0}), now);
    }
    while (load_index < scenario.load.size() && scenario.load[load_index].at <= now) {
      const LoadPoint next = scenario.load[load_index++];
      const double change =
          std::max(std::fabs(next.gpu - demand.gpu), std::fabs(next.cpu - demand.cpu));
      if (change > 0.05) score.disturbed(now);
      if (scenario.stepped && change > 0) score.step_at(now);
      demand = next;
    }
    while (!pending.empty() && pending.front().due <= now) {
      gate = pending.front().level;
      pending.pop_front();
    }
    const LoadPoint use =
        through_gate(weights, governor_config.dynamic_mw, config.gate, demand, gate);
    held_ns = use.gpu < demand.gpu || use.cpu < demand.cpu ? held_ns + kTick : 0;
    seen.add(use);
    const double factor = scenario.noise > 0 ? noise.next() : 1.0;
    const ModelledLoad load{use.gpu * factor, use.cpu * factor, 1000, 1000};
    model.advance(kTick, load);
    const double demand_mw = model.power_mw(ModelledLoad{demand.gpu, demand.cpu, 1000, 1000});
    score.tick(now, model.supply_mw(), demand_mw, cap_mw);
    if (now < reading_at) continue;
    reading_at = now + clock.next();
    const power::PowerReading reading = model.read(now, load);
    seen.teach(weights, *reading.total_mw);
    const auto move =
        governor.step(GovernorInput{now, reading.total_mw, reading.hottest_mc(), held_ns});
    carry_out(move, now);
    if (config.keep_trace) {
      out.trace.push_back(TracePoint{seconds(now), model.supply_mw() * 1e-3, demand_mw * 1e-3,
                                     cap_mw * 1e-3, gate});
    }
  }
  score.finish();
  return out;
}

std::vector<Scenario> synthetic_scenarios(const Board& board) {
  const std::int64_t dynamic = board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw;
  const auto at_fraction = [&](std::int64_t percent) {
    return board.model.idle_mw + dynamic * percent / 100;
  };
  const auto at = [](int s) { return s * kSecond; };
  std::vector<Scenario> out;
  out.push_back({"constant", {{0, 1.0, 1.0}}, {{0, at_fraction(50)}}, 300 * kSecond, 0, true});
  out.push_back({"noisy", {{0, 1.0, 1.0}}, {{0, at_fraction(50)}}, 600 * kSecond, 0.02, false});
  Scenario caps{"cap steps", {{0, 1.0, 1.0}}, {}, 0, 0, true};
  Scenario loads{"load steps", {}, {{0, at_fraction(50)}}, 0, 0, true};
  static constexpr int kCaps[] = {60, 30, 80, 45, 20, 70};
  static constexpr double kLoads[] = {1.0, 0.1, 0.9, 0.6, 0.2, 1.0, 0.7, 0.0, 1.0};
  for (int i = 0; i < 12; ++i) {
    caps.caps.push_back({at(i * 30), at_fraction(kCaps[i % 6])});
    loads.load.push_back({at(i * 30), kLoads[i % 9], kLoads[i % 9]});
  }
  caps.length_ns = at(360);
  loads.length_ns = at(360);
  out.push_back(caps);
  out.push_back(loads);
  return out;
}

namespace {

struct Range {
  double low = 0;
  double high = 0;
};

Range middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t edge = values.size() / 20;
  return Range{values[edge], values[values.size() - 1 - edge]};
}

Scenario recorded(const RecordedTrace& trace, const Board& board) {
  Scenario out;
  out.name = trace.name;
  for (const double at : trace.at_s) {
    out.load.push_back({static_cast<TimeNs>((at - trace.at_s[0]) * 1e9), 0, 0});
  }
  out.length_ns = out.load.back().at + kSecond;
  const std::int64_t dynamic = board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw;
  out.caps.push_back({0, board.model.idle_mw + dynamic / 2});
  return out;
}

constexpr std::size_t kReadingsMin = 60;

}  // namespace

std::optional<Scenario> scenario_from_power(const RecordedTrace& trace, const Board& board) {
  if (trace.power_mw.size() < kReadingsMin) return std::nullopt;
  const Range range = middle_of(trace.power_mw);
  // A trace that hardly moves has no load to govern.
  if (range.high - range.low < 0.05 * range.high) return std::nullopt;
  Scenario out = recorded(trace, board);
  for (std::size_t i = 0; i < out.load.size(); ++i) {
    const double demand =
        std::clamp((trace.power_mw[i] - range.low) / (range.high - range.low), 0.0, 1.0);
    out.load[i].gpu = demand;
    out.load[i].cpu = demand;
  }
  return out;
}

std::optional<Scenario> scenario_from_loads(const RecordedTrace& trace, const Board& board) {
  if (trace.gpu_load.size() < kReadingsMin || trace.cpu_load.size() < kReadingsMin) {
    return std::nullopt;
  }
  const Range gpu = middle_of(trace.gpu_load);
  const Range cpu = middle_of(trace.cpu_load);
  if (gpu.high < 0.05 || cpu.high < 0.05) return std::nullopt;
  Scenario out = recorded(trace, board);
  out.name = "lanes of " + out.name;
  for (std::size_t i = 0; i < out.load.size(); ++i) {
    out.load[i].gpu = std::min(1.0, trace.gpu_load[i] / gpu.high);
    out.load[i].cpu = std::min(1.0, trace.cpu_load[i] / cpu.high);
  }
  return out;
}

}  // namespace laird::lab
