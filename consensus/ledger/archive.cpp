// The part of a ledger that is journalled and hashed: everything but the neighbour graphs, which
// follow from the member list. The order of the fields is the journal's format and never changes.
#include "consensus/ledger/ledger.hpp"

namespace laird::consensus {

void Ledger::archive(Archive& ar) {
  ar(config_.founding_epoch);
  ar(config_.tick);
  ar(config_.lease);
  ar(config_.drift_ppm);
  ar(config_.theta_permille);
  ar(self_);
  archive_widened(ar, founding_epoch_);
  for (Demand& d : demand_) ar(d);
  archive_shares(ar, base_);
  ar.sequence(edges_, kEdgesMax);
  ar(version_);
  if (ar.since(5)) {
    ar(living_);
  } else {
    bool alone = false;
    ar(alone);
    living_ = alone ? 1 : 2;
  }
  ar(quorum_);
  ar(quorum_revision_);
  ar(quorum_next_);
  ar(asked_);
  ar.sequence(keepers_, kKeepersMax);
  ar(keepers_version_);
  ar(voter_);
  ar(founding_);
  ar(outside_since_);
  ar(urgent_since_);
  ar(asked_at_);
  ar(told_at_);
  ar(members_since_);
  ar(leaving_since_);
  ar(leaving_);
  ar(left_);
  ar(dead_);
  ar(newest_edge_told_);
  ar(behind_);
  ar(ticks_);
  ar(rejected_);
  if (ar.since(5)) {
    ar(words_);
    ar(one_speaker_ticks_);
    ar(unsure_);
    ar(refusals_);
    ar.sequence(other_wires_, kAccountsMax);
    ar(first_version_);
    ar(first_version_at_);
  }
  if (ar.reading() && !ar.failed()) configure_voter();
}

}  // namespace laird::consensus
