#include "estimators/cuda/engine.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estimators/cuda/plugin_api.h"

namespace laird::estimators {

namespace {

struct CloseLibrary {
  void operator()(void* handle) const { dlclose(handle); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <class Real>
class CudaEngine final : public DkfEngine<Real> {
 public:
  CudaEngine(Library library, const LairdCudaApi* api, std::string device)
      : library_(std::move(library)), api_(api), device_(std::move(device)) {}
  [[nodiscard]] const char* name() const override { return device_.c_str(); }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    return api_->allocate(bytes, &memory) == 0 ? memory : nullptr;
  }
  void release(void* memory) override {
    if (memory != nullptr) api_->release(memory);
  }
  [[nodiscard]] Status update(DkfTile<Real>* tiles, const ReportTile<Real>* reports,
                              std::size_t count, const lane::DkfConstants<Real>& c) override {
    const Real constants[4] = {c.process[0], c.process[1], c.process[2], c.observation};
    int error = 0;
    if constexpr (sizeof(Real) == sizeof(double)) {
      error = api_->dkf_f64(tiles, reports, count, constants);
    } else {
      error = api_->dkf_f32(tiles, reports, count, constants);
    }
    if (error != 0) return fail(Code::kUnavailable, device_ + ": " + api_->describe(error));
    return {};
  }

 private:
  Library library_;
  const LairdCudaApi* api_;
  std::string device_;
};

[[nodiscard]] Result<const LairdCudaApi*> api_of(void* library, const std::string& plugin) {
  const auto entry = reinterpret_cast<LairdCudaEntry>(dlsym(library, LAIRD_CUDA_ENTRY));
  if (entry == nullptr) {
    return fail(Code::kInvalid, plugin + ": not a laird plugin, it lacks " LAIRD_CUDA_ENTRY);
  }
  const LairdCudaApi* api = entry();
  if (api == nullptr || api->version != LAIRD_CUDA_API_VERSION ||
      api->tile_bytes_f64 != sizeof(DkfTile<double>) ||
      api->tile_bytes_f32 != sizeof(DkfTile<float>)) {
    return fail(Code::kInvalid, plugin + ": of another version of laird; install them together");
  }
  return api;
}

}  // namespace

template <class Real>
Result<std::unique_ptr<DkfEngine<Real>>> cuda_engine(const std::string& plugin) {
  Library library(dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    const char* why = dlerror();
    return fail(Code::kNotFound, why == nullptr ? plugin + ": cannot be opened" : why);
  }
  const auto api = api_of(library.get(), plugin);
  LAIRD_TRY(api);
  std::array<char, 256> device{};
  const int error = (*api)->open(device.data(), device.size());
  if (error != 0) return fail(Code::kUnavailable, plugin + ": " + (*api)->describe(error));
  return std::unique_ptr<DkfEngine<Real>>(
      std::make_unique<CudaEngine<Real>>(std::move(library), *api, device.data()));
}

namespace {

// Fastest of some repetitions: the least disturbed one.
template <class Real>
[[nodiscard]] Result<double> ns_per_update(DkfEngine<Real>& engine, std::size_t filters,
                                           const std::function<double()>& now_ns) {
  constexpr int kWarmUps = 2;
  constexpr int kRepetitions = 7;
  lane::DkfConstants<Real> constants = {{Real(1e-4), Real(1e-10), Real(1e-16)}, Real(1e-2)};
  auto batch = DkfBatch<Real>::make(engine, filters, constants);
  LAIRD_TRY(batch);
  for (std::size_t f = 0; f < filters; ++f) {
    batch->start(f, {Real(10), Real(1e-7), Real(1e-14)}, Real(2), Real(1));
  }
  double best = 0.0;
  for (int i = 0; i < kWarmUps + kRepetitions; ++i) {
    const double begin = now_ns();
    const Status stepped = batch->update();
    LAIRD_TRY(stepped);
    const double spent = now_ns() - begin;
    if (i < kWarmUps) continue;
    best = i == kWarmUps ? spent : std::min(best, spent);
  }
  return best;
}

}  // namespace

template <class Real>
Result<std::size_t> crossover(DkfEngine<Real>& first, DkfEngine<Real>& second,
                              const std::function<double()>& now_ns) {
  constexpr std::array<std::size_t, 2> kSizes = {512, 16384};
  double launch[2];
  double cost[2];
  DkfEngine<Real>* const engines[2] = {&first, &second};
  for (int e = 0; e < 2; ++e) {
    const auto small = ns_per_update(*engines[e], kSizes[0], now_ns);
    LAIRD_TRY(small);
    const auto large = ns_per_update(*engines[e], kSizes[1], now_ns);
    LAIRD_TRY(large);
    cost[e] = std::max(0.0, *large - *small) / double(kSizes[1] - kSizes[0]);
    launch[e] = std::max(0.0, *small - cost[e] * double(kSizes[0]));
  }
  if (!(cost[1] < cost[0])) return launch[1] < launch[0] ? kSizes[0] : kNeverFilters;
  const double meet = (launch[1] - launch[0]) / (cost[0] - cost[1]);
  if (!(meet < double(kBatchFiltersMax))) return kNeverFilters;
  return static_cast<std::size_t>(std::max(0.0, std::ceil(meet)));
}

template <class Real>
Engines<Real> Engines<Real>::calibrated(const std::string& plugin,
                                        const std::function<double()>& now_ns) {
  Engines engines;
  engines.cpu_ = cpu_engine<Real>();
  const std::string cpu = engines.cpu_->name();
  auto cuda = cuda_engine<Real>(plugin);
  if (!cuda) {
    engines.remark_ = "batches run on the CPU (" + cpu + "): " + cuda.error().context;
    return engines;
  }
  const auto from = crossover(*engines.cpu_, **cuda, now_ns);
  if (!from) {
    engines.remark_ = "batches run on the CPU (" + cpu + "): " + from.error().context;
    return engines;
  }
  engines.cuda_from_ = *from;
  engines.cuda_ = std::move(*cuda);
  engines.remark_ =
      *from == kNeverFilters
          ? "batches run on the CPU (" + cpu + "), faster here than " + engines.cuda_->name()
          : "batches of " + std::to_string(*from) + " filters and more run on " +
                engines.cuda_->name() + ", smaller ones on the CPU (" + cpu + ")";
  return engines;
}

template <class Real>
DkfEngine<Real>& Engines<Real>::for_batch(std::size_t filters) {
  return cuda_ != nullptr && filters >= cuda_from_ ? *cuda_ : *cpu_;
}

template Result<std::unique_ptr<DkfEngine<double>>> cuda_engine<double>(const std::string&);
template Result<std::unique_ptr<DkfEngine<float>>> cuda_engine<float>(const std::string&);
template Result<std::size_t> crossover<double>(DkfEngine<double>&, DkfEngine<double>&,
                                               const std::function<double()>&);
template Result<std::size_t> crossover<float>(DkfEngine<float>&, DkfEngine<float>&,
                                              const std::function<double()>&);
template class Engines<double>;
template class Engines<float>;

}  // namespace laird::estimators
