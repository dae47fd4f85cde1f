#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "power/boards/catalogue.hpp"
#include "power/readers/open_reader.hpp"
#include "power/readers/sysfs/sysfs_inventory.hpp"
#include "power/readers/sysfs/sysfs_reader.hpp"
#include "power/readers/sysfs/sysfs_sampler.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/power/fake_sysfs.hpp"

using namespace laird;
using namespace laird::power;
using laird::test::fake_rail_mw;
using laird::test::make_sensors;
using laird::test::put;

namespace {

Board board_of(const char* name) { return *find_board(name, ""); }

// Waits up to two seconds for a reading, as the loop would: by the descriptor.
std::optional<PowerReading> wait_for_reading(Reader& reader) {
  for (int i = 0; i < 200; ++i) {
    if (auto reading = reader.poll(monotonic_now())) return reading;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

}  // namespace

TEST(a_fake_tree_of_every_board_reads_every_rail_and_the_right_total) {
  for (const Board& board : all_boards("")) {
    if (board.sensors.empty()) continue;
    const test::TemporaryFolder root;
    make_sensors(root.path(), board);
    SysfsSampler sampler(root.path(), board);
    const PowerReading reading = sampler.sample(5);
    std::size_t n = 0;
    std::size_t real = 0;
    for (const Sensor& sensor : board.sensors) {
      for (const std::string& rail : sensor.rails) {
        const std::int64_t want = fake_rail_mw(n++);
        if (rail == "NC") continue;
        ++real;
        TEST_ASSERT_EQUAL_INT64_MESSAGE(want, reading.rail_mw(rail).value_or(-1),
                                        (board.name + " " + rail).c_str());
      }
    }
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(real, reading.rails.size(), board.name.c_str());
    std::int64_t total = 0;
    for (const std::string& rail : board.totals.front().rails) total += *reading.rail_mw(rail);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(total, reading.total_mw.value_or(-1), board.name.c_str());
    TEST_ASSERT_TRUE(reading.scope == board.totals.front().scope);
    TEST_ASSERT_TRUE(reading.source ==
                     (board.sensors[0].chip == "ina3221x" ? Source::kIio : Source::kHwmon));
  }
}

TEST(the_same_sensor_reached_by_two_paths_counts_once) {
  const test::TemporaryFolder root;
  const Board board = board_of("orin-nano-8gb");
  make_sensors(root.path(), board);
  std::filesystem::create_directories(root.path() + "/sys/class/hwmon");
  std::filesystem::create_directory_symlink(test::sensor_folder(root.path(), board.sensors[0], 0),
                                            root.path() + "/sys/class/hwmon/hwmon3");
  TEST_ASSERT_EQUAL_UINT64(3, discover_sysfs(root.path()).channels.size());
}

TEST(thermal_zones_gpu_and_cpu_are_read_and_what_is_missing_stays_unknown) {
  const test::TemporaryFolder root;
  const std::string r = root.path();
  const auto zone = [&](int n, const char* type, const char* temp) {
    put(r + "/sys/devices/virtual/thermal/thermal_zone" + std::to_string(n) + "/type", type);
    put(r + "/sys/devices/virtual/thermal/thermal_zone" + std::to_string(n) + "/temp", temp);
  };
  zone(0, "cpu-thermal\n", "51234\n");
  zone(1, "gpu-thermal\n", "-256000\n");
  zone(2, "PMIC-Die\n", "100000\n");
  zone(3, "broken\n", "");
  put(r + "/sys/class/devfreq/17000000.gpu/cur_freq", "612000000\n");
  put(r + "/sys/class/devfreq/17000000.gpu/device/load", "455\n");
  put(r + "/sys/class/devfreq/17000000.gpu/device/of_node/name", std::string("gpu\0", 4));
  put(r + "/sys/class/devfreq/bwmgr/cur_freq", "1\n");
  put(r + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "729600\n");
  put(r + "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1510400\n");
  put(r + "/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n");
  put(r + "/proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
  SysfsSampler sampler(r, board_of("orin-nano-8gb"));
  const PowerReading first = sampler.sample(0);
  TEST_ASSERT_EQUAL_UINT64(1, first.zones.size());
  TEST_ASSERT_EQUAL_INT64(51'234, *first.hottest_mc());
  TEST_ASSERT_EQUAL_INT32(612, *first.gpu_clock_mhz);
  TEST_ASSERT_EQUAL_INT32(455, *first.gpu_load_permille);
  TEST_ASSERT_EQUAL_INT32(1510, *first.cpu_clock_mhz);
  TEST_ASSERT_EQUAL_INT32(2, *first.cpu_cores_on);
  TEST_ASSERT_EQUAL_INT64(600 * 1024, *first.memory_used_bytes);
  TEST_ASSERT_FALSE(first.cpu_load_permille.has_value());
  TEST_ASSERT_FALSE(first.total_mw.has_value());
  put(r + "/proc/stat", "cpu  130 0 120 850 0 0 0 0 0 0\n");
  TEST_ASSERT_EQUAL_INT32(500, *sampler.sample(kSecond).cpu_load_permille);
}

TEST(a_sensor_that_comes_up_after_boot_is_found) {
  const test::TemporaryFolder root;
  const Board board = board_of("agx-orin-64gb");
  SysfsSampler sampler(root.path(), board);
  TEST_ASSERT_FALSE(sampler.sample(0).total_mw.has_value());
  make_sensors(root.path(), board);
  TEST_ASSERT_FALSE(sampler.sample(kSecond).total_mw.has_value());
  TEST_ASSERT_TRUE(sampler.sample(3 * kSecond).total_mw.has_value());
}

TEST(a_rail_that_disappears_makes_the_total_unknown_and_is_found_again) {
  const test::TemporaryFolder root;
  const Board board = board_of("agx-orin-64gb");
  make_sensors(root.path(), board);
  SysfsSampler sampler(root.path(), board);
  TEST_ASSERT_TRUE(sampler.sample(0).total_mw.has_value());
  const std::string file = test::sensor_folder(root.path(), board.sensors[0], 0) + "/curr2_input";
  put(file, "");  // an open file that no longer gives a number
  const PowerReading without = sampler.sample(kSecond);
  TEST_ASSERT_FALSE(without.total_mw.has_value());
  TEST_ASSERT_EQUAL_STRING("missing for VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0: VDD_CPU_CV",
                           without.total_rule.c_str());
  // The driver comes back with new files under another number.
  std::filesystem::remove(file);
  put(file, "220\n");
  TEST_ASSERT_TRUE(sampler.sample(5 * kSecond).total_mw.has_value());
}

TEST(a_file_that_may_not_be_read_is_noted) {
  if (::geteuid() == 0) TEST_IGNORE_MESSAGE("skipped: root may read everything");
  const test::TemporaryFolder root;
  const Board board = board_of("nano-4gb");
  make_sensors(root.path(), board);
  const std::string file =
      test::sensor_folder(root.path(), board.sensors[0], 0) + "/in_power0_input";
  ::chmod(file.c_str(), 0);
  const SysfsInventory found = discover_sysfs(root.path());
  TEST_ASSERT_EQUAL_UINT64(2, found.channels.size());
  TEST_ASSERT_EQUAL_UINT64(1, found.notes.size());
}

TEST(garbage_in_sysfs_is_no_reading) {
  const test::TemporaryFolder root;
  const Board board = board_of("orin-nano-8gb");
  make_sensors(root.path(), board);
  const std::string folder = test::sensor_folder(root.path(), board.sensors[0], 0);
  for (const char* text : {"", "abc\n", "99999999999999999999999\n", "-5\n", "\xff\xff"}) {
    put(folder + "/curr1_input", text);
    SysfsSampler sampler(root.path(), board);
    TEST_ASSERT_FALSE_MESSAGE(sampler.sample(0).total_mw.has_value(), text);
  }
}

TEST(the_reader_gives_readings_through_its_mailbox) {
  const test::TemporaryFolder root;
  const Board board = board_of("orin-nano-8gb");
  make_sensors(root.path(), board);
  SysfsReader reader(root.path(), board, 10 * kMillisecond);
  TEST_ASSERT_TRUE(reader.fd() >= 0);
  const auto first = wait_for_reading(reader);
  const auto second = wait_for_reading(reader);
  TEST_ASSERT_TRUE(first && second && second->at > first->at);
  TEST_ASSERT_EQUAL_INT64(fake_rail_mw(0), *first->total_mw);
  TEST_ASSERT_TRUE(reader.status(monotonic_now()).working);
}

TEST(a_hung_read_hangs_neither_the_loop_nor_the_end) {
  const test::TemporaryFolder root;
  const Board board = board_of("orin-nano-8gb");
  make_sensors(root.path(), board);
  const std::string file = test::sensor_folder(root.path(), board.sensors[0], 0) + "/curr1_input";
  std::filesystem::remove(file);
  // Opening a FIFO nobody writes to blocks, as a read on a stuck bus does.
  TEST_ASSERT_EQUAL_INT(0, ::mkfifo(file.c_str(), 0600));
  const auto before = std::chrono::steady_clock::now();
  {
    SysfsReader reader(root.path(), board, 10 * kMillisecond);
    for (int i = 0; i < 10; ++i) {
      TEST_ASSERT_FALSE(reader.poll(monotonic_now()).has_value());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    TEST_ASSERT_FALSE(reader.status(monotonic_now()).working);
  }
  TEST_ASSERT_TRUE(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
  // Lets the thread that was left behind go before the folder does.
  std::ofstream release(file);
}

TEST(auto_takes_sysfs_then_tegrastats_then_none) {
  const test::TemporaryFolder root;
  const Board board = board_of("orin-nano-8gb");
  ReaderOptions options;
  options.root = root.path();
  options.program = root.path() + "/tegrastats";
  TEST_ASSERT_TRUE((*open_reader(options, board))->status(0).source == Source::kNone);
  put(options.program, "#!/bin/sh\n");
  ::chmod(options.program.c_str(), 0755);
  TEST_ASSERT_TRUE((*open_reader(options, board))->status(0).source == Source::kTegrastats);
  make_sensors(root.path(), board);
  TEST_ASSERT_TRUE((*open_reader(options, board))->status(0).source == Source::kHwmon);
  options.kind = "sysf";
  TEST_ASSERT_FALSE(open_reader(options, board).has_value());
}
