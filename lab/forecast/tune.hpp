// Finds the forecaster's constants on real curves, for all sources and with each fold of the
// sources left out.
//
// Two things are learned; the point forecast has no constant that was searched for.
//  1. Each side of the 90% band: five constants of its width, by the pinball loss (Koenker and
//     Bassett 1978) at 5 and 95%. Search: Nelder and Mead (1965), deterministic.
//  2. The probability of reaching a target: the trees of boost.hpp, on questions drawn as
//     reach.hpp draws them, with planned length and without.
// Sources weigh as the square root of their questions, so that the largest does not speak for all.
// Folds: the sources in the order of their names, dealt out in turn to kFolds folds.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "estimators/model/forecaster.hpp"
#include "lab/forecast/curves.hpp"

namespace laird::lab {

inline constexpr std::size_t kFolds = 10;

// Tunes on every curve whose source is not in `left_out`.
[[nodiscard]] estimators::ForecastConstants tune(const std::vector<Curve>& curves,
                                                 const std::vector<std::string>& left_out);

// Writes estimators/model/forecast_constants.cpp and lab/forecast/held_out.cpp below `checkout`.
[[nodiscard]] Status tune_and_write(const std::vector<Curve>& curves, const std::string& checkout);

}  // namespace laird::lab
