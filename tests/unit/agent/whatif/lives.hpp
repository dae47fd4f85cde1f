// Random lives of one board in virtual time (lab/simulator), as journals would tell them: noisy
// curves, targets near and out of reach, tight deadlines, little memory, power caps.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/whatif/recorder.hpp"
#include "lab/simulator/curve_board.hpp"
#include "lab/simulator/random.hpp"
#include "power/model/modelled_board.hpp"

namespace laird::test {

struct DrawnLife {
  std::vector<lab::SimulatedTask> tasks;
  std::vector<std::unique_ptr<std::vector<double>>> curves;
  std::string policy;
  std::size_t resident_max = 0;
  DurationNs slice = kSecond;
  bool metered = false;
  std::int64_t cap_mw = 0;  // 0: none
  std::uint64_t seed = 0;
};

inline double drawn_normal(lab::Random& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

inline DrawnLife draw_life(std::uint64_t seed) {
  static const char* const kPolicies[] = {"foresight", "round-robin",         "lara",
                                          "laira",     "shortest-task-first", "uniform"};
  lab::Random random(seed);
  DrawnLife out;
  out.seed = seed;
  out.policy = kPolicies[static_cast<std::size_t>(random.unit() * 5.999)];
  const auto tasks = static_cast<std::size_t>(2.0 + random.unit() * 7.0);
  for (std::size_t i = 0; i < tasks; ++i) {
    lab::SimulatedTask task;
    const auto reports = static_cast<std::size_t>(random.between(20.0, 200.0));
    const double a = random.between(0.8, 3.0);
    const double b = random.between(0.25, 0.7);
    const double floor = random.unit() < 0.5 ? 0.0 : random.between(0.02, 0.1);
    const double noise = random.between(0.0, 0.03);
    auto curve = std::make_unique<std::vector<double>>();
    for (std::size_t r = 1; r <= reports; ++r) {
      const double clean = floor + a * std::pow(static_cast<double>(r), -b);
      curve->push_back(clean * std::exp(noise * drawn_normal(random)));
    }
    task.duration_units = random.between(8.0, 60.0);
    task.arrival_units = random.unit() < 0.3 ? 0.0 : random.between(0.0, 60.0);
    const double need = random.between(0.1, 1.3);  // of the curve; beyond it: out of reach
    const double at = std::fmin(need, 1.0) * static_cast<double>(reports);
    task.target_loss = (floor + a * std::pow(std::fmax(1.0, at), -b)) * (need > 1.0 ? 0.8 : 1.0);
    task.deadline_units = std::fmax(
        2.0, need * task.duration_units * random.between(0.8, 1.5 * static_cast<double>(tasks)));
    task.restore_units = random.between(0.0, 1.0);
    task.checkpoint_units = random.between(0.0, 0.5);
    task.planned_length_known = random.unit() < 0.6;
    task.weight_milli = random.unit() < 0.7 ? 1000 : 3000;
    task.losses = curve.get();
    out.curves.push_back(std::move(curve));
    out.tasks.push_back(task);
  }
  if (random.unit() < 0.3) out.resident_max = 1 + static_cast<std::size_t>(random.unit() * 3.0);
  out.slice = random.unit() < 0.5 ? kSecond : kSecond / 2;
  out.metered = random.unit() < 0.7;
  if (out.metered && random.unit() < 0.5) {
    out.cap_mw = static_cast<std::int64_t>(random.between(6'000.0, 13'000.0));
  }
  return out;
}

// Lives it with that policy and records what a journal of it would hold.
inline whatif::Recording record_life(const DrawnLife& life, const std::string& policy) {
  power::Board board;
  board.model.idle_mw = 4'000;
  board.model.cpu_dynamic_mw = 10'000;
  whatif::Recorder recorder;
  core::State before;
  recorder.begin(before);
  power::ModelledBoard modelled(board);
  lab::Random random(life.seed + 77);
  TimeNs at = 0;
  lab::CurveBoard simulated(policy, life.seed, life.slice);
  simulated.resident_max = life.resident_max;
  simulated.configure = [&](core::CoreConfig& config) {
    config.power = core::PowerConfig::for_board(board);
    config.meter = power::MeterConfig::for_board(board);
    if (life.cap_mw > 0) config.power.cap_mw = life.cap_mw;
  };
  power::ModelledLoad load;
  simulated.watch = [&](const core::Event& event, const core::State& state,
                        const core::Effects& effects) {
    if (at != 0) modelled.advance(event.at - at, load);
    at = event.at;
    recorder.see(event, state, effects);
    load.cpu_use = state.lanes.empty() || state.lanes[0].running.empty() ? 0.0 : 1.0;
  };
  simulated.begin(life.tasks);
  TimeNs read_at = 2 * kSecond;
  const auto over = [&] {
    return simulated.state().next_key > life.tasks.size() && simulated.state().live.empty();
  };
  while (simulated.next_at() != kNever && !over()) {
    if (!life.metered || simulated.next_at() <= read_at) {
      simulated.happen_next();
      continue;
    }
    modelled.advance(read_at - at, load);
    at = read_at;
    power::PowerReading reading = modelled.read(read_at, load);
    reading.total_mw = std::llround(modelled.supply_mw() * (1.0 + 0.01 * drawn_normal(random)));
    simulated.tell(read_at, core::PowerSampled{reading});
    read_at += 500 * kMillisecond;
  }
  return recorder.finish(simulated.state());
}

}  // namespace laird::test
