// Grows the trees of the reach model (estimators/model/reach_model.hpp).
//
// Source: Friedman (2001), gradient boosting; each leaf by one Newton step on the log-likelihood
// with a ridge, as Chen and Guestrin (2016) do. Thresholds are taken from the kBins quantiles of a
// feature. A split on a feature with a direction must keep it: leaves may only rise, or only fall,
// along it. Deterministic: no sampling.
#pragma once

#include <vector>

#include "estimators/model/reach_model.hpp"

namespace laird::lab {

struct ReachRow {
  estimators::ReachFeatures features{};
  double weight = 1.0;
  bool came_true = false;
};

[[nodiscard]] estimators::ReachConstants grow(const std::vector<ReachRow>& rows);

}  // namespace laird::lab
