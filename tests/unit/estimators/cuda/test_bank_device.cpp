#include "estimators/cuda/bank_device.hpp"

#include <cstdlib>
#include <cstring>

#include "tests/harness/bank_samples.hpp"
#include "tests/harness/unit.hpp"

namespace est = laird::estimators;
using est::BankDevice;
using est::DeviceChoice;
using laird::kMillisecond;
using laird::kSecond;

namespace {

const std::string kPlugin = LAIRD_CUDA_PLUGIN;
const std::string kDriver = std::string(LAIRD_FAKE_CUDA_FOLDER) + "/exact/libcuda.so.1";

void skip_without_plugin() {
  if (kPlugin.empty()) TEST_IGNORE_MESSAGE("skipped: no clang that makes PTX, no CUDA plugin");
}

// A world with a clock that moves by itself at each look, and memory that a context takes.
struct World {
  laird::TimeNs clock = 0;
  laird::DurationNs look = 0;
  std::int64_t available = 2'000'000'000;
  std::int64_t unclaimed = 2'000'000'000;
  std::int64_t context = 0;  // what each look finds the machine to have less

  [[nodiscard]] est::DeviceWorld device(const std::string& plugin = kPlugin,
                                        const std::string& driver = kDriver) {
    return {plugin, driver, [this] { return clock += look; },
            [this] { return available -= context; }, [this] { return unclaimed; }};
  }
};

struct Banks {
  est::BankKind kind = laird::test::some_bank_kind(32);
  std::vector<std::vector<est::BankReport>> kept;
  std::vector<est::Bank> banks;
  std::vector<est::BankRebuild> all;

  Banks() {
    for (std::uint64_t b = 0; b < 6; ++b) kept.push_back(laird::test::some_reports(40 + 9 * b, b));
    banks.assign(kept.size(), est::Bank(kind));
    for (std::size_t b = 0; b < kept.size(); ++b) all.push_back({&banks[b], 1, kept[b]});
  }
  Banks(const Banks&) = delete;
  Banks& operator=(const Banks&) = delete;
  [[nodiscard]] std::size_t wrong_words() const {
    std::size_t wrong = 0;
    for (std::size_t b = 0; b < kept.size(); ++b) {
      est::Bank alone(kind);
      alone.follow(1, kept[b]);
      wrong += laird::test::words_different(alone.tiles(), banks[b].tiles());
    }
    return wrong;
  }
};

struct Failing {
  explicit Failing(const char* how) { setenv("LAIRD_FAKE_CUDA", how, 1); }
  ~Failing() { unsetenv("LAIRD_FAKE_CUDA"); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
};

void ends_on_the_cpu(const char* how, const std::string& plugin, const std::string& driver,
                     const char* words) {
  const Failing failing(how);
  World world;
  BankDevice device(DeviceChoice::kGpu, world.device(plugin, driver));
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, banks.wrong_words(), how);
  TEST_ASSERT_FALSE(device.open());
  const auto remark = device.remark();
  TEST_ASSERT_TRUE_MESSAGE(remark.has_value(), how);
  TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(remark->c_str(), words), remark->c_str());
  TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(remark->c_str(), "on the CPU"), remark->c_str());
  TEST_ASSERT_NULL_MESSAGE(std::strchr(remark->c_str(), '\n'), how);
  // Once is enough: it is not tried again, and nothing more is said.
  Banks again;
  device.rebuild(again.all);
  TEST_ASSERT_EQUAL_UINT64(0, again.wrong_words());
  TEST_ASSERT_FALSE(device.remark().has_value());
}

}  // namespace

TEST(five_failures_end_on_the_cpu_with_one_line_and_the_same_banks) {
  skip_without_plugin();
  ends_on_the_cpu("", kPlugin, "/nowhere/libcuda.so.1", "no CUDA driver");
  ends_on_the_cpu("no-device", kPlugin, kDriver, "no CUDA-capable device");
  ends_on_the_cpu("no-jit", kPlugin, kDriver, "(error 221)");
  ends_on_the_cpu("bad-ptx", kPlugin, kDriver, "(error 218)");
  ends_on_the_cpu("new-ptx", kPlugin, kDriver, "(error 222)");
  // In the calibration, and after it, in the middle of the work itself.
  ends_on_the_cpu("launch:3", kPlugin, kDriver, "unspecified launch failure");
  ends_on_the_cpu("launch:15", kPlugin, kDriver, "unspecified launch failure");
}

TEST(a_missing_plugin_ends_on_the_cpu_too) {
  ends_on_the_cpu("", "/nowhere/liblaird_cuda.so", kDriver, "/nowhere/liblaird_cuda.so");
}

TEST(the_gpu_gives_the_banks_of_the_cpu) {
  skip_without_plugin();
  World world;
  BankDevice device(DeviceChoice::kGpu, world.device());
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_TRUE(device.open());
  TEST_ASSERT_EQUAL_UINT64(0, banks.wrong_words());
  TEST_ASSERT_NOT_NULL(std::strstr(device.remark()->c_str(), "translated PTX on the CPU"));
}

TEST(cpu_means_that_no_context_is_opened) {
  World world;
  world.look = kSecond;
  BankDevice device(DeviceChoice::kCpu, world.device());
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_EQUAL_UINT64(0, banks.wrong_words());
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_FALSE(device.remark().has_value());
}

TEST(auto_opens_no_context_for_work_that_the_cpu_does_at_once) {
  skip_without_plugin();
  World world;
  world.look = kMillisecond;
  BankDevice device(DeviceChoice::kAuto, world.device());
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_FALSE(device.remark().has_value());
  TEST_ASSERT_EQUAL_UINT64(0, banks.wrong_words());
}

TEST(auto_opens_one_where_it_pays_and_gives_it_back_when_idle) {
  skip_without_plugin();
  World world;
  world.look = kSecond;  // what the calibration of the CPU sees
  BankDevice device(DeviceChoice::kAuto, world.device());
  world.look = kMillisecond;  // what that of the GPU sees
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_TRUE(device.open());
  TEST_ASSERT_EQUAL_UINT64(0, banks.wrong_words());
  TEST_ASSERT_TRUE(device.remark().has_value());
  device.rest();
  TEST_ASSERT_TRUE(device.open());
  world.clock += BankDevice::kIdle;
  device.rest();
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_NOT_NULL(std::strstr(device.remark()->c_str(), "idle"));
  // And opens it again for the next that pays.
  device.rebuild(banks.all);
  TEST_ASSERT_TRUE(device.open());
}

TEST(auto_keeps_to_a_cpu_that_is_faster) {
  skip_without_plugin();
  World world;
  world.look = kSecond;
  BankDevice device(DeviceChoice::kAuto, world.device());
  world.look = 2 * kSecond;
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_NOT_NULL(std::strstr(device.remark()->c_str(), "faster"));
}

TEST(a_context_takes_only_memory_that_is_spare_and_gives_it_back_to_tasks) {
  skip_without_plugin();
  World world;
  world.unclaimed = BankDevice::kContextBytes - 1;
  BankDevice device(DeviceChoice::kGpu, world.device());
  Banks banks;
  device.rebuild(banks.all);
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_NOT_NULL(std::strstr(device.remark()->c_str(), "256 MB"));
  // A task ended, but the machine itself is full.
  world.unclaimed = BankDevice::kContextBytes;
  world.available = BankDevice::kContextBytes - 1;
  device.rebuild(banks.all);
  TEST_ASSERT_FALSE(device.open());
  world.available = 2 * BankDevice::kContextBytes;
  world.context = 150'000'000;
  device.rebuild(banks.all);
  TEST_ASSERT_TRUE(device.open());
  TEST_ASSERT_EQUAL_INT64(150'000'000, device.context_bytes());
  // Another task was accepted, and what is left is still enough; then it is not.
  world.unclaimed = 150'000'000;
  device.rest();
  TEST_ASSERT_TRUE(device.open());
  world.unclaimed = 149'999'999;
  device.rest();
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_EQUAL_INT64(0, device.context_bytes());
}

TEST(one_report_at_a_time_gives_the_same_bank_on_the_gpu_and_when_it_fails_midway) {
  skip_without_plugin();
  for (const char* how : {"", "launch:40"}) {
    const Failing failing(how);
    World world;
    BankDevice device(DeviceChoice::kGpu, world.device());
    device.try_at_start();
    TEST_ASSERT_TRUE(device.open());
    est::use_bank_runner(&device);
    Banks banks;
    for (std::size_t b = 0; b < banks.kept.size(); ++b) {
      for (const est::BankReport& report : banks.kept[b]) banks.banks[b].observe(report);
    }
    est::use_bank_runner(nullptr);
    TEST_ASSERT_EQUAL_UINT64(0, banks.wrong_words());
    TEST_ASSERT_EQUAL_INT(*how == '\0', device.open());
  }
}

TEST(automatically_a_single_report_is_never_worth_a_context) {
  skip_without_plugin();
  World world;
  world.look = kSecond;
  BankDevice device(DeviceChoice::kAuto, world.device());
  device.try_at_start();
  est::use_bank_runner(&device);
  Banks banks;
  for (const est::BankReport& report : banks.kept[0]) banks.banks[0].observe(report);
  est::use_bank_runner(nullptr);
  TEST_ASSERT_FALSE(device.open());
  TEST_ASSERT_FALSE(device.remark().has_value());
}

TEST(the_crossover_is_where_the_costs_meet) {
  // 8 ns per update against a launch of 16 us and 2 ns: 16000 / 6 = 2667.
  TEST_ASSERT_EQUAL_UINT64(2667, est::crossover({0.0, 8.0}, {16'000.0, 2.0}));
  TEST_ASSERT_TRUE(est::crossover({0.0, 2.0}, {16'000.0, 8.0}) == est::kNeverUpdates);
  TEST_ASSERT_TRUE(est::crossover({100.0, 2.0}, {0.0, 8.0}) == est::kNeverUpdates);
  TEST_ASSERT_EQUAL_UINT64(0, est::crossover({16'000.0, 8.0}, {0.0, 2.0}));
  TEST_ASSERT_EQUAL_UINT64(0, est::crossover({16'000.0, 8.0}, {0.0, 8.0}));
}
