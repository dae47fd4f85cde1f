#include "consensus/voting/ballots.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

bool holds(const std::vector<Account>& accounts, const Account& account) {
  return std::find(accounts.begin(), accounts.end(), account) != accounts.end();
}

}  // namespace

void Ballots::archive(Archive& ar) {
  ar(decided_);
  ar(promised_);
  ar(accepted_at_);
  ar.sequence(accepted_, 1);
  ar(accepted_since_);
  ar.bounded(phase_, Phase::kPrepared);
  ar(ballot_);
  ar(round_seen_);
  ar(proposal_);
  ar(best_at_);
  ar.sequence(best_, 1);
  ar.sequence(votes_, kKeepersMax);
  ar(phase_since_);
  ar(sent_at_);
  ar(needed_since_);
  ar(waited_at_);
}

void Ballots::archive_tally(Archive& ar) {
  ar(tally_at_);
  ar.sequence(tally_, kKeepersMax);
}

void Ballots::configure(DurationNs tick, std::uint32_t founding_epoch) {
  tick_ = tick;
  founding_epoch_ = founding_epoch;
}

void Ballots::begin(const Account& self) {
  const DurationNs tick = tick_;
  const std::uint32_t founding_epoch = founding_epoch_;
  *this = Ballots();
  configure(tick, founding_epoch);
  self_ = self;
}

void Ballots::send(NodeId to, Body body, Out& out) const {
  out.send(to, founding_epoch_, self_.incarnation, std::move(body));
}

// A promise outlives the version it was given for, also when this keeper missed versions in
// between: the proposer counts on the promise until the keepers change.
void Ballots::adopt(Register value) {
  if (value.keepers != decided_.keepers) promised_ = {};
  decided_ = std::move(value);
  accepted_at_ = tally_at_ = {};
  tally_.clear();
  accepted_.clear();
  accepted_since_ = 0;
  phase_ = Phase::kIdle;
  votes_.clear();
  best_.clear();
  round_seen_ = 0;
  needed_since_ = kNever;
}

Account Ballots::seat_of(NodeId node) const {
  const auto at = std::find_if(decided_.keepers.begin(), decided_.keepers.end(),
                               [&](const Account& k) { return k.node == node; });
  return at == decided_.keepers.end() ? Account{} : *at;
}

// --- Turns ---

std::size_t Ballots::owner_seat() const {
  const auto& seats = decided_.keepers;
  const auto owner = std::find(seats.begin(), seats.end(), decided_.owner);
  return owner == seats.end() ? 0 : static_cast<std::size_t>(owner - seats.begin());
}

Account Ballots::next_proposer(const LosesTurn& loses_turn) const {
  const auto& seats = decided_.keepers;
  std::size_t at = owner_seat();
  for (std::size_t k = 0; k < seats.size() && loses_turn(seats[at % seats.size()]); ++k) ++at;
  return seats[at % seats.size()];
}

// How long this keeper leaves the floor to others. The owner is first in line, then the others in
// the order of their seats, without those that have lost their turn. The keepers in line wait
// further apart once rounds have been contested.
DurationNs Ballots::patience(const LosesTurn& loses_turn) const {
  const auto& seats = decided_.keepers;
  std::int64_t rank = 0;
  for (std::size_t at = owner_seat(); seats[at % seats.size()] != self_; ++at) {
    if (!loses_turn(seats[at % seats.size()])) ++rank;
  }
  const std::int64_t apart = 1 + std::min<std::int64_t>(round_seen_, kRoundsApartMax);
  // Whoever has been promised the floor comes first; even the owner waits for it.
  const bool floor_taken = promised_.round != 0 && promised_.node != self_.node &&
                           !loses_turn(decided_.living(promised_.node));
  return (rank * apart + (floor_taken ? 1 : 0)) * kRankTicks * tick_;
}

bool Ballots::is_my_turn(TimeNs now, const LosesTurn& loses_turn) const {
  return now - std::max(needed_since_, waited_at_) >= patience(loses_turn);
}

bool Ballots::should_take_over(const LosesTurn& loses_turn) const {
  return phase_ == Phase::kIdle && majority() > 1 && decided_.owner != self_ &&
         loses_turn(decided_.owner) && patience(loses_turn) == 0;
}

bool Ballots::vote_is_stuck(TimeNs now) const {
  return !accepted_.empty() && now - accepted_since_ > kRankTicks * tick_;
}

void Ballots::note_needed(TimeNs now) {
  if (needed_since_ == kNever) needed_since_ = vote_is_stuck(now) ? accepted_since_ : now;
}

// Another keeper's ballot is higher: the own round is over, and the other gets time. It gets that
// time once: a proposer that repeats its question for long does not reach a majority, and another
// keeper may.
void Ballots::give_way(TimeNs now) {
  if (phase_ != Phase::kIdle && ballot_ < promised_) phase_ = Phase::kIdle;
  waited_at_ = now;
}

// --- A round of this keeper ---

bool Ballots::pursue(TimeNs now, Out& out) {
  if (!accepted_.empty() && accepted_since_ == 0) accepted_since_ = now;
  if (phase_ != Phase::kPreparing && phase_ != Phase::kAccepting) return false;
  if (now - phase_since_ > kRoundTicks * tick_) {
    phase_ = Phase::kIdle;
    waited_at_ = now;
  } else {
    repeat(now, out);
  }
  return true;
}

void Ballots::prepare(TimeNs now, Out& out) {
  phase_ = Phase::kPreparing;
  ballot_ = {std::max(round_seen_, promised_.round) + 1, self_.node};
  round_seen_ = ballot_.round;
  promised_ = ballot_;
  phase_since_ = now;
  votes_ = {self_};
  best_at_ = accepted_at_;
  best_ = accepted_;
  sent_at_ = 0;
  if (!promised_by_majority()) repeat(now, out);
}

bool Ballots::on_promise(const Account& from, const PromiseBody& body) {
  if (phase_ != Phase::kPreparing || body.version != decided_.version + 1 ||
      body.ballot != ballot_ || !decided_.is_keeper(from)) {
    return false;
  }
  if (!body.accepted.empty() && (best_.empty() || body.accepted_at > best_at_)) {
    best_at_ = body.accepted_at;
    best_ = body.accepted;
  }
  count_vote(from);
  return true;
}

void Ballots::start_accepting(Register value, TimeNs now, Out& out) {
  phase_ = Phase::kAccepting;
  proposal_ = std::move(value);
  promised_ = accepted_at_ = ballot_;
  accepted_ = {proposal_};
  accepted_since_ = phase_since_ = now;
  tally(ballot_, self_);
  sent_at_ = 0;
  repeat(now, out);
}

void Ballots::on_refused(const RefusedBody& body, TimeNs now) {
  if (phase_ == Phase::kIdle || body.version != decided_.version + 1) return;
  round_seen_ = std::max(round_seen_, body.promised.round);
  if (body.promised <= ballot_) return;
  phase_ = Phase::kIdle;
  waited_at_ = now;
}

// How often a question or a vote is sent in one tick. Where it has been unanswered for some time,
// messages are being lost, and others wait for the answer: a second copy is worth its bytes.
int Ballots::copies(TimeNs since, TimeNs now) const {
  return now - since > kTwiceTicks * tick_ ? 2 : 1;
}

void Ballots::repeat(TimeNs now, Out& out) {
  if (sent_at_ != 0 && now - sent_at_ < kRepeatTicks * tick_) return;
  sent_at_ = now;
  const auto& answered = phase_ == Phase::kPreparing ? votes_ : tally_;
  for (const Account& k : decided_.keepers) {
    if (holds(answered, k)) continue;
    for (int copy = 0; copy < copies(phase_since_, now); ++copy) {
      if (phase_ == Phase::kPreparing) {
        send(k.node, PrepareBody{decided_.version + 1, ballot_}, out);
      } else {
        send(k.node, AcceptBody{ballot_, proposal_}, out);
      }
    }
  }
}

void Ballots::count_vote(const Account& from) {
  if (decided_.is_keeper(from) && !holds(votes_, from)) votes_.push_back(from);
}

// --- Voting ---

bool Ballots::answer_other_version(const Account& from, std::uint32_t version, Out& out) const {
  if (decided_.version >= version) {
    send(from.node, DecidedBody{decided_}, out);
    return true;
  }
  if (decided_.version + 1 < version) {
    RequestBody ask;
    ask.version = decided_.version;
    send(from.node, ask, out);
    return true;
  }
  return false;
}

void Ballots::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  if (answer_other_version(from, body.version, out)) return;
  if (!seated() || !decided_.is_keeper(from) || body.ballot.node != from.node) return;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) return send(from.node, RefusedBody{body.version, promised_}, out);
  if (promised_ != body.ballot) {
    promised_ = body.ballot;
    give_way(now);
  }
  send(from.node, PromiseBody{body.version, body.ballot, accepted_at_, accepted_}, out);
}

bool Ballots::on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out) {
  const std::uint32_t version = body.value.version;
  if (answer_other_version(from, version, out)) return false;
  const Account proposer = seat_of(body.ballot.node);
  if (!seated() || !decided_.is_keeper(from) || !proposer.valid()) return false;
  if (body.ballot.round == 0 && proposer != decided_.owner) return false;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) {
    send(from.node, RefusedBody{version, promised_}, out);
    return false;
  }
  if (accepted_.empty() || accepted_at_ != body.ballot) {
    promised_ = accepted_at_ = body.ballot;
    accepted_ = {body.value};
    give_way(now);
  }
  send(from.node, AcceptedBody{version, body.ballot}, out);
  // Whoever passes a proposal on has voted for it, as has whoever made it.
  tally(body.ballot, proposer);
  tally(body.ballot, from);
  tally(body.ballot, self_);
  return true;
}

void Ballots::tally(const Ballot& ballot, const Account& voter) {
  if (!decided_.is_keeper(voter) || (!tally_.empty() && ballot < tally_at_)) return;
  if (ballot != tally_at_) tally_.clear();
  tally_at_ = ballot;
  if (!holds(tally_, voter)) tally_.push_back(voter);
}

bool Ballots::voted_by_majority() const {
  return !accepted_.empty() && accepted_at_ == tally_at_ && tally_.size() >= majority();
}

void Ballots::decide() {
  const bool keeps_floor = is_accepting(accepted_at_) && ballot_ == promised_ &&
                           ballot_.round != 0 && accepted_.front().keepers == decided_.keepers;
  Register value = std::move(accepted_.front());
  adopt(std::move(value));
  proposal_ = {};
  if (keeps_floor) phase_ = Phase::kPrepared;
}

void Ballots::repeat_vote(TimeNs now, Out& out) const {
  const Account proposer = decided_.living(promised_.node);
  if (phase_ != Phase::kIdle || !decided_.is_keeper(proposer) || proposer == self_ ||
      now - waited_at_ >= kRankTicks * tick_) {
    return;
  }
  const std::uint32_t version = decided_.version + 1;
  for (int copy = 0; copy < copies(waited_at_, now); ++copy) {
    if (!accepted_.empty() && accepted_at_ == promised_) {
      send(proposer.node, AcceptedBody{version, accepted_at_}, out);
    } else if (promised_.round != 0) {
      send(proposer.node, PromiseBody{version, promised_, accepted_at_, accepted_}, out);
    }
  }
}

void Ballots::pass_on(TimeNs now, Out& out) const {
  if (accepted_.empty() || phase_ != Phase::kIdle || accepted_since_ == 0 ||
      now - accepted_since_ < kPassOnTicks * tick_) {
    return;
  }
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    if (tally_at_ == accepted_at_ && holds(tally_, k)) {
      send(k.node, AcceptedBody{decided_.version + 1, accepted_at_}, out);
    } else {
      send(k.node, AcceptBody{accepted_at_, accepted_.front()}, out);
    }
  }
}

// --- Handing over ---

void Ballots::hand_over(Out& out) const {
  for (const Account& k : decided_.keepers) {
    if (holds(votes_, k)) continue;
    send(k.node, DecidedBody{decided_}, out);
    // The answer to this probe names the version that its author has.
    send(k.node, ProbeBody{decided_.version, 0}, out);
  }
}

void Ballots::on_receipt(const Account& from, std::uint32_t version) {
  if (version >= decided_.version) count_vote(from);
}

}  // namespace laird::consensus
