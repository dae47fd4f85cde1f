// A batch of DKF filters that step together, on whatever engine is fastest here.
//
// Who needs it: the laboratory's simulations of thousands of boards and searches over constants.
// The agent forecasts a handful of tasks and uses estimators/model directly. All filters share the
// constants; each has its own sample schedule. One update takes one report per filter. The scalar
// model (estimators/model/kalman.hpp) is the truth: the same lane functions, the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/error.hpp"
#include "estimators/cpu/kernels.hpp"

namespace laird::estimators {

// Where the tiles live and who steps them. The CPU's is here, CUDA's in estimators/cuda.
template <class Real>
class DkfEngine {
 public:
  virtual ~DkfEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  // Memory both the caller and the engine can reach, aligned to a tile; null when there is none.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  [[nodiscard]] virtual Status update(DkfTile<Real>* tiles, const ReportTile<Real>* reports,
                                      std::size_t count,
                                      const lane::DkfConstants<Real>& constants) = 0;
};

template <class Real>
[[nodiscard]] std::unique_ptr<DkfEngine<Real>> cpu_engine(Isa isa = best_isa());

inline constexpr std::size_t kBatchFiltersMax = std::size_t{1} << 26;

template <class Real>
class DkfBatch {
 public:
  // The engine must outlive the batch.
  [[nodiscard]] static Result<DkfBatch> make(DkfEngine<Real>& engine, std::size_t filters,
                                             const lane::DkfConstants<Real>& constants);

  [[nodiscard]] std::size_t filters() const { return filters_; }
  // First report of a filter: x = ln samples, r = ln loss, diagonal variances of the three orders
  // in the units of the state (lane::dkf_scale).
  void start(std::size_t filter, const std::array<Real, 3>& variance, Real x, Real r);
  // The report the next update takes in; it stays until it is set again.
  void set_report(std::size_t filter, Real x, Real r);
  [[nodiscard]] Status update();
  // ln loss of a filter after `steps` further reports, dx further along ln s (eq. 8).
  [[nodiscard]] Real look_ahead(std::size_t filter, Real steps, Real dx) const;
  [[nodiscard]] lane::DkfState<Real> state(std::size_t filter) const;

 private:
  struct Release {
    DkfEngine<Real>* engine;
    void operator()(void* memory) const { engine->release(memory); }
  };
  DkfBatch() = default;

  DkfEngine<Real>* engine_ = nullptr;
  lane::DkfConstants<Real> constants_{};
  std::size_t filters_ = 0;
  std::size_t tiles_count_ = 0;
  std::unique_ptr<void, Release> memory_{nullptr, Release{nullptr}};
  DkfTile<Real>* tiles_ = nullptr;
  ReportTile<Real>* reports_ = nullptr;
};

}  // namespace laird::estimators
