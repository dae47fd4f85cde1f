// The cap in the core, closed around a modelled board in virtual time.
#include <cmath>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"
#include "power/model/modelled_board.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

power::Board modelled() {
  power::Board board;
  board.model.idle_mw = 4000;
  board.model.gpu_dynamic_mw = 12'000;
  board.model.cpu_dynamic_mw = 6000;
  board.model.thermal_resistance_c_per_w = 1.5;
  board.model.thermal_time_constant_ns = kMinute;
  board.temperature_limit_mc = 90'000;
  return board;
}

// The agent's belief is wrong: idle 10 % low, GPU 40 % dear, CPU 10 % cheap.
CoreConfig capped_board() {
  power::Board believed = modelled();
  believed.model.idle_mw = 3600;
  believed.model.gpu_dynamic_mw = 16'800;
  believed.model.cpu_dynamic_mw = 5400;
  CoreConfig config = test::small_board();
  config.power = PowerConfig::for_board(believed);
  return config;
}

// A board with a meter: readings go to the core at their period, power follows the lanes exactly.
class Powered {
 public:
  explicit Powered(const CoreConfig& config, DurationNs period = kSecond)
      : board(config), period_(period), model_(modelled()) {
    board.after_step = [this](const Event&, const Effects&) { follow(); };
    follow();
  }
  void run_for(DurationNs duration) {
    const TimeNs end = board.now() + duration;
    while (board.now() < end) {
      const TimeNs next = std::min(end, next_reading_);
      board.run_for(next - board.now());
      advance();
      if (board.now() < next_reading_) continue;
      next_reading_ += period_;
      if (blind) continue;
      power::PowerReading reading = model_.read(board.now(), load_);
      if (hottest_mc) reading.zones = {{"cpu", *hottest_mc}};
      board.tell(PowerSampled{reading});
    }
  }
  // Mean power from now on.
  void clear_mean() {
    energy_mw_ns_ = 0;
    since_ = board.now();
    worst_window_mw = 0;
    window_.clear();
    window_sum_ = 0;
  }
  [[nodiscard]] double mean_mw() const {
    return energy_mw_ns_ / static_cast<double>(board.now() - since_);
  }

  FakeBoard board;
  bool blind = false;
  std::optional<std::int64_t> hottest_mc;
  double worst_window_mw = 0;  // the highest mean of any two seconds

 private:
  void advance() {
    while (at_ < board.now()) {
      const DurationNs dt = std::min<DurationNs>(10 * kMillisecond, board.now() - at_);
      model_.advance(dt, load_);
      at_ += dt;
      const double e = model_.supply_mw() * static_cast<double>(dt);
      energy_mw_ns_ += e;
      window_.push_back({at_, e});
      window_sum_ += e;
      while (window_.front().first <= at_ - 2 * kSecond) {
        window_sum_ -= window_.front().second;
        window_.pop_front();
        worst_window_mw = std::max(worst_window_mw, window_sum_ / 2e9);
      }
      if (window_.empty()) window_sum_ = 0;
    }
  }
  void follow() {
    advance();
    load_ = {};
    for (const Lane& lane : board.state.lanes) {
      if (lane.running.empty()) continue;
      (lane.config.kind == LaneKind::kGpu ? load_.gpu_use : load_.cpu_use) = 1.0;
    }
  }

  DurationNs period_;
  power::ModelledBoard model_;
  power::ModelledLoad load_;
  TimeNs at_ = board.now();
  TimeNs next_reading_ = board.now();
  double energy_mw_ns_ = 0;
  TimeNs since_ = board.now();
  std::deque<std::pair<TimeNs, double>> window_;
  double window_sum_ = 0;
};

void fill_lanes(FakeBoard& board) {
  TaskSpec on_gpu = test::small_task("gpu", kHour, 0.0001);
  on_gpu.lane = LaneKind::kGpu;
  test::FakeTrainer fast;
  fast.rate = 3000;
  board.submit(on_gpu, fast);
  board.submit(test::small_task("cpu", kHour, 0.0001), fast);
}

// Busy time of a lane in every window between two starts of work, against its ceiling.
struct LaneWatch {
  struct Spell {
    TimeNs from;
    TimeNs to;
  };
  std::vector<Spell> spells;
  bool busy = false;
  void follow(const Lane& lane, TimeNs now) {
    if (lane.running.empty() == !busy) return;
    busy = !busy;
    if (busy) spells.push_back({now, now});
    if (!busy) spells.back().to = now;
  }
};

}  // namespace

TEST(the_lowest_of_the_caps_is_in_force) {
  CoreConfig config = capped_board();
  config.power.cap_mw = 15'000;
  FakeBoard board(config);
  const auto in_force = [&] { return board.state.power.in_force(board.state.config.power); };
  TEST_ASSERT_EQUAL_INT64(15'000, *in_force().mw);
  TEST_ASSERT_TRUE(in_force().source == CapSource::kConfig);
  board.tell(CapRequested{7, 20'000, 0});
  TEST_ASSERT_TRUE(board.answers.back().ok);
  TEST_ASSERT_TRUE(board.answers.back().text.find("stays in force") != std::string::npos);
  TEST_ASSERT_TRUE(in_force().source == CapSource::kConfig);
  board.tell(CapRequested{8, 12'000, 0});
  TEST_ASSERT_TRUE(in_force().source == CapSource::kOperator);
  board.state.power.set_fleet_cap_mw(9000);
  board.tell(Ticked{});
  TEST_ASSERT_TRUE(in_force().source == CapSource::kFleet);
  TEST_ASSERT_EQUAL_INT64(9000, *board.state.power.governor.cap_mw());
  board.state.power.set_fleet_cap_mw(std::nullopt);
  board.tell(CapRequested{9, std::nullopt, 0});
  TEST_ASSERT_EQUAL_INT64(15'000, *board.state.power.governor.cap_mw());
}

TEST(an_operators_cap_ends_when_its_time_is_over_even_across_a_restart) {
  FakeBoard board(capped_board());
  board.tell(CapRequested{1, 8000, kMinute});
  board.run_for(50 * kSecond);
  board.restart();
  TEST_ASSERT_EQUAL_INT64(8000, *board.state.power.governor.cap_mw());
  board.run_for(9 * kSecond);
  TEST_ASSERT_TRUE(board.state.power.governor.cap_mw().has_value());
  board.run_for(2 * kSecond);
  TEST_ASSERT_FALSE(board.state.power.governor.cap_mw().has_value());
  TEST_ASSERT_FALSE(board.state.power.governor.throttling());
}

TEST(refuses_a_cap_that_makes_no_sense) {
  FakeBoard board(capped_board());
  for (const std::int64_t mw : {std::int64_t{0}, std::int64_t{-5}, kCapMwMax + 1, INT64_MAX}) {
    board.tell(CapRequested{1, mw, 0});
    TEST_ASSERT_FALSE(board.answers.back().ok);
  }
  board.tell(CapRequested{1, 5000, -1});
  TEST_ASSERT_FALSE(board.answers.back().ok);
  TEST_ASSERT_FALSE(board.state.power.operator_cap_mw.has_value());
}

TEST(mean_power_is_held_at_the_cap_and_rises_when_it_is_taken_back) {
  for (const DurationNs period : {kSecond, 100 * kMillisecond}) {
    Powered powered(capped_board(), period);
    fill_lanes(powered.board);
    powered.run_for(10 * kSecond);
    powered.clear_mean();
    powered.run_for(5 * kSecond);
    TEST_ASSERT_TRUE(powered.mean_mw() > 21'500);  // idle and both lanes: 22 W
    powered.board.tell(CapRequested{1, 12'000, 0});
    powered.run_for(5 * kSecond);
    powered.clear_mean();
    powered.run_for(2 * kMinute);
    char message[160];
    std::snprintf(message, sizeof message, "mean %.0f mW, worst two seconds %.0f mW, moves %llu",
                  powered.mean_mw(), powered.worst_window_mw,
                  static_cast<unsigned long long>(powered.board.state.power.governor.moves()));
    TEST_ASSERT_TRUE_MESSAGE(std::fabs(powered.mean_mw() / 12'000 - 1) < 0.02, message);
    TEST_ASSERT_TRUE_MESSAGE(powered.worst_window_mw < 12'000 * 1.08, message);
    powered.board.tell(CapRequested{2, std::nullopt, 0});
    powered.clear_mean();
    powered.run_for(5 * kSecond);
    TEST_ASSERT_TRUE(powered.mean_mw() > 21'000);
  }
}

TEST(what_is_metered_is_what_was_drawn_however_readings_fall_into_the_bursts) {
  // 250 ms is the gate's own period: readings alone would show the same moment of every burst.
  for (const DurationNs period : {kSecond, 500 * kMillisecond, 250 * kMillisecond}) {
    Powered powered(capped_board(), period);
    fill_lanes(powered.board);
    powered.board.tell(CapRequested{1, 12'000, 0});
    powered.run_for(30 * kSecond);
    double worst = 0.0;
    for (int window = 0; window < 24; ++window) {
      powered.clear_mean();
      const std::int64_t before_uj = powered.board.state.meter.totals().board.uj();
      powered.run_for(5 * kSecond);
      const auto metered =
          static_cast<double>(powered.board.state.meter.totals().board.uj() - before_uj) / 5e3;
      worst = std::max(worst, std::fabs(metered / powered.mean_mw() - 1));
    }
    char message[80];
    std::snprintf(message, sizeof message, "read every %lld ms: off by %.1f %%",
                  static_cast<long long>(period / kMillisecond), worst * 100);
    TEST_ASSERT_TRUE_MESSAGE(worst < 0.01, message);
  }
}

TEST(a_restart_keeps_the_cap_and_the_gate) {
  Powered powered(capped_board());
  fill_lanes(powered.board);
  powered.board.tell(CapRequested{1, 10'000, 0});
  powered.run_for(30 * kSecond);
  const std::int32_t level = powered.board.state.power.governor.level(power::Rung::kStepGate);
  TEST_ASSERT_TRUE(level < power::kLevelFull);
  powered.board.restart();
  TEST_ASSERT_EQUAL_INT32(level, powered.board.state.power.governor.level(power::Rung::kStepGate));
  powered.clear_mean();
  powered.run_for(kMinute);
  TEST_ASSERT_TRUE(powered.mean_mw() < 10'000 * 1.03);
}

TEST(a_lane_is_busy_for_at_most_its_ceiling_of_any_window_and_one_piece) {
  for (const std::uint32_t ppm : {40'000u, 250'000u, 500'000u, 930'000u}) {
    FakeBoard board(capped_board());
    LaneWatch watch;
    board.after_step = [&](const Event&, const Effects&) {
      watch.follow(board.state.lanes[1], board.now());
    };
    board.state.power.set_fleet_ceiling_ppm(LaneKind::kCpu, ppm);
    test::FakeTrainer trainer;
    trainer.rate = 2000;
    board.submit(test::small_task("a", kHour, 0.0001), trainer);
    board.submit(test::small_task("b", kHour, 0.0001), trainer);
    board.run_for(2 * kMinute);
    TEST_ASSERT_TRUE(watch.spells.size() > 80);
    if (watch.busy) watch.spells.pop_back();
    // Probing grants, of unknown length, are over by then.
    const std::vector<LaneWatch::Spell> spells(watch.spells.begin() + 10, watch.spells.end());
    DurationNs longest = 0;
    for (const auto& s : spells) longest = std::max(longest, s.to - s.from);
    TEST_ASSERT_TRUE(longest <= kGateReportMax);
    for (std::size_t first = 0; first < spells.size(); ++first) {
      DurationNs busy = 0;
      for (std::size_t last = first; last < spells.size(); ++last) {
        busy += spells[last].to - spells[last].from;
        const double window = static_cast<double>(spells[last].to - spells[first].from);
        TEST_ASSERT_TRUE(static_cast<double>(busy) <=
                         window * ppm * 1e-6 + static_cast<double>(longest) + 1e3);
      }
    }
    // And it gets what its ceiling allows: nothing is lost to the gate itself.
    DurationNs busy = 0;
    for (const auto& s : spells) busy += s.to - s.from;
    const double share =
        static_cast<double>(busy) / static_cast<double>(spells.back().to - spells.front().from);
    TEST_ASSERT_TRUE(share > ppm * 1e-6 * 0.98);
  }
}

TEST(a_ceiling_of_nothing_rests_a_lane_until_it_rises_and_leaves_the_other_alone) {
  FakeBoard board(capped_board());
  fill_lanes(board);
  board.run_for(5 * kSecond);
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kGpu, 0);
  board.tell(Ticked{});
  board.run_for(5 * kSecond);
  const std::uint64_t gpu = board.task("gpu")->samples;
  const std::uint64_t cpu = board.task("cpu")->samples;
  int steps = 0;
  board.after_step = [&](const Event& e, const Effects&) {
    if (std::holds_alternative<Ticked>(e.body)) ++steps;
  };
  board.run_for(20 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(gpu, board.task("gpu")->samples);
  TEST_ASSERT_TRUE(board.task("cpu")->samples > cpu + 30'000);
  TEST_ASSERT_TRUE(steps < 10);  // it waits, it does not spin
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kGpu, kShareWholePpm);
  board.tell(Ticked{});
  board.run_for(kSecond);
  TEST_ASSERT_TRUE(board.task("gpu")->samples > gpu);
}

TEST(a_gated_slice_is_one_turn_to_the_policy) {
  FakeBoard board(capped_board());
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kCpu, 200'000);
  test::FakeTrainer trainer;
  trainer.rate = 5000;
  for (const char* name : {"a", "b", "c"}) {
    board.submit(test::small_task(name, kHour, 0.0001), trainer);
  }
  board.run_for(kMinute);
  const std::uint64_t decisions = board.state.counters.decisions;
  const std::uint32_t grants = board.task("a")->grants + board.task("b")->grants;
  board.run_for(kMinute);
  const std::uint64_t asked = board.state.counters.decisions - decisions;
  const std::uint32_t given = board.task("a")->grants + board.task("b")->grants - grants;
  // 12 s of lane time in slices of a second, in some 240 pieces.
  TEST_ASSERT_TRUE(asked >= 10 && asked <= 16);
  TEST_ASSERT_TRUE(given >= 130);
  const double a = static_cast<double>(board.task("a")->busy_ns);
  const double c = static_cast<double>(board.task("c")->busy_ns);
  TEST_ASSERT_TRUE(std::fabs(a / c - 1) < 0.25);
}

TEST(a_long_slice_is_cut_short_when_a_cap_comes) {
  CoreConfig config = capped_board();
  config.slice = 10 * kMinute;
  Powered powered(config);
  fill_lanes(powered.board);
  powered.run_for(kMinute);
  powered.board.tell(CapRequested{1, 8000, 0});
  powered.run_for(3 * kSecond);
  powered.clear_mean();
  powered.run_for(kMinute);
  TEST_ASSERT_TRUE(std::fabs(powered.mean_mw() / 8000 - 1) < 0.03);
}

TEST(without_readings_a_capped_board_does_not_run_free) {
  Powered powered(capped_board());
  fill_lanes(powered.board);
  powered.run_for(5 * kSecond);
  powered.board.tell(CapRequested{1, 21'000, 0});
  powered.run_for(20 * kSecond);
  powered.blind = true;
  powered.run_for(15 * kSecond);
  TEST_ASSERT_TRUE(powered.board.state.power.governor.blind());
  TEST_ASSERT_TRUE(powered.board.state.power.governor.level(power::Rung::kStepGate) <= 500);
  powered.blind = false;
  powered.run_for(kMinute);
  powered.clear_mean();
  powered.run_for(kMinute);
  TEST_ASSERT_FALSE(powered.board.state.power.governor.blind());
  TEST_ASSERT_TRUE(powered.mean_mw() > 20'000);
}

TEST(a_hot_board_is_held_back_without_any_cap_and_let_go_when_it_has_cooled) {
  Powered powered(capped_board());
  fill_lanes(powered.board);
  powered.hottest_mc = 70'000;
  powered.run_for(10 * kSecond);
  powered.hottest_mc = 92'000;
  powered.run_for(kMinute);
  const CapInForce cap = powered.board.state.power.in_force(powered.board.state.config.power);
  TEST_ASSERT_TRUE(cap.source == CapSource::kTemperature);
  powered.clear_mean();
  powered.run_for(5 * kSecond);
  TEST_ASSERT_TRUE(powered.mean_mw() < 12'000);
  powered.hottest_mc = 60'000;
  powered.run_for(5 * kMinute);
  powered.clear_mean();
  powered.run_for(10 * kSecond);
  TEST_ASSERT_TRUE(powered.mean_mw() > 21'000);
}

TEST(rungs_beyond_the_gate_are_asked_for_and_given_back_on_shutdown) {
  CoreConfig config = capped_board();
  auto& rungs = config.power.governor.rungs;
  rungs[0].floor_permille = 800;  // so that the others have to move
  for (const power::Rung rung :
       {power::Rung::kCpuQuota, power::Rung::kFreezer, power::Rung::kDevfreq}) {
    rungs[rung].available = true;
    rungs[rung].floor_permille = 700;
  }
  rungs[power::Rung::kDevfreq].levels = {300, 700, 1000};
  FakeBoard board(config);
  fill_lanes(board);
  board.run_for(kSecond);
  board.tell(CapRequested{1, 6000, 0});
  std::int32_t duty = power::kLevelFull;
  std::vector<SetPowerKnob> knobs;
  std::uint32_t quota = 0;
  board.after_step = [&](const Event&, const Effects& commands) {
    for (const Effect& command : commands) {
      if (const auto* c = std::get_if<SetFreezerDuty>(&command.body)) duty = c->run_permille;
      if (const auto* c = std::get_if<SetPowerKnob>(&command.body)) knobs.push_back(*c);
      if (const auto* c = std::get_if<RunTrainer>(&command.body)) quota = c->cpu_milli;
    }
  };
  power::PowerReading reading;
  reading.total_mw = 20'000;
  for (int i = 0; i < 60; ++i) {
    board.run_for(kSecond);
    board.tell(PowerSampled{reading});
  }
  TEST_ASSERT_EQUAL_INT32(700, duty);
  TEST_ASSERT_EQUAL_UINT32(700, quota);
  TEST_ASSERT_EQUAL_UINT64(1, knobs.size());
  // The clock asked for was rounded: the governor goes by what was read back.
  board.tell(PowerKnobSet{power::Rung::kDevfreq, power::KnobResult::kDone, 750, "rounded"});
  TEST_ASSERT_EQUAL_INT32(750, board.state.power.governor.level(power::Rung::kDevfreq));
  TEST_ASSERT_EQUAL_UINT64(1, board.state.power.governor.roundings());
  knobs.clear();
  board.tell(ShutdownRequested{});
  TEST_ASSERT_EQUAL_INT32(power::kLevelFull, duty);
  TEST_ASSERT_EQUAL_UINT64(1, knobs.size());
  TEST_ASSERT_EQUAL_INT32(power::kLevelFull, knobs[0].level_permille);
}

TEST(what_a_crash_left_throttled_is_given_back_at_the_next_start) {
  CoreConfig config = capped_board();
  const auto devfreq = static_cast<std::size_t>(power::Rung::kDevfreq);
  config.power.governor.rungs[0].floor_permille = 900;
  config.power.governor.rungs[devfreq].available = true;
  FakeBoard board(config);
  fill_lanes(board);
  board.tell(CapRequested{1, 6000, 0});
  power::PowerReading reading;
  reading.total_mw = 20'000;
  for (int i = 0; i < 10; ++i) {
    board.run_for(kSecond);
    board.tell(PowerSampled{reading});
  }
  TEST_ASSERT_TRUE(board.state.power.governor.level(power::Rung::kDevfreq) < power::kLevelFull);
  int given_back = 0;
  board.after_step = [&](const Event&, const Effects& commands) {
    for (const Effect& command : commands) {
      const auto* knob = std::get_if<SetPowerKnob>(&command.body);
      if (knob != nullptr && knob->level_permille == power::kLevelFull) ++given_back;
    }
  };
  board.restart();
  TEST_ASSERT_EQUAL_INT(1, given_back);
  TEST_ASSERT_EQUAL_INT64(6000, *board.state.power.governor.cap_mw());
}
