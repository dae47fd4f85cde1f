#include "power/model/meter.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::power;

namespace {

PowerReading reading(TimeNs at, std::optional<std::int64_t> mw, std::int64_t resolution_mw = 0) {
  PowerReading out;
  out.at = at;
  out.total_mw = mw;
  out.resolution_mw = resolution_mw;
  if (mw) out.rails.push_back(RailReading{"VDD_IN", *mw});
  return out;
}

std::int64_t all_parts_uj(const Meter& meter) {
  std::int64_t sum = meter.totals().system.uj() + meter.totals().tasks_retired.uj();
  for (const TaskEnergy& t : meter.tasks()) sum += t.dynamic.uj() + t.idle.uj();
  return sum;
}

// Relative error of the meter on a signal whose integral is known, sampled with jitter.
double error_on(const std::function<double(double)>& watts, double integral_j, double seconds,
                double period_s, double jitter, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> spread(1.0 - jitter, 1.0 + jitter);
  Meter meter;
  double t = 0;
  for (;;) {
    meter.on_reading(reading(std::llround(t * 1e9), std::llround(watts(t) * 1e3)));
    if (t >= seconds) break;
    t = std::min(seconds, t + period_s * spread(random));
  }
  return std::fabs(meter.totals().board.joules() - integral_j) / integral_j;
}

}  // namespace

TEST(constant_power_is_exact) {
  Meter meter;
  for (int i = 0; i <= 3600; ++i) meter.on_reading(reading(i * kSecond, 5'000));
  TEST_ASSERT_EQUAL_INT64(18'000LL * 1'000'000, meter.totals().board.uj());
  TEST_ASSERT_EQUAL_INT64(3600 * kSecond, meter.totals().metered_ns);
  TEST_ASSERT_EQUAL_INT64(18'000LL * 1'000'000, meter.rails()[0].energy.uj());
}

TEST(what_is_known_of_the_time_between_two_readings_counts) {
  Meter meter;
  // Read at the top of every burst, 20 W; in truth half of the time it was 10 W.
  for (int i = 0; i <= 100; ++i) meter.on_reading(reading(i * kSecond, 20'000), -5'000);
  TEST_ASSERT_EQUAL_INT64(1500LL * 1'000'000, meter.totals().board.uj());
  // Never less than nothing, whatever is said.
  meter.on_reading(reading(101 * kSecond, 20'000), INT64_MIN);
  TEST_ASSERT_EQUAL_INT64(1500LL * 1'000'000, meter.totals().board.uj());
}

TEST(jittered_sampling_stays_within_one_percent_of_the_exact_integral) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    // 10 W + 5 W sin over whole periods, 1 Hz with half a period of jitter.
    const auto sine = [](double t) { return 10 + 5 * std::sin(2 * M_PI * t / 20); };
    TEST_ASSERT_TRUE(error_on(sine, 6'000, 600, 1.0, 0.5, seed) < 0.01);
    const auto ramp = [](double t) { return 4 + t / 60; };
    TEST_ASSERT_TRUE(error_on(ramp, 4 * 600 + 600.0 * 600 / 120, 600, 1.0, 0.9, seed) < 0.001);
    // A square wave of 5 W and 15 W, 10 s each, over an hour: each edge is off by up to half a
    // sampling period either way, so the relative error falls with the root of the time.
    const auto square = [](double t) { return std::fmod(t, 20) < 10 ? 5.0 : 15.0; };
    TEST_ASSERT_TRUE(error_on(square, 36'000, 3600, 1.0, 0.5, seed) < 0.01);
    // Spikes of 200 ms each second at 10 Hz sampling.
    const auto spikes = [](double t) { return std::fmod(t, 1.0) < 0.2 ? 20.0 : 6.0; };
    TEST_ASSERT_TRUE(error_on(spikes, 3600 * (0.2 * 20 + 0.8 * 6), 3600, 0.1, 0.5, seed) < 0.01);
  }
}

TEST(the_stated_bounds_hold_on_a_quantised_signal) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> spread(0.5, 1.5);
  const auto watts = [](double t) { return 12 + 6 * std::sin(t / 7); };
  Meter meter;
  double t = 0;
  while (t < 700) {
    const std::int64_t mw = std::llround(watts(t) * 1e3 / 400) * 400;  // steps of 400 mW
    meter.on_reading(reading(std::llround(t * 1e9), mw, 400));
    t += spread(random);
  }
  const MeterTotals& m = meter.totals();
  const double end = static_cast<double>(m.metered_ns) * 1e-9;
  const double exact = 12 * end + 42 * (1 - std::cos(end / 7));
  const double off = std::fabs(m.board.joules() - exact);
  TEST_ASSERT_TRUE(off < m.resolution_worst.joules() + m.sampling.joules());
  // 0.2 W worst case over the time; the likely bound is far smaller, and still above zero.
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.2 * end, m.resolution_worst.joules());
  TEST_ASSERT_TRUE(m.resolution_likely_j() > 1.0 &&
                   m.resolution_likely_j() < 0.1 * m.resolution_worst.joules());
}

TEST(a_gap_is_reported_and_not_bridged) {
  Meter meter;
  meter.on_reading(reading(0, 10'000));
  meter.on_reading(reading(1 * kSecond, 10'000));
  meter.on_reading(reading(61 * kSecond, 10'000));
  meter.on_reading(reading(62 * kSecond, 10'000));
  TEST_ASSERT_EQUAL_INT64(20'000'000, meter.totals().board.uj());
  TEST_ASSERT_EQUAL_UINT64(1, meter.totals().gaps);
  TEST_ASSERT_EQUAL_INT64(60 * kSecond, meter.totals().unmetered_ns);
  TEST_ASSERT_EQUAL_INT64(60 * kSecond, meter.totals().longest_gap_ns);
}

TEST(readings_without_total_are_counted_and_never_zero) {
  Meter meter;
  meter.on_reading(reading(0, 10'000));
  meter.on_reading(reading(1 * kSecond, std::nullopt));
  meter.on_reading(reading(2 * kSecond, 10'000));
  TEST_ASSERT_EQUAL_INT64(20'000'000, meter.totals().board.uj());
  TEST_ASSERT_EQUAL_UINT64(1, meter.totals().readings_without_total);
}

TEST(a_clock_that_steps_back_starts_over_instead_of_going_deaf) {
  Meter meter;
  meter.on_reading(reading(1000 * kSecond, 10'000));
  meter.on_reading(reading(1000 * kSecond, 99'000));  // same instant: ignored
  meter.on_reading(reading(10 * kSecond, 10'000));
  meter.on_reading(reading(11 * kSecond, 10'000));
  meter.on_reading(reading(12 * kSecond, 10'000));
  TEST_ASSERT_EQUAL_INT64(10'000'000, meter.totals().board.uj());
  TEST_ASSERT_EQUAL_UINT64(2, meter.totals().readings_out_of_order);
}

TEST(energy_goes_to_what_ran_and_adds_up_to_the_board) {
  MeterConfig config;
  config.idle_mw = 4'000;
  config.gpu_weight = 9'000;
  config.cpu_weight = 3'000;
  Meter meter(config);
  const Running both[] = {{1, LaneKind::kGpu, 1000}, {2, LaneKind::kCpu, 1000}};
  meter.on_running(0, both);
  meter.on_reading(reading(0, 16'000));
  meter.on_reading(reading(1 * kSecond, 16'000));
  // 16 J: 4 J idle halved, 12 J dynamic as 9 to 3.
  TEST_ASSERT_EQUAL_INT64(9'000'000, meter.task(1)->dynamic.uj());
  TEST_ASSERT_EQUAL_INT64(3'000'000, meter.task(2)->dynamic.uj());
  TEST_ASSERT_EQUAL_INT64(2'000'000, meter.task(1)->idle.uj());
  TEST_ASSERT_EQUAL_INT64(2'000'000, meter.task(2)->idle.uj());
  TEST_ASSERT_EQUAL_INT64(0, meter.totals().system.uj());
  // A quarter of the second runs task 1 alone, then nothing: a quarter of idle is its own.
  meter.on_running(1 * kSecond, std::span(both, 1));
  meter.on_running(1 * kSecond + kSecond / 4, {});
  meter.on_reading(reading(2 * kSecond, 4'000));
  // (16 + 4) / 2 = 10 J: 4 idle, 6 dynamic.
  TEST_ASSERT_EQUAL_INT64(9'000'000 + 6'000'000, meter.task(1)->dynamic.uj());
  TEST_ASSERT_EQUAL_INT64(2'000'000 + 1'000'000, meter.task(1)->idle.uj());
  TEST_ASSERT_EQUAL_INT64(3'000'000, meter.totals().system.uj());
  TEST_ASSERT_EQUAL_INT64(meter.totals().board.uj(), all_parts_uj(meter));
}

TEST(parts_add_up_to_the_board_whatever_happens) {
  std::mt19937 random(11);
  MeterConfig config;
  config.idle_mw = 3'333;
  config.gpu_weight = 7'777;
  config.cpu_weight = 1'234;
  Meter meter(config);
  TimeNs now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<TimeNs>(random() % 700'000'000);
    switch (random() % 6) {
      case 0: {
        std::vector<Running> running;
        for (unsigned k = random() % 4; k > 0; --k) {
          running.push_back({random() % 40, random() % 2 ? LaneKind::kGpu : LaneKind::kCpu,
                             static_cast<std::int32_t>(random() % 1001)});
        }
        meter.on_running(now, running);
        break;
      }
      case 1: (void)meter.retire(random() % 40, random() % 2 == 0); break;
      default: meter.on_reading(reading(now, static_cast<std::int64_t>(random() % 30'000)));
    }
  }
  TEST_ASSERT_TRUE(meter.totals().board.uj() > 0);
  // Each part is rounded down to a whole uJ, so the sum may fall short by one per part.
  TEST_ASSERT_INT64_WITHIN(64, meter.totals().board.uj(), all_parts_uj(meter));
}

TEST(more_tasks_than_the_limit_go_to_the_system) {
  Meter meter;
  meter.on_reading(reading(0, 1'000));
  for (std::uint64_t i = 0; i < kMeterTasksMax + 50; ++i) meter.on_progress(i, 1, 1.0);
  TEST_ASSERT_EQUAL_UINT64(kMeterTasksMax, meter.tasks().size());
}

TEST(joules_per_sample_loss_and_success) {
  Meter meter;
  const Running one[] = {{5, LaneKind::kCpu, 1000}};
  meter.on_running(0, one);
  for (int i = 0; i <= 10; ++i) meter.on_reading(reading(i * kSecond, 10'000));
  TEST_ASSERT_FALSE(meter.task(5)->joules_per_sample().has_value());
  meter.on_progress(5, 0, 2.5);
  meter.on_progress(5, 1000, 0.5);
  meter.on_progress(5, 1000, std::nan(""));
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.1, *meter.task(5)->joules_per_sample());
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 50.0, *meter.task(5)->joules_per_loss());
  TEST_ASSERT_FALSE(meter.totals().joules_per_success().has_value());
  const std::optional<TaskEnergy> closed = meter.retire(5, true);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100.0, closed->joules());
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100.0, *meter.totals().joules_per_success());
  TEST_ASSERT_FALSE(meter.retire(5, true).has_value());
}

TEST(counters_survive_a_restart_and_the_pause_is_a_gap) {
  Meter meter;
  const Running one[] = {{5, LaneKind::kGpu, 500}};
  meter.on_running(0, one);
  for (int i = 0; i <= 10; ++i) meter.on_reading(reading(i * kSecond, 10'000));
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  meter.archive(writer);
  Meter restored;
  Archive reader = Archive::reader(bytes);
  restored.archive(reader);
  TEST_ASSERT_FALSE(reader.failed());
  TEST_ASSERT_TRUE(reader.at_end());
  Archive a = Archive::hasher(), b = Archive::hasher();
  meter.archive(a);
  restored.archive(b);
  TEST_ASSERT_EQUAL_UINT64(a.digest(), b.digest());
  restored.on_restart();
  restored.on_reading(reading(12 * kSecond, 10'000));
  restored.on_reading(reading(13 * kSecond, 10'000));
  TEST_ASSERT_EQUAL_INT64(110'000'000, restored.totals().board.uj());
  TEST_ASSERT_EQUAL_UINT64(1, restored.totals().gaps);
  TEST_ASSERT_EQUAL_INT64(2 * kSecond, restored.totals().unmetered_ns);
  TEST_ASSERT_EQUAL_INT64(100'000'000,
                          restored.task(5)->dynamic.uj() + restored.task(5)->idle.uj());
}

TEST(a_damaged_archive_is_refused_not_trusted) {
  Meter meter;
  meter.on_progress(1, 2, 3);
  Bytes bytes;
  Archive writer = Archive::writer(bytes);
  meter.archive(writer);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Meter out;
    Archive reader =
        Archive::reader(std::string_view(reinterpret_cast<const char*>(bytes.data()), n));
    out.archive(reader);
    TEST_ASSERT_TRUE(reader.failed());
  }
}
