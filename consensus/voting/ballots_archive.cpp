// What the journal keeps of a keeper's ballots. The order of the fields is the journal's format and
// never changes; what formats 1 to 4 had and format 5 has not is read and dropped.
#include "consensus/voting/ballots.hpp"

namespace laird::consensus {

void Ballots::Vote::archive(Archive& ar) {
  ar(by);
  ar(ballot);
  ar(digest);
  ar(locked);
  ar(decided);
}

void Ballots::Promise::archive(Archive& ar) {
  ar(by);
  ar(ballot);
  ar(locked_at);
  ar(digest);
  ar.sequence(votes, kVotesToldMax);
}

void Ballots::Told::archive(Archive& ar) {
  ar(by);
  ar(round);
}

// What formats 1 to 4 hold of a round. A ledger is not continued by another build of the agent, so
// what has no place any more is read and dropped.
void Ballots::archive_old(Archive& ar) {
  std::uint32_t round_seen = 0;
  Ballot best_at;
  std::vector<Register> best;
  ar(round_seen);
  ar(proposal_);
  ar(best_at);
  ar.sequence(best, 1);
  ar.sequence(receipts_, kKeepersMax);
  ar(phase_since_);
  ar(sent_at_);
  ar(needed_since_);
  ar(waited_at_);
}

void Ballots::archive_old_tally(Archive& ar) {
  Ballot at;
  std::vector<Account> by;
  ar(at);
  ar.sequence(by, kKeepersMax);
}

void Ballots::archive(Archive& ar) {
  ar(decided_);
  ar(promised_);
  ar(voted_at_);
  ar.sequence(voted_, 1);
  ar(voted_since_);
  ar.bounded(phase_, Phase::kPrepared);
  ar(ballot_);
  if (!ar.since(5)) return archive_old(ar);
  ar(locked_at_);
  ar.sequence(locked_, 1);
  ar.sequence(votes_, kKeepersMax);
  ar.sequence(promises_, kKeepersMax);
  ar.sequence(told_, kKeepersMax);
  ar(established_);
  ar(rounds_contested_);
  ar(proposal_);
  ar.sequence(offers_, kKeepersMax);
  ar(phase_since_);
  ar(sent_at_);
  ar(needed_since_);
  ar(waited_at_);
  ar.sequence(receipts_, kKeepersMax);
  ar(equivocations_);
  ar(before_);
  ar(supported_at_);
  ar.sequence(cast_, kVotesToldMax);
  ar.sequence(bridges_, kBridgesMax);
}

}  // namespace laird::consensus
