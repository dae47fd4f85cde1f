// Layout of a batch of filters: an array of structures of arrays.
//
// A tile holds kLanes filters; each state variable of the tile is kLanes numbers in a row, one
// cache line. An update touches one tile after the other and nothing else, so the batch streams;
// plain structures of arrays alias at 4 KiB when the batch is a power of two, and one structure per
// filter cannot be loaded as vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "estimators/lane/bank_lane.hpp"

namespace laird {
namespace estimators {

constexpr std::size_t kTileBytes = 64;  // one cache line per variable

template <class Real>
constexpr std::size_t kLanes = kTileBytes / sizeof(Real);

// Six means, then the 21 different covariances (estimators/lane/dkf_lane.hpp), then x = ln s.
constexpr std::size_t kDkfRows = 28;
constexpr std::size_t kDkfRowX = 27;
template <class Real>
struct alignas(kTileBytes) DkfTile {
  Real row[kDkfRows][kLanes<Real>];
};

// Means alone, for filters that share their covariance.
constexpr std::size_t kMeanRows = 6;
template <class Real>
struct alignas(kTileBytes) MeanTile {
  Real row[kMeanRows][kLanes<Real>];
};

// slope, level, three entries of the inverse Gram matrix, x.
constexpr std::size_t kRlsRows = 6;
constexpr std::size_t kRlsRowX = 5;
template <class Real>
struct alignas(kTileBytes) RlsTile {
  Real row[kRlsRows][kLanes<Real>];
};

// One report per filter: x = ln s and r = ln loss, tiled alike.
template <class Real>
struct alignas(kTileBytes) ReportTile {
  Real x[kLanes<Real>];
  Real r[kLanes<Real>];
};

// A bank: filters with constants of their own, a power of two of them and at least a tile; double
// only.
constexpr std::size_t kBankLanes = kLanes<double>;
struct alignas(kTileBytes) BankTile {
  double row[lane::kBankStateRows][kBankLanes];
};
struct alignas(kTileBytes) BankConstantsTile {
  double row[lane::kBankConstantRows][kBankLanes];
};
// Each filter's level and variance some way ahead.
struct alignas(kTileBytes) BankAheadTile {
  double level[kBankLanes];
  double variance[kBankLanes];
};

struct BankReport {
  double d;      // log-time since the report before
  double r;      // ln loss
  double noise;  // its variance
};
// Which reports of a launch are one bank's.
struct BankSpan {
  std::uint64_t first;
  std::uint64_t count;
};
// Weighted sums over the filters of a bank.
struct BankSums {
  double origin;  // w level, now
  double mean;    // w (level ahead - origin)
  double square;  // w (level ahead - origin)^2
  double within;  // w variance ahead
};

// Many banks with the same constants, each with its reports in order. Tile t of bank b is
// tiles[b * tiles_per_bank + t].
struct BankWork {
  BankTile* tiles;
  const BankConstantsTile* constants;  // tiles_per_bank of them
  double* scratch;                     // a number for each filter of each bank
  const BankReport* reports;
  const BankSpan* spans;  // of each bank
  std::uint64_t banks;
  std::uint64_t tiles_per_bank;
  double share;
};

// One question to each of many banks: how is it d ahead.
struct BankLook {
  const BankTile* tiles;
  const BankConstantsTile* constants;
  double* scratch;       // as above
  const double* d;       // of each bank
  BankAheadTile* ahead;  // as the tiles
  BankSums* sums;        // of each bank
  std::uint64_t banks;
  std::uint64_t tiles_per_bank;
};

constexpr std::size_t tiles_for(std::size_t filters, std::size_t lanes) {
  return (filters + lanes - 1) / lanes;
}

}  // namespace estimators
}  // namespace laird
