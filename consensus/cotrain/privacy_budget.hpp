// How much the others may learn of any one row of a board, when what the board tells is clipped and
// noised.
//
// Source: zero-concentrated differential privacy (Bun, Steinke 2016). A sum that one row can move
// by D, told with Gaussian noise of deviation s D, is 1/(2 s^2)-zCDP (proposition 1.6); what
// several such answers tell together is the sum (lemma 1.7); what is computed from them tells no
// more (lemma 1.8); and rho-zCDP is (rho + 2 sqrt(rho ln(1/delta)), delta)-differential privacy
// (proposition 1.3). Symbols: s the noise in sensitivities, rho the zCDP, delta the chance that is
// left out. Assumptions: two sets of rows are neighbours if one row is another one; how many rows a
// board has is no secret. Deviations: none; a sharper conversion would give a smaller epsilon.
#pragma once

namespace laird::consensus {

// The loss of a round is told too, with so many times the noise of the gradient: it costs a ninth.
inline constexpr double kLossNoiseTimes = 3.0;

// Of a round whose gradient has this noise.
[[nodiscard]] double zcdp_of_round(double noise);
// Infinite without noise.
[[nodiscard]] double epsilon_of(double zcdp, double delta);

}  // namespace laird::consensus
