// Layout of a batch of filters: an array of structures of arrays.
//
// A tile holds kLanes filters; each state variable of the tile is kLanes numbers in a row, one
// cache line. An update touches one tile after the other and nothing else, so the batch streams;
// plain structures of arrays alias at 4 KiB when the batch is a power of two, and one structure per
// filter cannot be loaded as vectors.
#pragma once

#include <cstddef>

namespace laird::estimators {

inline constexpr std::size_t kTileBytes = 64;  // one cache line per variable

template <class Real>
inline constexpr std::size_t kLanes = kTileBytes / sizeof(Real);

// Six means, then the 21 different covariances (estimators/lane/dkf_lane.hpp), then x = ln s.
inline constexpr std::size_t kDkfRows = 28;
inline constexpr std::size_t kDkfRowX = 27;
template <class Real>
struct alignas(kTileBytes) DkfTile {
  Real row[kDkfRows][kLanes<Real>];
};

// Means alone, for filters that share their covariance.
inline constexpr std::size_t kMeanRows = 6;
template <class Real>
struct alignas(kTileBytes) MeanTile {
  Real row[kMeanRows][kLanes<Real>];
};

// slope, level, three entries of the inverse Gram matrix, x.
inline constexpr std::size_t kRlsRows = 6;
inline constexpr std::size_t kRlsRowX = 5;
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

[[nodiscard]] constexpr std::size_t tiles_for(std::size_t filters, std::size_t lanes) {
  return (filters + lanes - 1) / lanes;
}

}  // namespace laird::estimators
