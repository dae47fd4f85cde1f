#include "power/model/governor.hpp"

#include "lab/governor/captures.hpp"
#include "lab/governor/loop.hpp"
#include "power/boards/catalogue.hpp"
#include "power/model/clock_levels.hpp"
#include "power/model/lane_weights.hpp"
#include "power/model/modelled_board.hpp"
#include "power/model/power_gate.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

constexpr DurationNs kPeriod = 100 * kMillisecond;

RungConfig any_level(std::int32_t floor) { return RungConfig{true, floor, {}}; }

GovernorConfig ladder() {
  GovernorConfig config;
  config.idle_mw = 5'000;
  config.rungs[0] = any_level(200);
  config.rungs[1] = any_level(300);
  config.rungs[2] = any_level(400);
  config.rungs[3] = RungConfig{true, 0, {250, 500, 750, 1000}};
  config.rungs[4] = RungConfig{true, 0, {600, 1000}};
  return config;
}

// Feeds a constant power for a while and collects the moves, all carried out as asked.
std::vector<Move> feed(Governor& governor, TimeNs& now, DurationNs time, std::int64_t mw,
                       bool binding = true) {
  std::vector<Move> moves;
  for (const TimeNs end = now + time; now < end; now += kPeriod) {
    if (auto move = governor.step({now, mw, std::nullopt, binding ? kDay : 0})) {
      governor.on_applied(now, move->rung, KnobResult::kDone, move->level_permille);
      moves.push_back(*move);
    }
  }
  return moves;
}

void check_loop(const lab::LoopResult& r) {
  const char* what = r.name.c_str();
  TEST_ASSERT_TRUE_MESSAGE(r.constrained_seconds > 0, what);
  TEST_ASSERT_TRUE_MESSAGE(r.mean_to_cap_percent > -2 && r.mean_to_cap_percent < 2, what);
  TEST_ASSERT_TRUE_MESSAGE(r.above_percent_of_time < 1, what);
  TEST_ASSERT_TRUE_MESSAGE(r.settled && r.settle_seconds_max <= 5, what);
  TEST_ASSERT_TRUE_MESSAGE(r.steady_moves_per_2s_max <= 1, what);
}

}  // namespace

TEST(the_gentlest_rung_moves_first_and_each_goes_to_its_floor_before_the_next) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  // 30 W whatever the levels: the worst case, nothing helps.
  const std::vector<Move> moves = feed(governor, now, 120 * kSecond, 30'000);
  std::size_t rung = 0;
  for (const Move& move : moves) {
    TEST_ASSERT_TRUE(static_cast<std::size_t>(move.rung) >= rung);
    rung = static_cast<std::size_t>(move.rung);
  }
  TEST_ASSERT_EQUAL_INT32(200, governor.level(Rung::kStepGate));
  TEST_ASSERT_EQUAL_INT32(300, governor.level(Rung::kCpuQuota));
  TEST_ASSERT_EQUAL_INT32(400, governor.level(Rung::kFreezer));
  TEST_ASSERT_EQUAL_INT32(250, governor.level(Rung::kDevfreq));
  TEST_ASSERT_EQUAL_INT32(600, governor.level(Rung::kNvpmodel));
  TEST_ASSERT_TRUE(governor.exhausted());
  // Everything back in the reverse order when the cap goes.
  governor.set_cap(now, std::nullopt);
  const std::vector<Move> back = feed(governor, now, 10 * kSecond, 30'000);
  TEST_ASSERT_EQUAL_UINT64(5, back.size());
  TEST_ASSERT_TRUE(back.front().rung == Rung::kNvpmodel && back.back().rung == Rung::kStepGate);
  TEST_ASSERT_FALSE(governor.throttling());
}

TEST(an_unavailable_rung_is_passed_over) {
  GovernorConfig config = ladder();
  config.rungs[0].available = false;
  Governor governor(config);
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  TEST_ASSERT_TRUE(feed(governor, now, 2 * kSecond, 12'000).front().rung == Rung::kCpuQuota);
}

TEST(one_move_aims_straight_at_the_target) {
  Governor governor(ladder());
  governor.set_cap(0, 15'000);
  TimeNs now = 0;
  const std::vector<Move> moves = feed(governor, now, kSecond, 25'000);
  // (15 * 0.998 - 5) / (25 - 5) of full.
  TEST_ASSERT_EQUAL_INT32(498, moves.front().level_permille);
}

TEST(inside_the_band_nothing_moves) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  TEST_ASSERT_EQUAL_UINT64(0, feed(governor, now, 60 * kSecond, 9'980).size());
  TEST_ASSERT_EQUAL_UINT64(0, feed(governor, now, 60 * kSecond, 10'050).size());
}

TEST(a_board_with_less_to_do_keeps_its_levels) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  feed(governor, now, kPeriod, 20'000);
  const std::int32_t level = governor.level(Rung::kStepGate);
  TEST_ASSERT_TRUE(level < 1000);
  TEST_ASSERT_EQUAL_UINT64(0, feed(governor, now, 300 * kSecond, 6'000, false).size());
  TEST_ASSERT_EQUAL_INT32(level, governor.level(Rung::kStepGate));
  // Held back and still below: raised.
  TEST_ASSERT_TRUE(feed(governor, now, 5 * kSecond, 8'000, true).size() >= 1);
  TEST_ASSERT_TRUE(governor.level(Rung::kStepGate) > level);
}

TEST(steady_moves_keep_two_seconds_apart) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  TimeNs last = -1;
  for (; now < 120 * kSecond; now += kPeriod) {
    // Just above the band, just below it, in turns: the worst for a controller.
    const bool high = now / (3 * kSecond) % 2 == 0;
    const auto move = governor.step({now, high ? 10'150 : 9'700, std::nullopt, true});
    if (!move) continue;
    TEST_ASSERT_TRUE(last < 0 || now - last >= 2 * kSecond);
    last = now;
  }
  TEST_ASSERT_TRUE(last >= 0);
}

TEST(a_moved_cap_carries_the_levels_along_at_once) {
  Governor governor(ladder());
  governor.set_cap(0, 15'000);
  TimeNs now = 0;
  feed(governor, now, kPeriod, 25'000);
  feed(governor, now, 10 * kSecond, 14'970);
  const std::int32_t before = governor.level(Rung::kStepGate);
  governor.set_cap(now, 10'000);
  const auto move = governor.step({now, 14'970, std::nullopt, true});
  TEST_ASSERT_TRUE(move.has_value() && move->reason == MoveReason::kCapMoved);
  TEST_ASSERT_INT32_WITHIN(3, before / 2, move->level_permille);
}

// A cap of about the idle draw puts the gate to its lowest level, whatever the next cap allows.
TEST(a_cap_that_rises_from_idle_opens_the_gate_as_far_as_the_file_says_and_no_further) {
  GovernorConfig config = ladder();
  config.dynamic_mw = 10'000;
  Governor governor(config);
  governor.set_cap(0, 5'000);
  TimeNs now = 0;
  static_cast<void>(feed(governor, now, kSecond, 5'000, false));
  TEST_ASSERT_EQUAL_INT32(200, governor.level(Rung::kStepGate));
  governor.set_cap(now, 9'000);
  const auto move = governor.step({now, std::nullopt, std::nullopt, 0});
  TEST_ASSERT_TRUE(move.has_value());
  TEST_ASSERT_TRUE(move->reason == MoveReason::kCapMoved);
  TEST_ASSERT_INT32_WITHIN(5, 398, governor.level(Rung::kStepGate));
}

TEST(a_cap_lowered_while_nothing_is_held_back_does_not_wait_for_a_reading) {
  GovernorConfig config = ladder();
  config.dynamic_mw = 20'000;
  Governor governor(config);
  governor.set_cap(0, config.idle_mw + 30'000);
  TimeNs now = 0;
  feed(governor, now, 5 * kSecond, config.idle_mw + 20'000);
  TEST_ASSERT_FALSE(governor.throttling());
  governor.set_cap(now, config.idle_mw + 10'000);
  const auto move = governor.step({now, std::nullopt, std::nullopt, 0});
  TEST_ASSERT_TRUE(move.has_value() && move->reason == MoveReason::kCapMoved);
  TEST_ASSERT_INT32_WITHIN(3, 499, move->level_permille);
  // One that rises asks for nothing.
  governor.set_cap(now, config.idle_mw + 40'000);
  Governor free(config);
  free.set_cap(0, config.idle_mw + 30'000);
  static_cast<void>(free.step({0, std::nullopt, std::nullopt, 0}));
  free.set_cap(0, config.idle_mw + 40'000);
  TEST_ASSERT_FALSE(free.step({0, std::nullopt, std::nullopt, 0}).has_value());
}

TEST(a_rounded_clock_is_noticed_and_the_level_is_the_one_read_back) {
  GovernorConfig config = ladder();
  for (std::size_t i = 0; i < 3; ++i) config.rungs[i].available = false;
  Governor governor(config);
  governor.set_cap(0, 10'000);
  const auto move = governor.step({0, 20'000, std::nullopt, true});
  TEST_ASSERT_TRUE(move.has_value() && move->rung == Rung::kDevfreq);
  governor.on_applied(0, Rung::kDevfreq, KnobResult::kDone, 750);  // the driver rounded up
  TEST_ASSERT_EQUAL_INT32(750, governor.level(Rung::kDevfreq));
  TEST_ASSERT_EQUAL_UINT64(1, governor.roundings());
  const auto again = governor.step({kSecond, 20'000, std::nullopt, true});
  TEST_ASSERT_TRUE(again.has_value() && again->level_permille < 750);
}

TEST(a_pinned_or_refusing_rung_is_left_alone) {
  GovernorConfig config = ladder();
  for (std::size_t i = 0; i < 3; ++i) config.rungs[i].available = false;
  Governor governor(config);
  governor.set_cap(0, 10'000);
  TEST_ASSERT_TRUE(governor.step({0, 20'000, {}, true})->rung == Rung::kDevfreq);
  governor.on_applied(0, Rung::kDevfreq, KnobResult::kPinned, 1000);
  TEST_ASSERT_TRUE(governor.step({kSecond, 20'000, {}, true})->rung == Rung::kNvpmodel);
  governor.on_applied(kSecond, Rung::kNvpmodel, KnobResult::kRefused, 1000);
  TEST_ASSERT_FALSE(governor.step({2 * kSecond, 20'000, {}, true}).has_value());
  TEST_ASSERT_TRUE(governor.exhausted());
  // A refusal is tried again after a minute; a pin lasts until it is seen to be gone.
  TEST_ASSERT_TRUE(governor.step({70 * kSecond, 20'000, {}, true})->rung == Rung::kNvpmodel);
}

TEST(without_readings_the_gate_closes_half_way_and_opens_when_they_return) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  feed(governor, now, 5 * kSecond, 8'000, false);
  std::vector<Move> moves;
  for (; now < 60 * kSecond; now += kSecond) {
    if (auto move = governor.step({now, std::nullopt, std::nullopt, false})) moves.push_back(*move);
  }
  TEST_ASSERT_EQUAL_UINT64(1, moves.size());
  TEST_ASSERT_TRUE(moves[0].reason == MoveReason::kBlind && moves[0].level_permille == 500);
  TEST_ASSERT_TRUE(governor.blind());
  feed(governor, now, 20 * kSecond, 7'000, true);
  TEST_ASSERT_FALSE(governor.blind());
  TEST_ASSERT_TRUE(governor.level(Rung::kStepGate) > 500);
}

TEST(without_a_cap_and_without_readings_nothing_happens) {
  Governor governor(ladder());
  for (TimeNs now = 0; now < kHour; now += kMinute) {
    TEST_ASSERT_FALSE(governor.step({now, std::nullopt, std::nullopt, true}).has_value());
  }
}

TEST(temperature_is_held_below_the_limit_without_any_cap) {
  const Board board = *find_board("orin-nano-8gb", "");
  GovernorConfig config = lab::governor_config_for(board);
  config.limit_mc = 60'000;
  Governor governor(config);
  ModelledBoard model(board, 30'000);
  double level = 1.0;
  double hottest_late = 0;
  double power_late = 0;
  for (TimeNs now = 0; now < 20 * kMinute; now += kPeriod) {
    const ModelledLoad load{level, level, 1000, 1000};
    model.advance(kPeriod, load);
    const PowerReading reading = model.read(now, load);
    if (auto move = governor.step({now, reading.total_mw, reading.hottest_mc(), level < 1})) {
      level = static_cast<double>(move->level_permille) * 1e-3;
    }
    if (now < 10 * kMinute) continue;
    hottest_late = std::max(hottest_late, model.temperature_mc());
    power_late = std::max(power_late, model.supply_mw());
  }
  // 23.3 W would bring it to 81 C.
  TEST_ASSERT_TRUE(hottest_late < 63'000);
  TEST_ASSERT_TRUE(power_late > 8'000);
}

TEST(a_hot_board_below_its_cap_still_slows_down) {
  Governor governor(ladder());
  governor.set_cap(0, 20'000);
  (void)governor.step({0, 15'000, 95'000, false});
  TEST_ASSERT_TRUE(governor.hot());
  TEST_ASSERT_EQUAL_INT64(13'800, *governor.effective_cap_mw());
}

TEST(release_gives_everything_back_harshest_first) {
  Governor governor(ladder());
  governor.set_cap(0, 6'000);
  TimeNs now = 0;
  feed(governor, now, 30 * kSecond, 30'000);
  const std::vector<Move> moves = governor.release_all(now);
  TEST_ASSERT_EQUAL_UINT64(5, moves.size());
  TEST_ASSERT_TRUE(moves.front().rung == Rung::kNvpmodel);
  for (const Move& move : moves) TEST_ASSERT_EQUAL_INT32(1000, move.level_permille);
  TEST_ASSERT_EQUAL_UINT64(0, governor.release_all(now).size());
}

TEST(the_same_inputs_after_an_archive_give_the_same_moves) {
  Governor a(ladder());
  a.set_cap(0, 12'000);
  TimeNs now = 0;
  feed(a, now, kPeriod, 18'000);
  feed(a, now, kSecond, 11'000);
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  a.archive(writer);
  Governor b;
  Archive reader = Archive::reader(bytes);
  b.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_TRUE(reader.at_end());
  TimeNs now_b = now;
  const auto moves_a = feed(a, now, 30 * kSecond, 13'000);
  const auto moves_b = feed(b, now_b, 30 * kSecond, 13'000);
  TEST_ASSERT_TRUE(!moves_a.empty() && moves_a.size() == moves_b.size());
  Archive ha = Archive::hasher(), hb = Archive::hasher();
  a.archive(ha);
  b.archive(hb);
  TEST_ASSERT_EQUAL_UINT64(ha.digest(), hb.digest());
}

TEST(the_loop_holds_the_cap_on_every_board_under_synthetic_loads) {
  for (const Board& board : all_boards("")) {
    for (const lab::Scenario& scenario : lab::synthetic_scenarios(board)) {
      lab::LoopResult r = lab::run_loop(board, scenario, {});
      r.name = board.name + ": " + r.name;
      check_loop(r);
    }
  }
}

TEST(the_loop_holds_the_cap_under_recorded_loads) {
  const std::string folder = test::shared_data_or_skip() + "/tegrastats";
  const Board rules = *find_board("generic", "");
  const auto traces = lab::load_captures(folder, rules);
  TEST_ASSERT_TRUE(traces.has_value());
  int ran = 0;
  for (const char* name : {"orin-nano-8gb", "agx-orin-64gb"}) {
    const Board board = *find_board(name, "");
    for (const lab::RecordedTrace& trace : *traces) {
      const auto by_power = lab::scenario_from_power(trace, board);
      const auto by_load = lab::scenario_from_loads(trace, board);
      for (const DurationNs period : {100 * kMillisecond, kSecond}) {
        lab::LoopConfig config;
        config.reading_period_ns = period;
        for (const auto& scenario : {by_power, by_load}) {
          if (!scenario) continue;
          check_loop(lab::run_loop(board, *scenario, config));
          ++ran;
        }
      }
    }
  }
  TEST_ASSERT_TRUE(ran >= 20);
}

TEST(a_board_file_that_is_too_low_is_corrected_within_a_second) {
  // The file promises half the dynamic power the board really has.
  Board board = *find_board("orin-nano-8gb", "");
  lab::Scenario scenario = lab::synthetic_scenarios(board)[0];
  Governor governor([&] {
    GovernorConfig config = lab::governor_config_for(board);
    config.dynamic_mw = (board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw) / 2;
    return config;
  }());
  ModelledBoard model(board, 15'000);
  const auto cap = static_cast<double>(scenario.caps[0].cap_mw);
  governor.set_cap(0, scenario.caps[0].cap_mw);
  double level = 1.0;
  TimeNs last_above = 0;
  for (TimeNs now = 0; now < 60 * kSecond; now += kPeriod) {
    const ModelledLoad load{level, level, 1000, 1000};
    model.advance(kPeriod, load);
    if (auto move = governor.step({now, model.read(now, load).total_mw, {}, level < 1})) {
      level = static_cast<double>(move->level_permille) * 1e-3;
    }
    if (model.supply_mw() > 1.05 * cap) last_above = now;
  }
  TEST_ASSERT_TRUE(last_above <= kSecond);
}

TEST(clocks_and_levels_go_both_ways) {
  const std::vector<std::int64_t> clocks = {1'020'000'000, 306'000'000, 612'000'000, 612'000'000};
  const std::vector<std::int32_t> levels = levels_of_clocks(clocks);
  TEST_ASSERT_EQUAL_UINT64(3, levels.size());
  TEST_ASSERT_EQUAL_INT32(300, levels[0]);
  TEST_ASSERT_EQUAL_INT32(1000, levels[2]);
  for (const std::int32_t level : levels) {
    TEST_ASSERT_EQUAL_INT32(level, clock_of_level(clocks, level) * 1000 / 1'020'000'000);
  }
  TEST_ASSERT_EQUAL_INT64(306'000'000, clock_of_level(clocks, 599));
  TEST_ASSERT_EQUAL_INT64(306'000'000, clock_of_level(clocks, 5));
  std::vector<std::int64_t> many;
  for (std::int64_t i = 1; i <= 500; ++i) many.push_back(i * 1'000'000);
  TEST_ASSERT_EQUAL_UINT64(kRungLevelsMax, levels_of_clocks(many).size());
  TEST_ASSERT_EQUAL_INT32(1000, levels_of_clocks(many).back());
  TEST_ASSERT_EQUAL_UINT64(0, levels_of_clocks({}).size());
}

TEST(the_gate_fills_the_budget_with_what_is_runnable) {
  const LaneDemand both[] = {{10'000, 1000}, {5'000, 1000}};
  TEST_ASSERT_EQUAL_INT32(500, gate_ceiling(both, 7'500));
  TEST_ASSERT_EQUAL_INT32(1000, gate_ceiling(both, 15'000));
  TEST_ASSERT_EQUAL_INT32(0, gate_ceiling(both, 0));
  TEST_ASSERT_EQUAL_INT32(0, gate_ceiling(both, -5));
  // The GPU wants little: what it leaves goes to the CPU.
  const LaneDemand mixed[] = {{10'000, 200}, {5'000, 1000}};
  TEST_ASSERT_EQUAL_INT32(800, gate_ceiling(mixed, 6'000));
  const LaneDemand one[] = {{10'000, 1000}, {5'000, 0}};
  TEST_ASSERT_EQUAL_INT32(750, gate_ceiling(one, 7'500));
  TEST_ASSERT_EQUAL_INT32(1000, gate_ceiling({}, 0));
  const LaneDemand hostile[] = {{INT64_MAX, INT32_MAX}, {INT64_MIN, INT32_MIN}};
  TEST_ASSERT_TRUE(gate_ceiling(hostile, INT64_MAX) >= 0);
}

TEST(lane_weights_are_learned_from_readings_and_stay_within_reason) {
  PowerModel file;
  file.idle_mw = 4'000;
  file.gpu_dynamic_mw = 14'000;
  file.cpu_dynamic_mw = 5'000;
  LaneWeights weights(file);
  // Really 4.5 W, 10 W and 6 W, in steps of 40 mW.
  std::uint32_t random = 1;
  for (int i = 0; i < 2'000; ++i) {
    random = random * 1'664'525 + 1'013'904'223;
    const auto gpu = static_cast<std::int32_t>(random >> 8) % 1001;
    const auto cpu = static_cast<std::int32_t>(random >> 18) % 1001;
    weights.observe(gpu, cpu, (4'500 + 10 * gpu + 6 * cpu) / 40 * 40);
  }
  TEST_ASSERT_INT64_WITHIN(100, 4'500, weights.idle_mw());
  TEST_ASSERT_INT64_WITHIN(200, 10'000, weights.gpu_mw());
  TEST_ASSERT_INT64_WITHIN(200, 6'000, weights.cpu_mw());
  TEST_ASSERT_INT64_WITHIN(250, 12'500, weights.gpu_part_mw(20'000));
  TEST_ASSERT_EQUAL_INT64(20'000, weights.gpu_part_mw(20'000) + weights.cpu_part_mw(20'000));
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  weights.archive(writer);
  LaneWeights restored;
  Archive reader = Archive::reader(bytes);
  restored.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_EQUAL_INT64(weights.gpu_mw(), restored.gpu_mw());
  // Nothing but nonsense for hours: bounded, finite, and soon right again.
  for (int i = 0; i < 100'000; ++i) weights.observe(i % 7 * 400 - 300, 500, i % 2 ? 9'000'000 : 1);
  TEST_ASSERT_TRUE(weights.gpu_mw() <= 4 * 14'000 && weights.gpu_mw() >= 14'000 / 4);
  TEST_ASSERT_TRUE(weights.cpu_mw() <= 4 * 5'000 && weights.cpu_mw() >= 5'000 / 4);
}

TEST(a_lane_that_is_never_used_keeps_the_files_weight) {
  PowerModel file;
  file.idle_mw = 4'000;
  file.gpu_dynamic_mw = 14'000;
  file.cpu_dynamic_mw = 5'000;
  LaneWeights weights(file);
  for (int i = 0; i < 100'000; ++i) weights.observe(0, i % 1000, 4'000 + 6 * (i % 1000));
  TEST_ASSERT_INT64_WITHIN(1, 14'000, weights.gpu_mw());
  TEST_ASSERT_INT64_WITHIN(100, 6'000, weights.cpu_mw());
}

TEST(the_mean_is_held_over_bursts_that_end_before_the_supply_has_followed) {
  const Board board = *find_board("orin-nano-8gb", "");
  lab::Scenario bursts{"bursts", {}, {}, 5 * kMinute, 0, false};
  bursts.caps.push_back(
      {0, board.model.idle_mw + (board.model.gpu_dynamic_mw + board.model.cpu_dynamic_mw) / 2});
  for (TimeNs at = 0; at < bursts.length_ns; at += 2 * kSecond) {
    bursts.load.push_back({at, 1.0, 1.0});
    bursts.load.push_back({at + 1200 * kMillisecond, 0.05, 0.05});
  }
  for (const DurationNs period : {100 * kMillisecond, kSecond}) {
    lab::LoopConfig config;
    config.reading_period_ns = period;
    const lab::LoopResult r = lab::run_loop(board, bursts, config);
    check_loop(r);
    TEST_ASSERT_TRUE(r.mean_to_best_percent > 0.5);  // more than knowing the future would do
  }
}

TEST(fine_tuning_takes_out_what_the_band_leaves_and_then_rests) {
  Governor governor(ladder());
  governor.set_cap(0, 10'000);
  TimeNs now = 0;
  // 0.6 % below the target, inside the band: the gate opens a little, once in ten seconds.
  const std::vector<Move> first = feed(governor, now, 300 * kMillisecond, 12'000);
  TEST_ASSERT_EQUAL_UINT64(1, first.size());
  const std::vector<Move> moves = feed(governor, now, 10500 * kMillisecond, 9'920);
  TEST_ASSERT_EQUAL_UINT64(1, moves.size());
  TEST_ASSERT_TRUE(moves[0].rung == Rung::kStepGate);
  TEST_ASSERT_TRUE(moves[0].level_permille > first.back().level_permille);
  TEST_ASSERT_EQUAL_UINT64(0, feed(governor, now, 30 * kSecond, 9'985).size());
}
