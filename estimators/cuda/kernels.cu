// The kernels of the CUDA plugin: a thread for a filter, the lane functions of the CPU.
//
// Compiled by Debian's clang to PTX for compute capability 5.3 (the Nano's), which the driver of
// every Jetson since compiles for its own GPU; without contraction, so that it gives the bits of
// the CPU. No function of libdevice. Threads of a block meet in the bank's sums and nowhere else,
// at barriers that all of them reach. A warp covers whole cache lines of every row of its tiles, so
// every access is coalesced.
#include "estimators/cuda/device.hpp"
#include "estimators/cuda/plugin_api.h"
#include "estimators/cuda/work.hpp"
#include "estimators/lane/dkf_lane.hpp"

using namespace laird::estimators;
namespace lane = laird::lane;

namespace {

LAIRD_DEVICE std::uint64_t thread_number() {
  return static_cast<std::uint64_t>(block_index()) * block_size() + thread_in_block();
}

template <class Real>
LAIRD_DEVICE void dkf(const DkfWork<Real>& work) {
  const std::uint64_t filter = thread_number();
  const std::uint64_t t = filter / kLanes<Real>;
  if (t >= work.tile_count) return;
  DkfTile<Real>& tile = work.tiles[t];
  const ReportTile<Real>& report = work.reports[t];
  const unsigned i = static_cast<unsigned>(filter % kLanes<Real>);
  lane::DkfState<Real> s;
  for (int k = 0; k < lane::kDkfMeans; ++k) s.mean[k] = tile.row[k][i];
  for (int k = 0; k < lane::kDkfCovariances; ++k) s.p[k] = tile.row[lane::kDkfMeans + k][i];
  const Real x = report.x[i];
  const Real dx = x - tile.row[kDkfRowX][i];
  lane::dkf_update(s, work.constants, x, dx, report.r[i]);
  for (int k = 0; k < lane::kDkfMeans; ++k) tile.row[k][i] = s.mean[k];
  for (int k = 0; k < lane::kDkfCovariances; ++k) tile.row[lane::kDkfMeans + k][i] = s.p[k];
  tile.row[kDkfRowX][i] = x;
}

LAIRD_DEVICE lane::BankState<double> state_of(const BankTile& tile, unsigned i) {
  return {tile.row[0][i], tile.row[1][i], tile.row[2][i],
          tile.row[3][i], tile.row[4][i], tile.row[5][i]};
}
LAIRD_DEVICE lane::BankConstants<double> constants_of(const BankConstantsTile& tile, unsigned i) {
  return {tile.row[0][i], tile.row[1][i], tile.row[2][i],
          tile.row[3][i], tile.row[4][i], tile.row[5][i]};
}

// A block is a bank. Its threads are a power of two, so the filters of a thread stay its own until
// the tree is as narrow as the block. Every thread gets the sum.
LAIRD_DEVICE double tree_sum(double* numbers, unsigned filters, double* partial) {
  const unsigned threads = block_size();
  const unsigned thread = thread_in_block();
  for (unsigned stride = filters / 2; stride >= threads; stride /= 2) {
    for (unsigned i = thread; i < stride; i += threads) {
      numbers[i] = numbers[i] + numbers[i + stride];
    }
  }
  partial[thread] = numbers[thread];
  wait_for_block();
  for (unsigned stride = threads / 2; stride > 0; stride /= 2) {
    if (thread < stride) partial[thread] = partial[thread] + partial[thread + stride];
    wait_for_block();
  }
  const double sum = partial[0];
  wait_for_block();
  return sum;
}

}  // namespace

LAIRD_KERNEL LAIRD_BOUNDS(LAIRD_CUDA_THREADS) laird_dkf_f64(DkfWork<double> work) { dkf(work); }
LAIRD_KERNEL LAIRD_BOUNDS(LAIRD_CUDA_THREADS) laird_dkf_f32(DkfWork<float> work) { dkf(work); }

// Every filter takes in all reports of its bank; their weights are shared out after each.
LAIRD_KERNEL LAIRD_BOUNDS(LAIRD_CUDA_THREADS, 1) laird_bank_step(BankWork work) {
  LAIRD_SHARED double partial[LAIRD_CUDA_THREADS];
  const std::uint64_t bank = block_index();
  const unsigned filters = static_cast<unsigned>(work.tiles_per_bank * kBankLanes);
  BankTile* tiles = work.tiles + bank * work.tiles_per_bank;
  double* scratch = work.scratch + bank * filters;
  const BankSpan span = work.spans[bank];
  for (std::uint64_t n = span.first; n < span.first + span.count; ++n) {
    const BankReport report = work.reports[n];
    for (unsigned f = thread_in_block(); f < filters; f += block_size()) {
      const unsigned i = f % kBankLanes;
      BankTile& tile = tiles[f / kBankLanes];
      const lane::BankConstants<double> c = constants_of(work.constants[f / kBankLanes], i);
      lane::BankState<double> s = state_of(tile, i);
      lane::bank_ahead(s, c, report.d);
      lane::bank_correct(s, c, report.r, report.noise);
      tile.row[0][i] = s.level;
      tile.row[1][i] = s.slope;
      tile.row[2][i] = s.p_ll;
      tile.row[3][i] = s.p_ls;
      tile.row[4][i] = s.p_ss;
      tile.row[5][i] = s.weight;
      scratch[f] = s.weight;
    }
    const double total = tree_sum(scratch, filters, partial);
    for (unsigned f = thread_in_block(); f < filters; f += block_size()) {
      double& weight = tiles[f / kBankLanes].row[5][f % kBankLanes];
      const double prior = work.constants[f / kBankLanes].row[5][f % kBankLanes];
      weight = lane::bank_shared_weight(weight, prior, total, work.share);
    }
  }
}

// Each filter d ahead, and the bank's weighted sums. The filters stay where they are.
LAIRD_KERNEL LAIRD_BOUNDS(LAIRD_CUDA_THREADS, 1) laird_bank_look(BankLook look) {
  LAIRD_SHARED double partial[LAIRD_CUDA_THREADS];
  const std::uint64_t bank = block_index();
  const unsigned filters = static_cast<unsigned>(look.tiles_per_bank * kBankLanes);
  const BankTile* tiles = look.tiles + bank * look.tiles_per_bank;
  BankAheadTile* ahead = look.ahead + bank * look.tiles_per_bank;
  double* scratch = look.scratch + bank * filters;
  for (unsigned f = thread_in_block(); f < filters; f += block_size()) {
    const unsigned i = f % kBankLanes;
    lane::BankState<double> s = state_of(tiles[f / kBankLanes], i);
    scratch[f] = s.weight * s.level;
    lane::bank_ahead(s, constants_of(look.constants[f / kBankLanes], i), look.d[bank]);
    ahead[f / kBankLanes].level[i] = s.level;
    ahead[f / kBankLanes].variance[i] = s.p_ll;
  }
  BankSums sums;
  sums.origin = tree_sum(scratch, filters, partial);
  double* const to[3] = {&sums.mean, &sums.square, &sums.within};
  for (int which = 0; which < 3; ++which) {
    for (unsigned f = thread_in_block(); f < filters; f += block_size()) {
      const unsigned i = f % kBankLanes;
      const BankAheadTile& tile = ahead[f / kBankLanes];
      scratch[f] = lane::bank_term(which, tiles[f / kBankLanes].row[5][i], tile.level[i],
                                   tile.variance[i], sums.origin);
    }
    *to[which] = tree_sum(scratch, filters, partial);
  }
  if (thread_in_block() == 0) look.sums[bank] = sums;
}
