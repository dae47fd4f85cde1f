#include "estimators/cuda/engine.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "estimators/cuda/plugin_api.h"
#include "estimators/cuda/work.hpp"

namespace laird::estimators {
namespace {

constexpr const char* kPlugin = "liblaird_cuda.so";

void* open_library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
void* find_symbol(void* library, const char* symbol) { return dlsym(library, symbol); }
void close_library(void* library) { dlclose(library); }
constexpr LairdCudaLoader kLoader = {open_library, find_symbol, close_library};

template <class Real>
class CudaDkfEngine final : public DkfEngine<Real> {
 public:
  explicit CudaDkfEngine(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {}
  [[nodiscard]] const char* name() const override { return device_->name().c_str(); }
  [[nodiscard]] void* allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  void release(void* memory) override { device_->release(memory); }
  [[nodiscard]] Status update(DkfTile<Real>* tiles, const ReportTile<Real>* reports,
                              std::size_t count,
                              const lane::DkfConstants<Real>& constants) override {
    const DkfWork<Real> work = {tiles, reports, count, constants};
    const std::size_t filters = count * kLanes<Real>;
    return device_->run({sizeof(Real) == sizeof(double) ? "laird_dkf_f64" : "laird_dkf_f32",
                         (filters + LAIRD_CUDA_THREADS - 1) / LAIRD_CUDA_THREADS,
                         LAIRD_CUDA_THREADS, &work});
  }

 private:
  std::shared_ptr<CudaDevice> device_;
};

class CudaBankEngine final : public BankEngine {
 public:
  explicit CudaBankEngine(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {}
  [[nodiscard]] const char* name() const override { return device_->name().c_str(); }
  [[nodiscard]] void* allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  void release(void* memory) override { device_->release(memory); }
  [[nodiscard]] Status step(const BankWork& work) override {
    return device_->run({"laird_bank_step", work.banks, threads(work.tiles_per_bank), &work});
  }
  [[nodiscard]] Status look(const BankLook& look) override {
    return device_->run({"laird_bank_look", look.banks, threads(look.tiles_per_bank), &look});
  }

 private:
  // A block is a bank; the tree of its sums wants a power of two.
  static std::uint64_t threads(std::uint64_t tiles) {
    return std::min<std::uint64_t>(tiles * kBankLanes, LAIRD_CUDA_THREADS);
  }
  std::shared_ptr<CudaDevice> device_;
};

[[nodiscard]] Result<const LairdCudaApi*> api_of(void* library, const std::string& plugin) {
  const auto entry = reinterpret_cast<LairdCudaEntry>(dlsym(library, LAIRD_CUDA_ENTRY));
  if (entry == nullptr) {
    return fail(Code::kInvalid, plugin + ": not a laird plugin, it lacks " LAIRD_CUDA_ENTRY);
  }
  const LairdCudaApi* api = entry();
  if (api == nullptr || api->version != LAIRD_CUDA_API_VERSION) {
    return fail(Code::kInvalid, plugin + ": of another version of laird; install them together");
  }
  return api;
}

}  // namespace

std::string cuda_plugin() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return kPlugin;
  const std::filesystem::path prefix = self.parent_path().parent_path();
  for (const char* folder : {"lib", "lib/laird"}) {
    const std::filesystem::path path = prefix / folder / kPlugin;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return kPlugin;
}

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(const std::string& plugin,
                                                     const std::string& driver) {
  std::shared_ptr<CudaDevice> device(new CudaDevice());
  device->library_ = open_library(plugin.c_str());
  if (device->library_ == nullptr) {
    const char* why = dlerror();
    return fail(Code::kNotFound, why == nullptr ? plugin + ": cannot be opened" : why);
  }
  const auto api = api_of(device->library_, plugin);
  LAIRD_TRY(api);
  device->api_ = *api;
  LairdCudaDevice found{};
  const int error = device->api_->open(&kLoader, driver.c_str(), &found);
  if (error != 0) return fail(Code::kUnavailable, device->api_->describe(error));
  device->open_ = true;
  device->name_ = found.name;
  device->driver_ = std::to_string(found.driver / 1000) + "." +
                    std::to_string(found.driver % 1000 / 10) + ", compute " +
                    std::to_string(found.major) + "." + std::to_string(found.minor);
  return device;
}

CudaDevice::~CudaDevice() {
  if (open_) api_->close();
  if (library_ != nullptr) dlclose(library_);
}

void* CudaDevice::allocate(std::size_t bytes) {
  void* memory = nullptr;
  return api_->allocate(bytes, &memory) == 0 ? memory : nullptr;
}

void CudaDevice::release(void* memory) {
  if (memory != nullptr) api_->release(memory);
}

Status CudaDevice::run(const LairdCudaLaunch& launch) {
  const int error = api_->run(&launch, 1);
  if (error != 0) return fail(Code::kUnavailable, name_ + ": " + api_->describe(error));
  return {};
}

template <class Real>
std::unique_ptr<DkfEngine<Real>> cuda_engine(std::shared_ptr<CudaDevice> device) {
  return std::make_unique<CudaDkfEngine<Real>>(std::move(device));
}
std::unique_ptr<BankEngine> cuda_bank_engine(std::shared_ptr<CudaDevice> device) {
  return std::make_unique<CudaBankEngine>(std::move(device));
}

template std::unique_ptr<DkfEngine<double>> cuda_engine<double>(std::shared_ptr<CudaDevice>);
template std::unique_ptr<DkfEngine<float>> cuda_engine<float>(std::shared_ptr<CudaDevice>);

}  // namespace laird::estimators
