// Cost of one predict and update of the DKF: ours on every engine of this processor against
// OpenCV and Eigen, in one run, with the ratios printed at the end.
//
// Every row steps the same number of filters with a report each; ns per filter. Before anything is
// timed the peers' answers are compared with ours. The rows at a million filters are bound by
// memory and are set against a copy of as many bytes in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "bench/estimators/peers.hpp"
#include "estimators/cpu/batch.hpp"
#include "tests/harness/bank_samples.hpp"

namespace {

using namespace laird::estimators;
using laird::bench::Peer;
using laird::bench::Report;
namespace lane = laird::lane;

constexpr std::size_t kFilters = 1000;
constexpr std::size_t kMillion = 1'000'000;
constexpr int kSchedule = 8;  // different reports, gone through over and over

double x_at(int step) { return 3.0 + 0.02 * step; }

// Reports of every filter for each of kSchedule steps; ln s rises within a round, then starts over:
// the arithmetic of an update does not depend on the sign of dx.
std::vector<std::vector<Report>> schedule(std::size_t filters) {
  std::vector<std::vector<Report>> all(kSchedule, std::vector<Report>(filters));
  for (int t = 0; t < kSchedule; ++t) {
    for (std::size_t i = 0; i < filters; ++i) {
      const double x = x_at(t) + 1e-4 * double(i % 97);
      all[std::size_t(t)][i] = {x, 1.0 - 0.3 * x + 0.01 * std::sin(double(i) + 7.0 * t)};
    }
  }
  return all;
}

template <class Real>
lane::DkfConstants<Real> constants() {
  using namespace laird::bench;
  const Real process[3] = {Real(kProcess[0]), Real(kProcess[1]), Real(kProcess[2])};
  lane::DkfConstants<Real> c;
  lane::dkf_scale(Real(kStep), process, c.process);
  c.observation = Real(kObservation);
  return c;
}

template <class Real>
std::array<Real, 3> start_variance() {
  using namespace laird::bench;
  const Real variance[3] = {Real(kStart[0]), Real(kStart[1]), Real(kStart[2])};
  std::array<Real, 3> scaled;
  lane::dkf_scale(Real(kStep), variance, scaled.data());
  return scaled;
}

template <class T>
struct Aligned {
  explicit Aligned(std::size_t n) : count(n) {
    data = static_cast<T*>(std::aligned_alloc(64, n * sizeof(T)));
    std::memset(static_cast<void*>(data), 0, n * sizeof(T));
  }
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  T* data;
  std::size_t count;
};

// A running start: covariances as after the first report, one ReportTile batch per schedule step.
template <class Real>
struct Batch {
  explicit Batch(std::size_t filters, int steps)
      : tiles(tiles_for(filters, kLanes<Real>)), rls(tiles.count), mean(tiles.count) {
    for (int t = 0; t < steps; ++t) {
      reports.push_back(std::make_unique<Aligned<ReportTile<Real>>>(tiles.count));
      for (std::size_t i = 0; i < tiles.count * kLanes<Real>; ++i) {
        auto& tile = reports.back()->data[i / kLanes<Real>];
        const double x = x_at(t) + 1e-4 * double(i % 97);
        tile.x[i % kLanes<Real>] = Real(x);
        tile.r[i % kLanes<Real>] = Real(1.0 - 0.3 * x + 0.01 * std::sin(double(i) + 7.0 * t));
      }
    }
    const std::array<Real, 3> variance = start_variance<Real>();
    for (std::size_t i = 0; i < tiles.count * kLanes<Real>; ++i) {
      const std::size_t l = i % kLanes<Real>;
      auto& tile = tiles.data[i / kLanes<Real>];
      const Real x = reports[0]->data[i / kLanes<Real>].x[l];
      lane::DkfState<Real> s;
      lane::dkf_start(s, constants<Real>(), variance.data(), x, Real(0));
      for (std::size_t k = 0; k < 6; ++k) tile.row[k][l] = s.mean[k];
      for (std::size_t k = 0; k < 21; ++k) tile.row[6 + k][l] = s.p[k];
      tile.row[kDkfRowX][l] = x;
      auto& r = rls.data[i / kLanes<Real>];
      r.row[2][l] = r.row[4][l] = Real(10);
      r.row[kRlsRowX][l] = x;
    }
  }
  Aligned<DkfTile<Real>> tiles;
  Aligned<RlsTile<Real>> rls;
  Aligned<MeanTile<Real>> mean;
  std::vector<std::unique_ptr<Aligned<ReportTile<Real>>>> reports;
};

void run_peer(benchmark::State& state,
              const std::function<std::unique_ptr<Peer>(std::size_t)>& make) {
  auto peer = make(kFilters);
  const auto reports = schedule(kFilters);
  std::size_t t = 0;
  for (auto _ : state) {
    peer->step(reports[t]);
    t = (t + 1) % kSchedule;
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(kFilters));
}

template <class Real>
void run_dkf(benchmark::State& state, Isa isa, std::size_t filters) {
  const int steps = filters > kFilters ? 1 : kSchedule;
  Batch<Real> batch(filters, steps);
  const auto& k = kernels<Real>(isa);
  std::size_t t = 0;
  for (auto _ : state) {
    k.dkf(batch.tiles.data, batch.reports[t]->data, batch.tiles.count, constants<Real>());
    t = (t + 1) % std::size_t(steps);
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(filters));
}

template <class Real>
void run_rls(benchmark::State& state, Isa isa) {
  Batch<Real> batch(kFilters, kSchedule);
  const auto& k = kernels<Real>(isa);
  std::size_t t = 0;
  for (auto _ : state) {
    k.rls(batch.rls.data, batch.reports[t]->data, batch.tiles.count, Real(0.9));
    t = (t + 1) % kSchedule;
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(kFilters));
}

// Filters that share P: it is stepped once per round, the means of all filters with its gain.
template <class Real>
void run_shared(benchmark::State& state, Isa isa) {
  Batch<Real> batch(kFilters, kSchedule);
  const auto& k = kernels<Real>(isa);
  lane::DkfState<Real> shared;
  lane::dkf_start(shared, constants<Real>(), start_variance<Real>().data(), Real(x_at(0)), Real(0));
  Real x_last = Real(x_at(0));
  std::size_t t = 0;
  for (auto _ : state) {
    const Real x = Real(x_at(int(t)));
    Real gain[6];
    lane::dkf_step_covariance(lane::DkfArray<Real>{shared.p}, constants<Real>(), x,
                              Real(x - x_last), gain);
    k.dkf_mean(batch.mean.data, batch.reports[t]->data, batch.tiles.count, Real(x - x_last), gain);
    x_last = x;
    t = (t + 1) % kSchedule;
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(kFilters));
}

// 64 banks rebuilt from 512 kept reports each, as after a restart: ns per filter and report.
void run_banks(benchmark::State& state, Isa isa, std::size_t filters) {
  constexpr std::size_t kBanks = 64;
  constexpr std::size_t kKept = 512;
  const BankKind kind = laird::test::some_bank_kind(filters);
  std::vector<std::vector<BankReport>> kept;
  std::vector<Bank> banks(kBanks, Bank(kind));
  std::vector<BankRebuild> all;
  for (std::size_t b = 0; b < kBanks; ++b) kept.push_back(laird::test::some_reports(kKept, b));
  for (std::size_t b = 0; b < kBanks; ++b) all.push_back({&banks[b], 1, kept[b]});
  const auto engine = cpu_bank_engine(isa);
  for (auto _ : state) {
    if (!rebuild_banks(all, *engine)) state.SkipWithError("no memory");
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(updates_of(all)));
}

// As many bytes as the batch of a million moves: its tiles read and written, its reports read.
template <class Real>
std::size_t bytes_per_million() {
  return tiles_for(kMillion, kLanes<Real>) * (2 * sizeof(DkfTile<Real>) + sizeof(ReportTile<Real>));
}

template <class Real>
void run_copy(benchmark::State& state) {
  const std::size_t half = bytes_per_million<Real>() / 2;
  Aligned<char> from(half & ~std::size_t{63});
  Aligned<char> to(half & ~std::size_t{63});
  for (auto _ : state) {
    std::memcpy(to.data, from.data, from.count);
    benchmark::DoNotOptimize(to.data[from.count / 2]);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(kMillion));
}

// Keeps the median ns per filter of each row, for the ratios.
class Collect final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto items = run.counters.find("items_per_second");
      if (run.aggregate_name == "median" && items != run.counters.end()) {
        ns[run.run_name.function_name] = 1e9 / items->second.value;
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  std::map<std::string, double> ns;
};

bool agrees(const char* name, Peer& peer) {
  const auto reports = schedule(8);
  auto engine = cpu_engine<double>();
  auto batch = DkfBatch<double>::make(*engine, 8, constants<double>());
  using namespace laird::bench;
  double worst = 0.0;
  for (int t = 0; t < kSchedule; ++t) {
    for (std::size_t i = 0; i < 8; ++i) {
      const Report& r = reports[std::size_t(t)][i];
      // The peers predict before their first report; ours then starts one prediction earlier.
      if (t == 0) batch->start(i, start_variance<double>(), r.x, r.r);
      batch->set_report(i, r.x, r.r);
    }
    if (t > 0) (void)batch->update();
    peer.step(reports[std::size_t(t)]);
    if (t < kSchedule - 1) continue;
    for (std::size_t i = 0; i < 8; ++i) {
      const double x = reports[std::size_t(t)][i].x;
      worst = std::max(worst, std::fabs(batch->look_ahead(i, 0.0, 0.0) - peer.level(i, x)));
    }
  }
  if (worst < 1e-3) return true;
  std::fprintf(stderr, "%s: answers differ from ours by %g\n", name, worst);
  return false;
}

void print_ratios(const std::map<std::string, double>& ns, const std::string& best) {
  const auto at = [&](const std::string& key) {
    const auto found = ns.find(key);
    return found == ns.end() ? std::nan("") : found->second;
  };
  const double ours = at("dkf/f64/" + best);
  std::printf("\nratios, median ns per filter (engine: %s)\n", best.c_str());
  std::printf("  ours f64                          %8.2f ns, f32 %.2f ns\n", ours,
              at("dkf/f32/" + best));
  for (const char* peer :
       {"opencv", "eigen_dynamic", "eigen_fixed_textbook", "eigen_fixed_rank1"}) {
    std::printf("  %-24s / ours  %8.1f x  (%.1f ns)\n", peer, at(peer) / ours, at(peer));
  }
  std::printf("  dkf / rls                         %8.2f x  (rls %.2f ns)\n",
              ours / at("rls/f64/" + best), at("rls/f64/" + best));
  std::printf("  dkf with shared covariance / rls  %8.2f x  (%.2f ns)\n",
              at("shared/f64/" + best) / at("rls/f64/" + best), at("shared/f64/" + best));
  std::printf("  bandwidth at 1M filters / copy    %8.2f f64, %.2f f32\n",
              at("copy/f64") / at("dkf_1m/f64/" + best), at("copy/f32") / at("dkf_1m/f32/" + best));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace laird::bench;
  const std::vector<std::pair<const char*, std::unique_ptr<Peer> (*)(std::size_t)>> peers = {
#if defined(LAIRD_BENCH_OPENCV)
    {"opencv", opencv},
#endif
    {"eigen_dynamic", eigen_dynamic},
    {"eigen_fixed_textbook", eigen_fixed_textbook},
    {"eigen_fixed_rank1", eigen_fixed_rank1}
  };
  bool all_agree = true;
  for (const auto& [name, make] : peers) all_agree = agrees(name, *make(8)) && all_agree;
  if (!all_agree) return 1;

  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)
        ->Repetitions(5)
        ->ReportAggregatesOnly(true)
        ->MinTime(0.1);
  };
  for (const auto& [name, make] : peers) {
    add(name, [make](benchmark::State& s) { run_peer(s, make); });
  }
  for (const Isa isa : {Isa::kScalar, Isa::kBase, Isa::kAvx2, Isa::kAvx512}) {
    if (!runs_here(isa)) continue;
    const std::string suffix = laird::estimators::name(isa);
    add("dkf/f64/" + suffix, [isa](benchmark::State& s) { run_dkf<double>(s, isa, kFilters); });
    add("dkf/f32/" + suffix, [isa](benchmark::State& s) { run_dkf<float>(s, isa, kFilters); });
    add("rls/f64/" + suffix, [isa](benchmark::State& s) { run_rls<double>(s, isa); });
    add("shared/f64/" + suffix, [isa](benchmark::State& s) { run_shared<double>(s, isa); });
    add("banks_32/" + suffix, [isa](benchmark::State& s) { run_banks(s, isa, 32); });
    add("banks_1024/" + suffix, [isa](benchmark::State& s) { run_banks(s, isa, 1024); });
  }
  const Isa best = best_isa();
  const std::string suffix = laird::estimators::name(best);
  add("dkf_1m/f64/" + suffix, [best](benchmark::State& s) { run_dkf<double>(s, best, kMillion); });
  add("copy/f64", [](benchmark::State& s) { run_copy<double>(s); });
  add("dkf_1m/f32/" + suffix, [best](benchmark::State& s) { run_dkf<float>(s, best, kMillion); });
  add("copy/f32", [](benchmark::State& s) { run_copy<float>(s); });

  benchmark::Initialize(&argc, argv);
  Collect reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  print_ratios(reporter.ns, suffix);
  return 0;
}
