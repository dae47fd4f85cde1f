// What each kernel is given, by value: plain data, the same for the host and the device.
#pragma once

#include "estimators/lane/dkf_lane.hpp"
#include "estimators/lane/tile.hpp"

namespace laird {
namespace estimators {

template <class Real>
struct DkfWork {
  DkfTile<Real>* tiles;
  const ReportTile<Real>* reports;
  std::uint64_t tile_count;
  lane::DkfConstants<Real> constants;
};

}  // namespace estimators
}  // namespace laird
