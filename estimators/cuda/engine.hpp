// The GPU behind the interface of the batch: opens the CUDA plugin when asked, and only then.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "estimators/cpu/batch.hpp"

namespace laird::estimators {

inline constexpr const char* kCudaPlugin = "liblaird_cuda.so";

// Opens the plugin (a path, or a name for the loader to find) and the first device. An error says
// what was missing; the caller goes on with the CPU and logs it once.
template <class Real>
[[nodiscard]] Result<std::unique_ptr<DkfEngine<Real>>> cuda_engine(
    const std::string& plugin = kCudaPlugin);

// From how many filters on the second engine is faster; kNeverFilters when it is at no size tried.
inline constexpr std::size_t kNeverFilters = static_cast<std::size_t>(-1);

// Steps batches of two sizes on each engine, takes the fastest of some repetitions, and solves
// launch + filters x cost for where the two lines meet. `now_ns` is the clock.
template <class Real>
[[nodiscard]] Result<std::size_t> crossover(DkfEngine<Real>& first, DkfEngine<Real>& second,
                                            const std::function<double()>& now_ns);

// The start-up choice: the CPU alone, or both with the size from which the GPU takes over.
template <class Real>
class Engines {
 public:
  // Never fails: without a working GPU it is the CPU, and remark() is the one line to log.
  [[nodiscard]] static Engines calibrated(const std::string& plugin,
                                          const std::function<double()>& now_ns);
  [[nodiscard]] DkfEngine<Real>& for_batch(std::size_t filters);
  [[nodiscard]] const std::string& remark() const { return remark_; }

 private:
  std::unique_ptr<DkfEngine<Real>> cpu_;
  std::unique_ptr<DkfEngine<Real>> cuda_;
  std::size_t cuda_from_ = kNeverFilters;
  std::string remark_;
};

}  // namespace laird::estimators
