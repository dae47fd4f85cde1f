// What of a ledger is journalled and hashed: everything but the overlays, which follow from the
// member list.
#include "consensus/ledger.hpp"

namespace laird::consensus {

void SettlementClaim::archive(Archive& ar) {
  ar(claimant);
  ar(none);
  archive_shares(ar, sent);
  archive_shares(ar, heard);
}

void SettlementTarget::archive(Archive& ar) {
  ar(account);
  ar(nonce);
  ar(certain);
  ar(record);
  ar.sequence(claims, kEdgesMax);
  ar(since);
}

void Settlement::archive(Archive& ar) {
  ar(active);
  ar(published);
  ar(version);
  ar(since);
  ar(pulled_at);
  archive_shares(ar, credit);
  ar.sequence(targets, kGroupMax);
  ar.sequence(reborn, kEdgesMax);
}

void PendingFinal::archive(Archive& ar) {
  ar(to);
  ar(incarnation);
  ar(body.target);
  ar(body.adopt);
  archive_shares(ar, body.sent);
  archive_shares(ar, body.heard);
  ar.sequence(body.absorbed, kAbsorbedMax);
  ar.sequence(body.frozen, kEdgesMax);
  ar(sent_at);
  ar(since);
}

void Obituary::archive(Archive& ar) {
  ar(account);
  ar.sequence(absorbed, kAbsorbedMax);
  ar.sequence(frozen, kEdgesMax);
  ar(certain);
}

void Ledger::archive(Archive& ar) {
  ar(config_.epoch);
  ar(config_.tick);
  ar(config_.lease);
  ar(config_.drift_ppm);
  ar(config_.theta_permille);
  ar(self_);
  for (Demand& d : demand_) ar(d);
  archive_shares(ar, base_);
  ar.sequence(edges_, kEdgesMax);
  ar(version_);
  ar(quorum_);
  ar(quorum_in_force_);
  ar(quorum_version_);
  ar.sequence(absorbed_, kAbsorbedMax);
  ar(settlement_);
  ar.sequence(finals_, kFinalsMax);
  ar.sequence(obituaries_, kObituariesMax);
  ar(nonce_);
  ar(seq_high_);
  ar(retry_at_);
  ar(closed_);
  ar(ticks_);
  ar(rejected_);
}

}  // namespace laird::consensus
