#include "estimators/cuda/engine.hpp"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/harness/bank_samples.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

namespace est = laird::estimators;
using est::CudaDevice;
using est::DkfBatch;
using laird::test::some_bank_kind;
using laird::test::some_reports;

namespace {

// The plugin that ships, over a driver that runs the plugin's own PTX, translated to C.
const std::string kPlugin = LAIRD_CUDA_PLUGIN;
const std::string kFolder = LAIRD_FAKE_CUDA_FOLDER;
const std::string kDriver = kFolder + "/exact/libcuda.so.1";

void skip_without_plugin() {
  if (kPlugin.empty()) TEST_IGNORE_MESSAGE("skipped: no clang that makes PTX, no CUDA plugin");
}

std::shared_ptr<CudaDevice> device_of(const std::string& plugin, const std::string& driver) {
  auto device = CudaDevice::open(plugin, driver);
  TEST_ASSERT_TRUE_MESSAGE(device.has_value(), device ? "" : device.error().context.c_str());
  return std::move(*device);
}

int held(const char* what) {
  void* library = dlopen(kDriver.c_str(), RTLD_NOW);
  const auto count = reinterpret_cast<int (*)()>(dlsym(library, what));
  const int number = count();
  dlclose(library);
  return number;
}

// Words of all filters that differ from the CPU's after 500 reports.
template <class Real>
std::size_t dkf_words_different(const std::shared_ptr<CudaDevice>& device, std::size_t filters) {
  const auto gpu = est::cuda_engine<Real>(device);
  const auto cpu = est::cpu_engine<Real>();
  const laird::lane::DkfConstants<Real> constants = {{Real(1e-4), Real(1e-10), Real(1e-16)},
                                                     Real(1e-2)};
  auto a = DkfBatch<Real>::make(*cpu, filters, constants);
  auto b = DkfBatch<Real>::make(*gpu, filters, constants);
  TEST_ASSERT_TRUE(a.has_value() && b.has_value());
  laird::test::Random random;
  for (std::size_t f = 0; f < filters; ++f) {
    const Real x = Real(1.0 + random.unit());
    const Real r = Real(random.bell());
    a->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
    b->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
  }
  for (int step = 0; step < 500; ++step) {
    for (std::size_t f = 0; f < filters; ++f) {
      const Real x = Real(2.0 + 0.02 * step + 0.01 * random.unit());
      const Real r = Real(random.bell());
      a->set_report(f, x, r);
      b->set_report(f, x, r);
    }
    TEST_ASSERT_TRUE(a->update().has_value());
    TEST_ASSERT_TRUE(b->update().has_value());
  }
  std::size_t different = 0;
  for (std::size_t f = 0; f < filters; ++f) {
    const auto sa = a->state(f);
    const auto sb = b->state(f);
    for (int k = 0; k < 6; ++k)
      different += std::memcmp(&sa.mean[k], &sb.mean[k], sizeof(Real)) != 0;
    for (int k = 0; k < 21; ++k) different += std::memcmp(&sa.p[k], &sb.p[k], sizeof(Real)) != 0;
  }
  return different;
}

struct BankWords {
  std::size_t steps = 0;
  std::size_t looks = 0;
};

// The same of banks: their states after up to 500 reports, then what they foretell.
BankWords bank_words_different(const std::shared_ptr<CudaDevice>& device, std::size_t filters) {
  const auto gpu = est::cuda_bank_engine(device);
  const auto cpu = est::cpu_bank_engine();
  const est::BankKind kind = some_bank_kind(filters);
  constexpr std::size_t kBanks = 5;
  BankWords different;
  est::EngineArray<est::BankTile> tiles(*gpu, kBanks * kind.tiles());
  est::EngineArray<est::BankConstantsTile> constants(*gpu, kind.tiles());
  est::EngineArray<double> scratch(*gpu, kBanks * filters);
  est::EngineArray<double> d(*gpu, kBanks);
  est::EngineArray<est::BankAheadTile> ahead(*gpu, kBanks * kind.tiles());
  est::EngineArray<est::BankSums> sums(*gpu, kBanks);
  std::copy_n(kind.constants().data(), kind.tiles(), constants.data());
  std::vector<est::Bank> on_cpu(kBanks, est::Bank(kind));
  for (std::size_t b = 0; b < kBanks; ++b) {
    const auto reports = some_reports(500 - 90 * b, b + 1);
    est::Bank on_gpu(kind);
    const est::BankRebuild a = {&on_cpu[b], 1, reports};
    const est::BankRebuild g = {&on_gpu, 1, reports};
    TEST_ASSERT_TRUE(est::rebuild_banks({&a, 1}, *cpu).has_value());
    TEST_ASSERT_TRUE(est::rebuild_banks({&g, 1}, *gpu).has_value());
    different.steps += laird::test::words_different(on_cpu[b].tiles(), on_gpu.tiles());
    std::copy_n(on_cpu[b].tiles().data(), kind.tiles(), tiles.data() + b * kind.tiles());
    d[b] = 0.3 + static_cast<double>(b);
  }
  TEST_ASSERT_TRUE(gpu->look({tiles.data(), constants.data(), scratch.data(), d.data(),
                              ahead.data(), sums.data(), kBanks, kind.tiles()})
                       .has_value());
  std::vector<est::BankAheadTile> want(kind.tiles());
  for (std::size_t b = 0; b < kBanks; ++b) {
    const est::BankSums own = on_cpu[b].ahead(d[b], want.data());
    different.looks += std::memcmp(&own, &sums[b], sizeof own) != 0;
    for (std::size_t t = 0; t < kind.tiles(); ++t) {
      for (std::size_t i = 0; i < est::kBankLanes; ++i) {
        const est::BankAheadTile& got = ahead[b * kind.tiles() + t];
        different.looks += std::memcmp(&got.level[i], &want[t].level[i], sizeof(double)) != 0;
        different.looks += std::memcmp(&got.variance[i], &want[t].variance[i], sizeof(double)) != 0;
      }
    }
  }
  return different;
}

struct Failing {
  explicit Failing(const char* how) { setenv("LAIRD_FAKE_CUDA", how, 1); }
  ~Failing() { unsetenv("LAIRD_FAKE_CUDA"); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
};

std::string why_not(const std::string& plugin, const std::string& driver) {
  const auto device = CudaDevice::open(plugin, driver);
  TEST_ASSERT_FALSE(device.has_value());
  return device.error().context;
}

bool holds(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST(no_word_differs_from_the_cpu_after_five_hundred_steps_of_the_dkf) {
  skip_without_plugin();
  const auto device = device_of(kPlugin, kDriver);
  // Neither a multiple of a tile nor of a block; one filter alone; exactly one block.
  for (const std::size_t filters : {std::size_t{1}, std::size_t{128}, std::size_t{1003}}) {
    TEST_ASSERT_EQUAL_UINT64(0, dkf_words_different<double>(device, filters));
    TEST_ASSERT_EQUAL_UINT64(0, dkf_words_different<float>(device, filters));
  }
}

TEST(no_word_differs_from_the_cpu_after_five_hundred_reports_of_a_bank) {
  skip_without_plugin();
  const auto device = device_of(kPlugin, kDriver);
  // Fewer filters than a block has threads, as many, and several to a thread.
  for (const std::size_t filters :
       {std::size_t{8}, std::size_t{32}, std::size_t{128}, std::size_t{1024}}) {
    const BankWords different = bank_words_different(device, filters);
    TEST_ASSERT_EQUAL_UINT64(0, different.steps);
    TEST_ASSERT_EQUAL_UINT64(0, different.looks);
  }
}

TEST(kernels_compiled_with_contraction_give_other_bits) {
  // The control: the comparison above would see a single operation that rounds otherwise.
  skip_without_plugin();
  const auto device =
      device_of(kFolder + "/contracted/liblaird_cuda.so", kFolder + "/contracted/libcuda.so.1");
  TEST_ASSERT_TRUE(dkf_words_different<double>(device, 128) > 1000);
  TEST_ASSERT_TRUE(dkf_words_different<float>(device, 128) > 1000);
  const BankWords different = bank_words_different(device, 128);
  TEST_ASSERT_TRUE(different.steps > 1000);
  TEST_ASSERT_TRUE(different.looks > 100);
}

TEST(a_driver_takes_no_other_ptx_than_the_translated_one) {
  skip_without_plugin();
  TEST_ASSERT_TRUE(
      holds(why_not(kFolder + "/contracted/liblaird_cuda.so", kDriver), "image is invalid"));
}

TEST(everything_is_given_back_with_the_device) {
  skip_without_plugin();
  void* const kept_loaded = dlopen(kDriver.c_str(), RTLD_NOW);
  TEST_ASSERT_EQUAL_INT(0, held("fake_cuda_held"));
  {
    const auto device = device_of(kPlugin, kDriver);
    const auto engine = est::cuda_bank_engine(device);
    const est::EngineArray<double> memory(*engine, 100);
    TEST_ASSERT_EQUAL_INT(3, held("fake_cuda_held"));  // a context, a module, memory
    TEST_ASSERT_EQUAL_STRING("translated PTX on the CPU", device->name().c_str());
    TEST_ASSERT_EQUAL_STRING("12.6, compute 5.3", device->driver().c_str());
  }
  TEST_ASSERT_EQUAL_INT(0, held("fake_cuda_held"));
  for (const char* how : {"no-device", "no-jit", "bad-ptx", "new-ptx", "no-managed"}) {
    const Failing failing(how);
    TEST_ASSERT_FALSE(CudaDevice::open(kPlugin, kDriver).has_value());
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, held("fake_cuda_held"), how);
  }
  dlclose(kept_loaded);
}

TEST(each_thing_that_can_be_missing_has_its_own_words) {
  TEST_ASSERT_TRUE(
      holds(why_not("/nowhere/liblaird_cuda.so", kDriver), "/nowhere/liblaird_cuda.so"));
  TEST_ASSERT_TRUE(holds(why_not("libc.so.6", kDriver), "not a laird plugin"));
  skip_without_plugin();
  TEST_ASSERT_TRUE(holds(why_not(kPlugin, "/nowhere/libcuda.so.1"), "no CUDA driver"));
  TEST_ASSERT_TRUE(holds(why_not(kPlugin, "libc.so.6"), "lacks a function"));
  const struct {
    const char* how;
    const char* words;
  } all[] = {{"no-device", "no CUDA-capable device"},
             {"no-jit", "libnvidia-ptxjitcompiler.so.1 is missing"},
             {"bad-ptx", "refused the PTX as invalid (error 218)"},
             {"new-ptx", "too new for this driver (error 222)"},
             {"no-managed", "no managed memory"}};
  for (const auto& one : all) {
    const Failing failing(one.how);
    TEST_ASSERT_TRUE_MESSAGE(holds(why_not(kPlugin, kDriver), one.words), one.how);
  }
}

TEST(a_second_context_in_the_same_process_is_refused) {
  skip_without_plugin();
  const auto device = device_of(kPlugin, kDriver);
  TEST_ASSERT_TRUE(holds(why_not(kPlugin, kDriver), "open already"));
}
