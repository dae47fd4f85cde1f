// When a fleet was at its optimum again, from every board's journal: shares and demands are both
// there, so the central answer can be worked out for every instant.
#include <algorithm>
#include <cmath>
#include <map>

#include "lab/fleet/verdict.hpp"
#include "lab/ledger/world/optimum.hpp"

namespace laird::lab {
namespace {

// All boards' shares and demands as they change, one after the other.
struct Moment {
  std::int64_t unix_us = 0;
  std::size_t board = 0;
  const SharePoint* share = nullptr;
  const consensus::Demand* demand = nullptr;
};

std::vector<Moment> moments_of(const FleetRecording& recording) {
  std::vector<Moment> out;
  std::size_t board = 0;
  for (const auto& [id, node] : recording.nodes) {
    for (const SharePoint& p : node.shares) out.push_back({p.unix_us, board, &p, nullptr});
    for (const DemandPoint& p : node.demands) out.push_back({p.unix_us, board, nullptr, &p.demand});
    ++board;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Moment& a, const Moment& b) { return a.unix_us < b.unix_us; });
  return out;
}

// The part of the whole that is on another board than at the optimum, or on none.
double gap_of(const std::vector<consensus::Demand>& demands, const std::vector<double>& shares) {
  double caps = 0.0;
  for (const consensus::Demand& d : demands) caps += static_cast<double>(d.cap);
  const auto whole = static_cast<double>(consensus::kWhole);
  const Optimum best = optimum_of(demands, std::min(whole, caps));
  double missing = 0.0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    missing += std::max(0.0, best.shares[i] - shares[i]);
  }
  return missing / whole;
}

}  // namespace

std::optional<double> settled_after_s(const FleetRecording& recording, std::int64_t since_unix_us) {
  const std::size_t boards = recording.nodes.size();
  std::vector<double> shares(boards, 0.0);
  consensus::Demand nothing;
  nothing.cap = 0;
  std::vector<consensus::Demand> demands(boards, nothing);
  std::vector<bool> known(boards, false);
  std::int64_t good_since = -1;
  const std::vector<Moment> moments = moments_of(recording);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const Moment& m = moments[i];
    if (m.share != nullptr) shares[m.board] = static_cast<double>(m.share->parts);
    if (m.demand != nullptr) {
      demands[m.board] = *m.demand;
      known[m.board] = true;
    }
    // How it was from then until the next change.
    const std::int64_t until =
        i + 1 < moments.size() ? moments[i + 1].unix_us : recording.last_unix_us;
    if (until <= since_unix_us || until == m.unix_us) continue;
    const bool all_known = std::all_of(known.begin(), known.end(), [](bool k) { return k; });
    if (!all_known || gap_of(demands, shares) > kSettledGap) {
      good_since = -1;
      continue;
    }
    if (good_since < 0) good_since = std::max(m.unix_us, since_unix_us);
    if (until - good_since >= kSettledForUs) {
      return static_cast<double>(good_since - since_unix_us) * 1e-6;
    }
  }
  return std::nullopt;
}

}  // namespace laird::lab
