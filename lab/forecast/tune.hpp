// Finds the forecaster's constants on real curves, for all sources and with each source left out.
//
// Objective: mean of min(error, 2) as in evaluate.hpp, over more starts and over two ends (the last
// point and the middle of the curve), each source weighing as the square root of its predictions;
// plus a penalty on forecasts more than 8 times off, and a quadratic pull towards the round numbers
// the search starts from. The pull is what keeps it honest: with 39 curves from 7 sources an
// unregularised search gains 1% where it looks and loses 20% elsewhere.
// Search: Nelder and Mead (1965), twice, deterministic.
// Then the spread of the errors is fitted (Student likelihood, 4 degrees of freedom) and the
// quantiles of the standardised errors are read off, again with sources balanced.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "estimators/model/forecaster.hpp"
#include "lab/forecast/curves.hpp"

namespace laird::lab {

// Where the search starts, and what the constants are pulled towards: chosen by hand.
[[nodiscard]] estimators::ForecastConstants round_constants();

// Tunes on every curve whose source is not `left_out`.
[[nodiscard]] estimators::ForecastConstants tune(const std::vector<Curve>& curves,
                                                 const std::string& left_out);

// Writes estimators/model/forecast_constants.cpp and lab/forecast/held_out.cpp below `checkout`.
[[nodiscard]] Status tune_and_write(const std::vector<Curve>& curves, const std::string& checkout);

}  // namespace laird::lab
