#include "estimators/cuda/engine.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

namespace est = laird::estimators;
using est::DkfBatch;
using est::DkfEngine;

namespace {

// plugin.cu compiled with g++ over the shim, beside this program.
const char* const kShim = LAIRD_CUDA_SHIM_PLUGIN;

template <class Real>
void the_plugin_gives_the_bits_of_the_cpu() {
  auto cuda = est::cuda_engine<Real>(kShim);
  TEST_ASSERT_TRUE_MESSAGE(cuda.has_value(), cuda ? "" : cuda.error().context.c_str());
  auto cpu = est::cpu_engine<Real>();
  const laird::lane::DkfConstants<Real> constants = {{Real(1e-4), Real(1e-10), Real(1e-16)},
                                                     Real(1e-2)};
  // Neither a multiple of a tile nor of a block; one filter alone; exactly one block.
  for (const std::size_t filters : {std::size_t{1}, std::size_t{128}, std::size_t{1003}}) {
    auto a = DkfBatch<Real>::make(*cpu, filters, constants);
    auto b = DkfBatch<Real>::make(**cuda, filters, constants);
    TEST_ASSERT_TRUE(a.has_value() && b.has_value());
    laird::test::Random points;
    for (std::size_t f = 0; f < filters; ++f) {
      const Real x = Real(1.0 + points.unit());
      const Real r = Real(points.bell());
      a->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
      b->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
    }
    for (int step = 0; step < 20; ++step) {
      for (std::size_t f = 0; f < filters; ++f) {
        const Real x = Real(2.0 + 0.1 * step + 0.01 * points.unit());
        const Real r = Real(points.bell());
        a->set_report(f, x, r);
        b->set_report(f, x, r);
      }
      TEST_ASSERT_TRUE(a->update().has_value());
      TEST_ASSERT_TRUE(b->update().has_value());
    }
    for (std::size_t f = 0; f < filters; ++f) {
      const auto sa = a->state(f);
      const auto sb = b->state(f);
      TEST_ASSERT_EQUAL_INT(0, std::memcmp(&sa, &sb, sizeof sa));
    }
  }
}

// An engine that does nothing but let time pass on a clock of the test's own.
class Timed final : public DkfEngine<double> {
 public:
  Timed(double& clock_ns, double launch_ns, double filter_ns)
      : clock_ns_(clock_ns), launch_ns_(launch_ns), filter_ns_(filter_ns) {}
  [[nodiscard]] const char* name() const override { return "timed"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override { return std::aligned_alloc(64, bytes); }
  void release(void* memory) override { std::free(memory); }
  [[nodiscard]] laird::Status update(est::DkfTile<double>*, const est::ReportTile<double>*,
                                     std::size_t count,
                                     const laird::lane::DkfConstants<double>&) override {
    clock_ns_ += launch_ns_ + filter_ns_ * double(count * est::kLanes<double>);
    return {};
  }

 private:
  double& clock_ns_;
  double launch_ns_;
  double filter_ns_;
};

std::size_t meet(double launch_a, double cost_a, double launch_b, double cost_b) {
  double clock = 0.0;
  Timed a(clock, launch_a, cost_a);
  Timed b(clock, launch_b, cost_b);
  const auto from = est::crossover<double>(a, b, [&] { return clock; });
  return from ? *from : 0;
}

}  // namespace

TEST(the_kernels_give_the_bits_of_the_cpu_through_the_shim) {
  the_plugin_gives_the_bits_of_the_cpu<double>();
  the_plugin_gives_the_bits_of_the_cpu<float>();
}

TEST(a_missing_plugin_means_the_cpu_and_one_remark) {
  double clock = 0.0;
  auto engines =
      est::Engines<double>::calibrated("/nowhere/liblaird_cuda.so", [&] { return clock; });
  TEST_ASSERT_NOT_NULL(std::strstr(engines.remark().c_str(), "on the CPU"));
  TEST_ASSERT_NOT_NULL(std::strstr(engines.remark().c_str(), "/nowhere/liblaird_cuda.so"));
  TEST_ASSERT_EQUAL_STRING(est::name(est::best_isa()), engines.for_batch(1'000'000).name());
}

TEST(a_machine_without_a_gpu_means_the_cpu) {
  setenv("LAIRD_SHIM_NO_DEVICE", "1", 1);
  const auto engine = est::cuda_engine<double>(kShim);
  unsetenv("LAIRD_SHIM_NO_DEVICE");
  TEST_ASSERT_FALSE(engine.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(engine.error().context.c_str(), "no CUDA-capable device"));
}

TEST(a_library_that_is_no_plugin_is_refused) {
  const auto engine = est::cuda_engine<double>("libc.so.6");
  TEST_ASSERT_FALSE(engine.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(engine.error().context.c_str(), "not a laird plugin"));
}

TEST(the_crossover_is_where_the_costs_meet) {
  // 8 ns per filter against a launch of 16 us and 2 ns per filter: 16000 / 6 = 2667.
  TEST_ASSERT_EQUAL_UINT64(2667, meet(0.0, 8.0, 16'000.0, 2.0));
  TEST_ASSERT_TRUE(meet(0.0, 2.0, 16'000.0, 8.0) == est::kNeverFilters);
  TEST_ASSERT_EQUAL_UINT64(0, meet(16'000.0, 8.0, 0.0, 2.0));
}

TEST(the_calibrated_choice_names_the_device) {
  double clock = 0.0;
  auto engines = est::Engines<double>::calibrated(kShim, [&] { return clock += 1.0; });
  TEST_ASSERT_NOT_NULL(std::strstr(engines.remark().c_str(), "CUDA shim"));
  (void)engines.for_batch(10);
}

TEST(the_real_plugin_opens_where_it_was_built) {
  // No GPU is needed to load it and to be told that there is none.
  const char* const plugin = LAIRD_CUDA_REAL_PLUGIN;
  if (*plugin == '\0') TEST_IGNORE_MESSAGE("skipped: nvcc was not found, no CUDA plugin");
  const auto engine = est::cuda_engine<double>(plugin);
  if (engine) return;
  TEST_ASSERT_NULL(std::strstr(engine.error().context.c_str(), "not a laird plugin"));
  TEST_ASSERT_NULL(std::strstr(engine.error().context.c_str(), "another version"));
  TEST_ASSERT_TRUE(engine.error().code == laird::Code::kUnavailable);
}
