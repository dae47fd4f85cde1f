#include <stdlib.h>

#include <chrono>
#include <functional>
#include <thread>

#include "power/boards/catalogue.hpp"
#include "power/readers/gpu_reader.hpp"
#include "power/readers/open_reader.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/power/fake_sysfs.hpp"

using namespace laird;
using namespace laird::power;
using laird::test::put;

namespace {

constexpr DurationNs kPeriod = 20 * kMillisecond;

// What the fake library says; the file's name is set once, before any thread reads it.
void say(const std::string& text) {
  static const test::TemporaryFolder folder;
  static const std::string path = folder.path() + "/nvml";
  static const bool named = ::setenv("FAKE_NVML", path.c_str(), 1) == 0;
  TEST_ASSERT_TRUE(named);
  put(path + ".new", text);
  std::filesystem::rename(path + ".new", path);
}

std::string library(const char* which) {
  return std::string(LAIRD_FAKE_NVML) + "/" + which + "/libnvidia-ml.so.1";
}

// A reader of a fake Thor, whose board file names NVML, with the library given.
struct Thor {
  explicit Thor(const std::string& nvml, const char* board_name = "thor-t5000") {
    const Board board = *find_board(board_name, "");
    test::make_sensors(root.path(), board);
    ReaderOptions options;
    options.kind = "sysfs";
    options.root = root.path();
    options.period_ns = kPeriod;
    options.nvml = nvml;
    reader = std::move(*open_reader(options, board));
  }
  // The first reading that fits; the test fails when none comes in twenty seconds.
  PowerReading wait(const std::function<bool(const PowerReading&)>& fits) {
    for (int i = 0; i < 2000; ++i) {
      while (auto reading = reader->poll(monotonic_now())) {
        if (fits(*reading)) return *reading;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    TEST_FAIL_MESSAGE(("no such reading; " + gpu()).c_str());
    return {};
  }
  // Waits until the status speaks of it, then gives a reading that came later.
  PowerReading wait_said(const std::string& text) {
    wait([&](const PowerReading&) { return gpu().find(text) != std::string::npos; });
    const TimeNs from = monotonic_now();
    return wait([&](const PowerReading& r) { return r.at > from; });
  }
  std::string gpu() const { return reader->status(monotonic_now()).gpu; }

  test::TemporaryFolder root;
  std::unique_ptr<Reader> reader;
};

bool has_load(const PowerReading& reading) { return reading.gpu_load_permille.has_value(); }

}  // namespace

TEST(what_nvml_gives_is_in_the_readings_beside_the_rails) {
  say("load 47\nclock 1575\npower 9000\ntemperature 51\n");
  Thor thor(library("whole"));
  const PowerReading reading = thor.wait(has_load);
  TEST_ASSERT_EQUAL_INT32(470, *reading.gpu_load_permille);
  TEST_ASSERT_EQUAL_INT32(1575, *reading.gpu_clock_mhz);
  TEST_ASSERT_EQUAL_INT64(9000, *reading.rail_mw(kNvmlRail));
  TEST_ASSERT_EQUAL_INT64(51'000, *reading.hottest_mc());
  TEST_ASSERT_EQUAL_STRING("NVML, driver 580.00-fake", thor.gpu().c_str());
  // Its power is part of what VIN carries and is not added to it.
  TEST_ASSERT_EQUAL_STRING("VIN", reading.total_rule.c_str());
  TEST_ASSERT_EQUAL_INT64(*reading.rail_mw("VIN"), *reading.total_mw);
}

TEST(an_idle_gpu_is_0_and_what_is_not_supported_is_unknown) {
  say("load 0\n");
  Thor thor(library("whole"));
  const PowerReading reading = thor.wait(has_load);
  TEST_ASSERT_EQUAL_INT32(0, *reading.gpu_load_permille);
  TEST_ASSERT_FALSE(reading.gpu_clock_mhz.has_value());
  TEST_ASSERT_FALSE(reading.rail_mw(kNvmlRail).has_value());
  TEST_ASSERT_FALSE(reading.hottest_mc().has_value());
  TEST_ASSERT_EQUAL_STRING(
      "NVML, driver 580.00-fake; not given: clock: not supported, power: not supported, "
      "temperature: not supported",
      thor.gpu().c_str());
}

TEST(an_error_or_nonsense_makes_the_load_unknown) {
  for (const auto& [said, reason] :
       {std::pair{"load! 3\n", "load: not supported"},
        std::pair{"load! 999\n", "load: Unknown Error (NVML 999)"},
        std::pair{"load 250\n", "load: makes no sense, 250"},
        std::pair{"init! 18\n", "version mismatch (NVML 18); library and driver differ, reboot"},
        std::pair{"init! 9\n", "Driver Not Loaded (NVML 9)"},
        std::pair{"handle! 6\n", "NVML knows no GPU"}}) {
    say(said);
    Thor thor(library("whole"));
    const PowerReading reading = thor.wait_said(reason);
    TEST_ASSERT_FALSE_MESSAGE(has_load(reading), said);
    TEST_ASSERT_TRUE_MESSAGE(reading.total_mw.has_value(), said);
    TEST_ASSERT_TRUE_MESSAGE(thor.gpu().starts_with("unknown: "), said);
  }
}

TEST(a_lost_gpu_is_unknown_and_is_looked_for_again) {
  say("load 30\n");
  Thor thor(library("whole"));
  thor.wait(has_load);
  say("load! 15\n");
  TEST_ASSERT_FALSE(has_load(thor.wait_said("NVML lost the GPU: GPU is lost (NVML 15)")));
  say("load 60\n");
  TEST_ASSERT_EQUAL_INT32(600, *thor.wait(has_load).gpu_load_permille);
}

TEST(a_library_that_is_absent_or_lacks_functions_is_said_and_costs_no_reading) {
  say("load 30\nclock 900\n");
  Thor absent("libnvidia-ml-that-is-not-there.so.1");
  TEST_ASSERT_FALSE(has_load(absent.wait_said("NVML cannot be loaded: libnvidia-ml-that-is-not")));
  Thor old(library("old"));
  TEST_ASSERT_FALSE(has_load(old.wait_said("has no nvmlInit_v2: another version")));
  Thor without(library("no_load"));
  const PowerReading reading =
      without.wait([](const PowerReading& r) { return r.gpu_clock_mhz.has_value(); });
  TEST_ASSERT_EQUAL_INT32(900, *reading.gpu_clock_mhz);
  TEST_ASSERT_FALSE(has_load(reading));
}

TEST(a_hung_call_stops_neither_readings_nor_the_end_and_its_last_value_goes_stale) {
  say("load 70\n");
  {
    Thor thor(library("whole"));
    thor.wait(has_load);
    say("load 70\nhang load\n");
    const PowerReading stale = thor.wait_said("NVML does not answer, a call hangs");
    TEST_ASSERT_FALSE(has_load(stale));
    TEST_ASSERT_TRUE(stale.total_mw.has_value());
    // The same call comes back: so does the value.
    say("load 80\n");
    TEST_ASSERT_EQUAL_INT32(800, *thor.wait(has_load).gpu_load_permille);
    say("hang load\n");
    thor.wait_said("a call hangs");
  }  // the end does not wait for the call
  say("hang init\n");
  {
    Thor thor(library("whole"));
    const PowerReading reading = thor.wait_said("a call hangs");
    TEST_ASSERT_FALSE(has_load(reading));
    TEST_ASSERT_TRUE(reading.total_mw.has_value());
  }
  say("load 1\n");  // lets the threads that were left behind end
}

TEST(only_a_board_whose_file_says_so_asks_nvml) {
  say("load 47\n");
  for (const Board& board : all_boards("")) {
    TEST_ASSERT_EQUAL_INT_MESSAGE(board.gpu_sm == 110, board.gpu_load_from == GpuLoadFrom::kNvml,
                                  board.name.c_str());
  }
  Thor orin(library("whole"), "orin-nano-8gb");
  int seen = 0;
  orin.wait([&](const PowerReading& reading) {
    TEST_ASSERT_FALSE(has_load(reading));
    return ++seen == 30;
  });
  TEST_ASSERT_EQUAL_STRING("", orin.gpu().c_str());
}

TEST(what_the_kernel_shows_comes_before_what_nvml_says) {
  nvml::Sample sample;
  sample.load_permille = 100;
  sample.clock_mhz = 200;
  PowerReading reading;
  reading.gpu_load_permille = 7;
  fill_in(sample, reading);
  TEST_ASSERT_EQUAL_INT32(7, *reading.gpu_load_permille);
  TEST_ASSERT_EQUAL_INT32(200, *reading.gpu_clock_mhz);
}
