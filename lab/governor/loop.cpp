#include "lab/governor/loop.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "power/model/modelled_board.hpp"

namespace laird::lab {
namespace {

using power::Board;
using power::Governor;
using power::GovernorInput;
using power::ModelledBoard;
using power::ModelledLoad;
using power::Rung;

constexpr DurationNs kTick = 10 * kMillisecond;
constexpr DurationNs kSettleLimit = 5 * kSecond;
constexpr double kAboveFactor = 1.05;

double seconds(DurationNs ns) { return static_cast<double>(ns) * 1e-9; }

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
    if (std::fabs(power_mw - cap_mw) > 0.05 * cap_mw) last_off_ = at;
    end_ = at;
  }
  void finish() {
    close_step();
    if (allowed_ > 0) out_.mean_to_cap_percent = 100.0 * (energy_ / allowed_ - 1.0);
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

}  // namespace

power::GovernorConfig governor_config_for(const Board& board) {
  power::GovernorConfig out;
  // A board file is never quite right: the governor is told 10 % less idle power and a quarter
  // more dynamic power than the modelled board has.
  out.idle_mw = board.model.idle_mw * 9 / 10;
  out.dynamic_mw = (board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw) * 5 / 4;
  out.limit_mc = board.temperature_limit_mc;
  power::RungConfig& gate = out.rungs[static_cast<std::size_t>(Rung::kStepGate)];
  gate.available = true;
  gate.floor_permille = 50;
  return out;
}

LoopResult run_loop(const Board& board, const Scenario& scenario, const LoopConfig& config) {
  LoopResult out;
  out.name = scenario.name;
  // 15 C: the loop is about the cap; temperature has its own tests.
  ModelledBoard model(board, 15'000);
  Governor governor(governor_config_for(board));
  Noise noise(scenario.noise, config.seed);
  Score score(out, scenario.stepped);
  std::deque<Pending> pending;
  std::size_t load_index = 0;
  std::size_t cap_index = 0;
  double demand = 0;
  double cap_mw = 0;
  std::int32_t gate = power::kLevelFull;
  bool held_back = true;
  for (TimeNs now = 0; now < scenario.length_ns; now += kTick) {
    while (cap_index < scenario.caps.size() && scenario.caps[cap_index].at <= now) {
      cap_mw = static_cast<double>(scenario.caps[cap_index++].cap_mw);
      governor.set_cap(now, static_cast<std::int64_t>(cap_mw));
      score.disturbed(now);
      if (scenario.stepped) score.step_at(now);
    }
    while (load_index < scenario.load.size() && scenario.load[load_index].at <= now) {
      const double next = scenario.load[load_index++].demand;
      if (std::fabs(next - demand) > 0.05) score.disturbed(now);
      if (scenario.stepped && next != demand) score.step_at(now);
      demand = next;
    }
    while (!pending.empty() && pending.front().due <= now) {
      gate = pending.front().level;
      pending.pop_front();
    }
    const double level = static_cast<double>(gate) * 1e-3;
    const double use = config.gate == GateKind::kCeiling ? std::min(demand, level) : demand * level;
    held_back = held_back && use < demand;
    const double factor = scenario.noise > 0 ? noise.next() : 1.0;
    const ModelledLoad load{use * factor, use * factor, 1000, 1000};
    model.advance(kTick, load);
    const double demand_mw = model.power_mw(ModelledLoad{demand, demand, 1000, 1000});
    score.tick(now, model.supply_mw(), demand_mw, cap_mw);
    if (now % config.reading_period_ns != 0) continue;
    const power::PowerReading reading = model.read(now, load);
    const auto move =
        governor.step(GovernorInput{now, reading.total_mw, reading.hottest_mc(), held_back});
    held_back = true;
    if (move) {
      score.moved(now);
      pending.push_back(Pending{now + config.actuation_delay_ns, move->level_permille});
      governor.on_applied(now, move->rung, power::Outcome::kDone, move->level_permille);
    }
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
  out.push_back({"constant", {{0, 1.0}}, {{0, at_fraction(50)}}, 300 * kSecond, 0, true});
  out.push_back({"noisy", {{0, 1.0}}, {{0, at_fraction(50)}}, 600 * kSecond, 0.02, false});
  Scenario caps{"cap steps", {{0, 1.0}}, {}, 0, 0, true};
  Scenario loads{"load steps", {}, {{0, at_fraction(50)}}, 0, 0, true};
  static constexpr int kCaps[] = {60, 30, 80, 45, 20, 70};
  static constexpr double kLoads[] = {1.0, 0.1, 0.9, 0.6, 0.2, 1.0, 0.7, 0.0, 1.0};
  for (int i = 0; i < 12; ++i) {
    caps.caps.push_back({at(i * 30), at_fraction(kCaps[i % 6])});
    loads.load.push_back({at(i * 30), kLoads[i % 9]});
  }
  caps.length_ns = at(360);
  loads.length_ns = at(360);
  out.push_back(caps);
  out.push_back(loads);
  return out;
}

std::optional<Scenario> scenario_from_power(const std::string& name,
                                            const std::vector<double>& at_s,
                                            const std::vector<double>& power_mw,
                                            const Board& board) {
  if (power_mw.size() < 60 || at_s.size() != power_mw.size()) return std::nullopt;
  std::vector<double> sorted = power_mw;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted[sorted.size() / 20];
  const double high = sorted[sorted.size() - 1 - sorted.size() / 20];
  // A trace that hardly moves has no load to govern.
  if (high - low < 0.05 * high) return std::nullopt;
  Scenario out;
  out.name = name;
  for (std::size_t i = 0; i < power_mw.size(); ++i) {
    const double demand = std::clamp((power_mw[i] - low) / (high - low), 0.0, 1.0);
    out.load.push_back({static_cast<TimeNs>((at_s[i] - at_s[0]) * 1e9), demand});
  }
  out.length_ns = out.load.back().at + kSecond;
  const std::int64_t dynamic = board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw;
  out.caps.push_back({0, board.model.idle_mw + dynamic / 2});
  return out;
}

}  // namespace laird::lab
