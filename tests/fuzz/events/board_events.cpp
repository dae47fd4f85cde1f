#include "tests/fuzz/events/board_events.hpp"

#include <bit>
#include <limits>

#include "tests/fuzz/events/fleet_events.hpp"

namespace laird::fuzz {
namespace {

using core::ProcessRef;

double number(Feed& feed) {
  constexpr double kOdd[] = {0.0,
                             -0.0,
                             -1.0,
                             1e-300,
                             1e300,
                             5e-324,
                             1e-9,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  const std::uint8_t which = feed.byte();
  if (which < 10) return kOdd[which];
  if (which < 20) return std::bit_cast<double>(feed.word());
  return static_cast<double>(which) / 256.0;
}

std::int64_t signed_number(Feed& feed) {
  constexpr std::int64_t kOdd[] = {0,
                                   -1,
                                   1,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(),
                                   std::int64_t{1} << 53,
                                   1'000'000'000,
                                   std::int64_t{1} << 62};
  const std::uint8_t which = feed.byte();
  if (which < 8) return kOdd[which];
  if (which < 16) return static_cast<std::int64_t>(feed.word());
  return static_cast<std::int64_t>(which) * 1'000'000;
}

TimeNs later(Feed& feed, TimeNs now) {
  constexpr DurationNs kSteps[] = {
      0, 1, kMillisecond, 100 * kMillisecond, kSecond, 10 * kSecond, kMinute, kHour, 30 * kDay};
  const std::uint8_t which = feed.byte();
  if (which == 255) return signed_number(feed);
  return now + kSteps[which % std::size(kSteps)];
}

std::string task_name(Feed& feed) {
  const std::uint8_t which = feed.byte();
  return which == 255 ? "" : std::string("t") + static_cast<char>('a' + which % 12);
}

// Mostly a live task's own process, sometimes an earlier one, sometimes nobody's.
ProcessRef process(Feed& feed, const core::State& state) {
  const std::uint8_t which = feed.byte();
  if (state.live.empty() || which >= 250) return {which, feed.byte()};
  const core::Task& task = state.live[which % state.live.size()];
  return {task.key, which >= 240 ? task.attempt - 1 : task.attempt};
}

std::uint64_t samples(Feed& feed, const core::State& state, const ProcessRef& who) {
  const core::Task* task = state.find_live(who.key);
  const std::uint8_t which = feed.byte();
  if (which >= 250 || task == nullptr) return feed.word();
  if (which >= 240) return core::kSamplesMax - (which - 240);
  if (which >= 200) return task->grant_until;
  if (which >= 180) return task->samples;
  return task->samples + which;
}

}  // namespace

core::TaskSpec task_spec(Feed& feed) {
  core::TaskSpec out;
  out.name = task_name(feed);
  out.trainer = feed.below(16) == 15 ? "stranger" : "fake";
  out.lane = feed.below(2) == 0 ? core::LaneKind::kGpu : core::LaneKind::kCpu;
  const std::uint8_t odd = feed.byte();
  out.deadline_after = odd % 16 == 1 ? signed_number(feed) : (1 + feed.below(200)) * kSecond;
  if (odd % 16 == 2) {
    out.deadline_after = 0;
    out.deadline_wall = signed_number(feed);
  }
  out.target_loss = odd % 16 == 3 ? number(feed) : 0.01 * feed.below(64);
  out.memory_bytes =
      odd % 16 == 4 ? signed_number(feed) : std::int64_t{feed.below(64)} * 10'000'000;
  out.report_every = odd % 16 == 5 ? feed.word() : 1 + feed.below(100);
  out.planned_samples = odd % 16 == 6 ? feed.word() : 0;
  if (odd % 16 == 7) {
    out.every.window = {feed.byte(), feed.byte() * 400u, feed.byte() * 400u};
    out.every.warm_start = feed.below(2) == 1;
    if (feed.below(2) == 1) out.deadline_after = 0;
  }
  return out;
}

namespace {

core::Booted boot(Feed& feed, const core::State& state) {
  core::Booted out;
  out.wall_ns = feed.below(8) == 7 ? signed_number(feed) : state.now + kSecond;
  out.config = board_config(feed);
  return out;
}

core::Zone zone(Feed& feed, const core::State& state) {
  const auto hours = [&feed] { return (std::int64_t{feed.below(64)} - 32) * kHour; };
  const DurationNs offset = hours();
  return {offset, state.now + hours(), hours()};
}

core::PowerSampled power_sample(Feed& feed) {
  core::PowerSampled out;
  const std::uint32_t rails = feed.below(4);
  for (std::uint32_t i = 0; i < rails; ++i) {
    out.reading.rails.push_back({std::string(1, static_cast<char>('a' + i)), signed_number(feed)});
  }
  if (feed.below(4) != 0) out.reading.total_mw = signed_number(feed);
  out.reading.resolution_mw = static_cast<decltype(out.reading.resolution_mw)>(signed_number(feed));
  return out;
}

std::int32_t level(Feed& feed) {
  return feed.below(16) == 15 ? static_cast<std::int32_t>(signed_number(feed))
                              : static_cast<std::int32_t>(feed.below(64)) * 16;
}

core::EventBody power_says(Feed& feed) {
  if (feed.below(3) == 0) {
    return core::PowerKnobSet{static_cast<power::Rung>(feed.below(5)),
                              static_cast<power::KnobResult>(feed.below(3)), level(feed), "note"};
  }
  core::CapRequested out;
  out.request = feed.byte();
  if (feed.below(3) != 0) out.cap_mw = signed_number(feed) / 1000;
  if (feed.below(3) == 0) out.for_ns = signed_number(feed);
  return out;
}

core::PowerConfig power_config(Feed& feed) {
  core::PowerConfig out;
  for (power::RungConfig& rung : out.governor.rungs) {
    rung.available = feed.below(2) == 0;
    rung.floor_permille = level(feed);
    if (feed.below(4) == 0) rung.levels = {level(feed), power::kLevelFull};
  }
  out.governor.idle_mw = signed_number(feed) / 100'000;
  out.governor.dynamic_mw = signed_number(feed) / 100'000;
  out.gpu_dynamic_mw = signed_number(feed) / 100'000;
  out.cpu_dynamic_mw = signed_number(feed) / 100'000;
  if (feed.below(4) == 0) out.cap_mw = signed_number(feed) / 100'000;
  if (feed.below(8) == 0) out.governor.settle_ns = signed_number(feed);
  return out;
}

core::EventBody trainer_says(Feed& feed, const core::State& state) {
  const std::uint32_t what = feed.below(8);
  const ProcessRef who = process(feed, state);
  switch (what) {
    case 0: return core::TrainerReady{who, samples(feed, state, who), feed.byte()};
    case 1:
    case 2: {
      const std::uint64_t at = samples(feed, state, who);
      return core::TrainerProgressed{who, at, number(feed)};
    }
    case 3: return core::TrainerCheckpointed{who, samples(feed, state, who)};
    case 4: return core::TrainerDone{who};
    case 5: return core::TrainerFailed{who, std::string(feed.byte(), '\xE2')};
    case 6: return core::TrainerExited{who, static_cast<std::int32_t>(feed.word())};
    case 7: return core::TrainerYielded{who, static_cast<std::int64_t>(feed.word())};
    default: return core::TrainerReady{who, 0, 0};
  }
}

}  // namespace

core::CoreConfig board_config(Feed& feed) {
  constexpr const char* kPolicies[] = {"round-robin", "uniform", "shortest-task-first", "none"};
  core::CoreConfig out;
  const std::uint8_t which = feed.byte();
  out.policy = kPolicies[which % 4 == 3 && which < 128 ? 0 : which % 4];
  out.lanes = {{"gpu0", core::LaneKind::kGpu, 1000}, {"cpu0", core::LaneKind::kCpu, 2000}};
  if (which % 16 == 5) out.lanes.pop_back();
  if (which % 16 == 6) out.lanes.push_back({"cpu1", core::LaneKind::kCpu, UINT32_MAX});
  out.memory_bytes = which % 16 == 7 ? signed_number(feed) : 1'000'000'000;
  out.trainers = {"fake"};
  if (which % 16 == 8) out.slice = signed_number(feed);
  if (which % 16 == 9) {
    core::TrainerTiming& t = out.timing;
    for (DurationNs* wait : {&t.start_timeout, &t.hang_timeout, &t.preempt_timeout, &t.stop_grace,
                             &t.checkpoint_every, &t.backoff_min, &t.backoff_max}) {
      *wait = signed_number(feed);
    }
    t.attempts_max = feed.byte();
  }
  if (which % 4 == 1) out.power = power_config(feed);
  if (which >= 64) join_fleet(out, feed);
  if (which % 16 == 10) {
    out.meter = {signed_number(feed), signed_number(feed), signed_number(feed),
                 signed_number(feed)};
  }
  return out;
}

core::Event next_event(Feed& feed, const core::State& state) {
  core::Event event;
  const std::uint32_t what = feed.below(state.fleet.member() ? 64 : 32);
  event.at = later(feed, state.now);
  switch (what) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: event.body = core::Submitted{feed.byte(), task_spec(feed)}; break;
    case 6: event.body = core::CancelRequested{1, task_name(feed)}; break;
    case 7: event.body = core::PauseRequested{2, task_name(feed)}; break;
    case 8: event.body = core::ResumeRequested{3, task_name(feed)}; break;
    case 9: event.body = boot(feed, state); break;
    case 10: event.body = core::ClockStepped{signed_number(feed), zone(feed, state)}; break;
    case 11: event.body = power_sample(feed); break;
    case 12: event.body = core::ShutdownRequested{}; break;
    case 13:
    case 14: event.body = core::Ticked{}; break;
    case 15: event.body = power_says(feed); break;
    default: event.body = what < 32 ? trainer_says(feed, state) : fleet_says(feed, state); break;
  }
  // The fleet's part goes by its ticks.
  if (what >= 32 && feed.below(4) != 0) {
    event.at = state.now + feed.below(8) * state.config.fleet.tick / 2;
  }
  return event;
}

}  // namespace laird::fuzz
