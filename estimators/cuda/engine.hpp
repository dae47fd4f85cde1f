// The GPU behind the interfaces of the batches: opens the CUDA plugin when asked, and only then.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "estimators/cpu/bank_engine.hpp"
#include "estimators/cpu/batch.hpp"

struct LairdCudaApi;
struct LairdCudaLaunch;

namespace laird::estimators {

// Where the loader finds it: beside the programs of a build, in /usr/lib/laird of a package, else
// by its bare name.
[[nodiscard]] std::string cuda_plugin();

// The plugin with the first device open: a context, which costs 100 MB or more on a Jetson and is
// given back with this object. One at a time in a process; for one thread.
class CudaDevice {
 public:
  // `plugin` is a path; `driver` the driver's library, for the loader to find. An error is one
  // sentence that says what was missing; the caller goes on with the CPU and logs it once.
  [[nodiscard]] static Result<std::shared_ptr<CudaDevice>> open(
      const std::string& plugin = cuda_plugin(), const std::string& driver = "libcuda.so.1");
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // "12.2, compute 8.7".
  [[nodiscard]] const std::string& driver() const { return driver_; }
  [[nodiscard]] void* allocate(std::size_t bytes);
  void release(void* memory);
  [[nodiscard]] Status run(const LairdCudaLaunch& launch);

 private:
  CudaDevice() = default;
  void* library_ = nullptr;
  const LairdCudaApi* api_ = nullptr;
  bool open_ = false;
  std::string name_;
  std::string driver_;
};

template <class Real>
[[nodiscard]] std::unique_ptr<DkfEngine<Real>> cuda_engine(std::shared_ptr<CudaDevice> device);
[[nodiscard]] std::unique_ptr<BankEngine> cuda_bank_engine(std::shared_ptr<CudaDevice> device);

}  // namespace laird::estimators
