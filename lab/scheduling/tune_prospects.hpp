// Finds the constants of agent/placement/prospect.hpp on real curves, for all sources and with each
// source left out.
//
// Questions: kQuestions targets per curve, drawn as bundles draw them, each asked at four moments
// before it is answered: after two reports and at three times log-uniform between that and the end.
// The forecaster behind a question has not been tuned on the question's curve. A source weighs as
// the square root of its curves, so that the largest does not speak for all.
// Fit: Newton's method on the log-likelihood less a ridge; deterministic by the seed inside.
#pragma once

#include <string>
#include <vector>

#include "agent/placement/prospect.hpp"
#include "base/error.hpp"
#include "lab/forecast/curves.hpp"

namespace laird::lab {

// The constants to judge a curve of this source with: those found without it, or the shipped ones
// for a source nobody has seen (held_out_prospects.cpp).
[[nodiscard]] const placement::ProspectSet& prospects_without(const std::string& source);

// Fitted to every curve whose source is not `left_out`.
[[nodiscard]] placement::ProspectSet tune_prospects(const std::vector<Curve>& curves,
                                                    const std::string& left_out);

// Writes agent/placement/prospect_constants.cpp and lab/scheduling/held_out_prospects.cpp below
// `checkout`.
[[nodiscard]] Status tune_prospects_and_write(const std::vector<Curve>& curves,
                                              const std::string& checkout);

}  // namespace laird::lab
