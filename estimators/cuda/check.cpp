#include "estimators/cuda/check.hpp"

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace laird::estimators {
namespace {

constexpr int kSteps = 500;
// No multiple of a tile or of a block.
constexpr std::size_t kDkfFilters = 1003;

using Random = RandomOf<Range::kModulo>;

// Bytes that are the same on every run; signs and sizes as those of ln losses.
double some(Random& random) { return 4.0 * random.unit() - 2.0; }

template <class Word>
void compare(const void* a, const void* b, std::size_t bytes, KernelCheck& into) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    ++into.words;
    into.different += std::memcmp(static_cast<const char*>(a) + at,
                                  static_cast<const char*>(b) + at, sizeof(Word)) != 0;
  }
}

template <class Real>
[[nodiscard]] Status check_dkf(const std::shared_ptr<CudaDevice>& device, KernelCheck& into) {
  const auto gpu = cuda_engine<Real>(device);
  const auto cpu = cpu_engine<Real>();
  const lane::DkfConstants<Real> constants = {{Real(1e-4), Real(1e-10), Real(1e-16)}, Real(1e-2)};
  auto a = DkfBatch<Real>::make(*cpu, kDkfFilters, constants);
  LAIRD_TRY(a);
  auto b = DkfBatch<Real>::make(*gpu, kDkfFilters, constants);
  LAIRD_TRY(b);
  Random random(1);
  for (std::size_t f = 0; f < kDkfFilters; ++f) {
    const Real x = Real(1.0 + random.unit());
    const Real r = Real(some(random));
    a->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
    b->start(f, {Real(10), Real(1e-7), Real(1e-14)}, x, r);
  }
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t f = 0; f < kDkfFilters; ++f) {
      const Real x = Real(2.0 + 0.02 * step + 0.01 * random.unit());
      const Real r = Real(some(random));
      a->set_report(f, x, r);
      b->set_report(f, x, r);
    }
    LAIRD_TRY(a->update());
    LAIRD_TRY(b->update());
  }
  for (std::size_t f = 0; f < kDkfFilters; ++f) {
    const lane::DkfState<Real> sa = a->state(f);
    const lane::DkfState<Real> sb = b->state(f);
    compare<Real>(&sa, &sb, sizeof sa, into);
  }
  return {};
}

[[nodiscard]] Result<BankKind> some_kind(std::size_t filters, Random& random) {
  std::vector<BankHypothesis> all;
  for (std::size_t f = 0; f < filters; ++f) {
    all.push_back({0.02 + 3.0 * random.unit(), -0.5 * random.unit(), 0.05 * random.unit(),
                   0.8 * random.unit(), 0.3 + 3.0 * random.unit(), 1.0 / double(filters)});
  }
  return BankKind::make(all, {-0.3, 0.02, 0.25}, 0.02);
}

// What the bank's outlook is on an engine, from the same state.
struct Outlook {
  std::vector<BankAheadTile> each;
  BankSums sums{};
};
[[nodiscard]] Status look(BankEngine& engine, const Bank& bank, double distance, Outlook& out) {
  const BankKind& kind = bank.kind();
  const EngineArray<BankTile> tiles(engine, kind.tiles());
  const EngineArray<BankConstantsTile> constants(engine, kind.tiles());
  const EngineArray<double> scratch(engine, kind.filters());
  const EngineArray<double> d(engine, 1);
  const EngineArray<BankAheadTile> ahead(engine, kind.tiles());
  const EngineArray<BankSums> sums(engine, 1);
  if (!tiles || !constants || !scratch || !d || !ahead || !sums) {
    return fail(Code::kFull, std::string(engine.name()) + ": no memory for a bank");
  }
  std::copy_n(bank.tiles().data(), kind.tiles(), tiles.data());
  std::copy_n(kind.constants().data(), kind.tiles(), constants.data());
  d[0] = distance;
  const BankLook question = {
      tiles.data(), constants.data(), scratch.data(), d.data(), ahead.data(), sums.data(), 1,
      kind.tiles()};
  LAIRD_TRY(engine.look(question));
  out.each.assign(ahead.data(), ahead.data() + kind.tiles());
  out.sums = sums[0];
  return {};
}

[[nodiscard]] Status check_bank(BankEngine& gpu, BankEngine& cpu, std::size_t filters,
                                KernelCheck& steps, KernelCheck& looks) {
  Random random(2);
  const auto kind = some_kind(filters, random);
  LAIRD_TRY(kind);
  std::vector<BankReport> reports;
  reports.reserve(kSteps);
  for (int n = 0; n < kSteps; ++n) {
    reports.push_back({0.1 * random.unit(), -0.03 * n + 0.1 * some(random), 1e-3});
  }
  Bank a(*kind);
  Bank b(*kind);
  const BankRebuild on_cpu = {&a, 1, reports};
  const BankRebuild on_gpu = {&b, 1, reports};
  LAIRD_TRY(rebuild_banks({&on_cpu, 1}, cpu));
  LAIRD_TRY(rebuild_banks({&on_gpu, 1}, gpu));
  compare<double>(a.tiles().data(), b.tiles().data(), a.tiles().size_bytes(), steps);
  Outlook want;
  Outlook got;
  LAIRD_TRY(look(cpu, a, 0.7, want));
  LAIRD_TRY(look(gpu, a, 0.7, got));
  compare<double>(want.each.data(), got.each.data(), want.each.size() * sizeof want.each[0], looks);
  compare<double>(&want.sums, &got.sums, sizeof want.sums, looks);
  return {};
}

}  // namespace

std::size_t DeviceCheck::different() const {
  std::size_t sum = 0;
  for (const KernelCheck& kernel : kernels) sum += kernel.different;
  return sum;
}

Result<DeviceCheck> check_device(const std::string& plugin, const std::string& driver,
                                 const std::function<TimeNs()>& now) {
  const auto device = CudaDevice::open(plugin, driver);
  LAIRD_TRY(device);
  DeviceCheck out;
  out.device = (*device)->name();
  out.driver = (*device)->driver();
  const auto cpu = cpu_bank_engine();
  const auto gpu = cuda_bank_engine(*device);
  out.cpu = cpu->name();
  KernelCheck wide = {"dkf_f64", 0, 0};
  KernelCheck narrow = {"dkf_f32", 0, 0};
  KernelCheck steps = {"bank_step", 0, 0};
  KernelCheck looks = {"bank_look", 0, 0};
  LAIRD_TRY(check_dkf<double>(*device, wide));
  LAIRD_TRY(check_dkf<float>(*device, narrow));
  // One filter to a thread, and several.
  for (const std::size_t filters : {std::size_t{32}, std::size_t{1024}}) {
    LAIRD_TRY(check_bank(*gpu, *cpu, filters, steps, looks));
  }
  out.kernels = {wide, narrow, steps, looks};
  const auto cpu_cost = measure_engine(*cpu, now);
  LAIRD_TRY(cpu_cost);
  const auto gpu_cost = measure_engine(*gpu, now);
  LAIRD_TRY(gpu_cost);
  out.cpu_cost = *cpu_cost;
  out.gpu_cost = *gpu_cost;
  out.from_updates = crossover(out.cpu_cost, out.gpu_cost);
  return out;
}

}  // namespace laird::estimators
