#include "estimators/cpu/batch.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/require.hpp"

namespace laird::estimators {

namespace {

template <class Real>
class CpuEngine final : public DkfEngine<Real> {
 public:
  explicit CpuEngine(Isa isa) : isa_(isa), kernels_(kernels<Real>(isa)) {}
  [[nodiscard]] const char* name() const override { return estimators::name(isa_); }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    return std::aligned_alloc(kTileBytes, bytes);
  }
  void release(void* memory) override { std::free(memory); }
  [[nodiscard]] Status update(DkfTile<Real>* tiles, const ReportTile<Real>* reports,
                              std::size_t count,
                              const lane::DkfConstants<Real>& constants) override {
    kernels_.dkf(tiles, reports, count, constants);
    return {};
  }

 private:
  Isa isa_;
  const Kernels<Real>& kernels_;
};

}  // namespace

template <class Real>
std::unique_ptr<DkfEngine<Real>> cpu_engine(Isa isa) {
  return std::make_unique<CpuEngine<Real>>(isa);
}

template <class Real>
Result<DkfBatch<Real>> DkfBatch<Real>::make(DkfEngine<Real>& engine, std::size_t filters,
                                            const lane::DkfConstants<Real>& constants) {
  if (filters == 0 || filters > kBatchFiltersMax) {
    return fail(Code::kInvalid, "a batch holds 1 to " + std::to_string(kBatchFiltersMax) +
                                    " filters, not " + std::to_string(filters));
  }
  DkfBatch batch;
  batch.engine_ = &engine;
  batch.constants_ = constants;
  batch.filters_ = filters;
  batch.tiles_count_ = tiles_for(filters, kLanes<Real>);
  const std::size_t tile_bytes = batch.tiles_count_ * sizeof(DkfTile<Real>);
  const std::size_t bytes = tile_bytes + batch.tiles_count_ * sizeof(ReportTile<Real>);
  batch.memory_ = std::unique_ptr<void, Release>(engine.allocate(bytes), Release{&engine});
  if (batch.memory_ == nullptr) {
    return fail(Code::kFull, std::string(engine.name()) + ": no memory for " +
                                 std::to_string(bytes) + " bytes of filters");
  }
  // Zero is a filter that has not started: it steps without harm.
  std::memset(batch.memory_.get(), 0, bytes);
  auto* base = static_cast<unsigned char*>(batch.memory_.get());
  batch.tiles_ = reinterpret_cast<DkfTile<Real>*>(base);
  batch.reports_ = reinterpret_cast<ReportTile<Real>*>(base + tile_bytes);
  return batch;
}

template <class Real>
void DkfBatch<Real>::start(std::size_t filter, const std::array<Real, 3>& variance, Real x,
                           Real r) {
  LAIRD_REQUIRE(filter < filters_, "the batch has fewer filters");
  lane::DkfState<Real> s;
  lane::dkf_start(s, constants_, variance.data(), x, r);
  DkfTile<Real>& tile = tiles_[filter / kLanes<Real>];
  const std::size_t i = filter % kLanes<Real>;
  for (std::size_t k = 0; k < 6; ++k) tile.row[k][i] = s.mean[k];
  for (std::size_t k = 0; k < 21; ++k) tile.row[6 + k][i] = s.p[k];
  tile.row[kDkfRowX][i] = x;
  set_report(filter, x, r);
}

template <class Real>
void DkfBatch<Real>::set_report(std::size_t filter, Real x, Real r) {
  LAIRD_REQUIRE(filter < filters_, "the batch has fewer filters");
  ReportTile<Real>& report = reports_[filter / kLanes<Real>];
  report.x[filter % kLanes<Real>] = x;
  report.r[filter % kLanes<Real>] = r;
}

template <class Real>
Status DkfBatch<Real>::update() {
  return engine_->update(tiles_, reports_, tiles_count_, constants_);
}

template <class Real>
lane::DkfState<Real> DkfBatch<Real>::state(std::size_t filter) const {
  LAIRD_REQUIRE(filter < filters_, "the batch has fewer filters");
  const DkfTile<Real>& tile = tiles_[filter / kLanes<Real>];
  const std::size_t i = filter % kLanes<Real>;
  lane::DkfState<Real> s;
  for (std::size_t k = 0; k < 6; ++k) s.mean[k] = tile.row[k][i];
  for (std::size_t k = 0; k < 21; ++k) s.p[k] = tile.row[6 + k][i];
  return s;
}

template <class Real>
Real DkfBatch<Real>::look_ahead(std::size_t filter, Real steps, Real dx) const {
  const lane::DkfState<Real> s = state(filter);
  return lane::dkf_look_ahead(s.mean, steps, dx);
}

template std::unique_ptr<DkfEngine<double>> cpu_engine<double>(Isa);
template std::unique_ptr<DkfEngine<float>> cpu_engine<float>(Isa);
template class DkfBatch<double>;
template class DkfBatch<float>;

}  // namespace laird::estimators
