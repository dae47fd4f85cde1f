// How keepers agree on the next version of the register: whose turn it is to propose, the two
// phases of a round, and what is done so that messages lost or a link cut cost little time.
#include <algorithm>

#include "consensus/voting/register_voter.hpp"

namespace laird::consensus {

// Once a tick: goes on with the round under way, or looks whether there is something to propose.
void Keeper::pursue(TimeNs now, Out& out) {
  if (!accepted_.empty() && accepted_since_ == 0) accepted_since_ = now;
  if (phase_ != Phase::kPreparing && phase_ != Phase::kAccepting) {
    propose(now, out);
  } else if (now - phase_since_ > kRoundTicks * timing_.tick) {
    phase_ = Phase::kIdle;
    held_at_ = now;
  } else {
    repeat(now, out);
  }
}

// The owner first, then the others in the order of their seats, without those that seem to be gone,
// further apart with every round that was contested.
DurationNs Keeper::patience(TimeNs now) const {
  const auto& seats = decided_.keepers;
  const auto owner = std::find(seats.begin(), seats.end(), decided_.owner);
  std::size_t at = owner == seats.end() ? 0 : static_cast<std::size_t>(owner - seats.begin());
  std::int64_t rank = 0;
  for (; seats[at % seats.size()] != self_; ++at) {
    if (!out_of_turn(seats[at % seats.size()], now)) ++rank;
  }
  const std::int64_t apart = 1 + std::min<std::int64_t>(round_seen_, kRoundsApartMax);
  // Whoever has the floor comes first, the owner too must wait then.
  const bool taken = promised_.round != 0 && promised_.node != self_.node &&
                     !out_of_turn(decided_.living(promised_.node), now);
  const std::int64_t floor = taken ? 1 : 0;
  return (rank * apart + floor) * kRankTicks * timing_.tick;
}

void Keeper::propose(TimeNs now, Out& out) {
  if (!fresh_ && doubts_.empty() && certain_.empty() && needed_since_ == kNever &&
      accepted_.empty()) {
    return;
  }
  fresh_ = false;
  Register next = compose(now);
  const bool open_vote = !accepted_.empty() && now - accepted_since_ > kRankTicks * timing_.tick;
  if (next.version == decided_.version && !open_vote) {
    needed_since_ = kNever;
    take_over(now, out);
    return;
  }
  if (needed_since_ == kNever) needed_since_ = open_vote ? accepted_since_ : now;
  if (ripening(next, now) && now - needed_since_ < kGatherTicks * timing_.tick) {
    held_at_ = now;
    take_over(now, out);
    return;
  }
  if (phase_ == Phase::kPrepared) {
    start_accepting(std::move(next), now, out);
  } else if (decided_.owner == self_ && accepted_.empty() && promised_.round == 0) {
    ballot_ = {0, self_.node};
    start_accepting(std::move(next), now, out);
  } else if (now - std::max(needed_since_, held_at_) >= patience(now)) {
    prepare(now, out);
  }
}

// The owner seems to be gone: the next in line asks for the floor before there is something to
// enter, so that what the death will need is not held up by it.
void Keeper::take_over(TimeNs now, Out& out) {
  if (phase_ == Phase::kIdle && majority() > 1 && decided_.owner != self_ &&
      out_of_turn(decided_.owner, now) && patience(now) == 0) {
    prepare(now, out);
  }
}

void Keeper::prepare(TimeNs now, Out& out) {
  phase_ = Phase::kPreparing;
  ballot_ = {std::max(round_seen_, promised_.round) + 1, self_.node};
  round_seen_ = ballot_.round;
  promised_ = ballot_;
  phase_since_ = now;
  votes_ = {self_};
  best_at_ = accepted_at_;
  best_ = accepted_;
  sent_at_ = 0;
  if (votes_.size() >= majority()) {
    start_accepting(best_.empty() ? compose(now) : best_.front(), now, out);
  } else {
    repeat(now, out);
  }
}

void Keeper::start_accepting(Register value, TimeNs now, Out& out) {
  phase_ = Phase::kAccepting;
  proposal_ = std::move(value);
  promised_ = accepted_at_ = ballot_;
  accepted_ = {proposal_};
  accepted_since_ = phase_since_ = now;
  tally(ballot_, self_);
  sent_at_ = 0;
  repeat(now, out);
  decide_if_voted(now, out);
}

// Where messages are lost, what the others wait for is worth a second try in the same tick.
int Keeper::copies(TimeNs since, TimeNs now) const {
  return now - since > kTwiceTicks * timing_.tick ? 2 : 1;
}

void Keeper::repeat(TimeNs now, Out& out) {
  if (sent_at_ != 0 && now - sent_at_ < kRepeatTicks * timing_.tick) return;
  sent_at_ = now;
  const auto& answered = phase_ == Phase::kPreparing ? votes_ : tally_;
  for (const Account& k : decided_.keepers) {
    if (std::find(answered.begin(), answered.end(), k) != answered.end()) continue;
    for (int copy = 0; copy < copies(phase_since_, now); ++copy) {
      if (phase_ == Phase::kPreparing) {
        send(k.node, PrepareBody{decided_.version + 1, ballot_}, out);
      } else {
        send(k.node, AcceptBody{ballot_, proposal_}, out);
      }
    }
  }
}

// A promise or a vote may be lost as well as the question for it.
void Keeper::repeat_vote(TimeNs now, Out& out) const {
  const Account proposer = decided_.living(promised_.node);
  if (phase_ != Phase::kIdle || !decided_.is_keeper(proposer) || proposer == self_ ||
      now - held_at_ >= kRankTicks * timing_.tick) {
    return;
  }
  const std::uint32_t version = decided_.version + 1;
  for (int copy = 0; copy < copies(held_at_, now); ++copy) {
    if (!accepted_.empty() && accepted_at_ == promised_) {
      send(proposer.node, AcceptedBody{version, accepted_at_}, out);
    } else if (promised_.round != 0) {
      send(proposer.node, PromiseBody{version, promised_, accepted_at_, accepted_}, out);
    }
  }
}

void Keeper::count_vote(const Account& from) {
  if (!decided_.is_keeper(from)) return;
  if (std::find(votes_.begin(), votes_.end(), from) == votes_.end()) votes_.push_back(from);
}

void Keeper::hand_over(Out& out) const {
  for (const Account& k : decided_.keepers) {
    if (std::find(votes_.begin(), votes_.end(), k) != votes_.end()) continue;
    send(k.node, DecidedBody{decided_}, out);
    send(k.node, ProbeBody{decided_.version, 0}, out);
  }
}

void Keeper::on_receipt(const Account& from, const RequestBody& body) {
  if (body.version >= decided_.version) count_vote(from);
}

Account Keeper::seat_of(NodeId node) const {
  const auto at = std::find_if(decided_.keepers.begin(), decided_.keepers.end(),
                               [&](const Account& k) { return k.node == node; });
  return at == decided_.keepers.end() ? Account{} : *at;
}

void Keeper::tally(const Ballot& ballot, const Account& voter) {
  if (!decided_.is_keeper(voter) || (!tally_.empty() && ballot < tally_at_)) return;
  if (ballot != tally_at_) tally_.clear();
  tally_at_ = ballot;
  if (std::find(tally_.begin(), tally_.end(), voter) == tally_.end()) tally_.push_back(voter);
}

// To whoever is not known to have voted for it the proposal, to the others one's own vote.
void Keeper::pass_on(TimeNs now, Out& out) const {
  if (accepted_.empty() || phase_ != Phase::kIdle || accepted_since_ == 0 ||
      now - accepted_since_ < kPassOnTicks * timing_.tick) {
    return;
  }
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    const bool voted =
        tally_at_ == accepted_at_ && std::find(tally_.begin(), tally_.end(), k) != tally_.end();
    if (voted) {
      send(k.node, AcceptedBody{decided_.version + 1, accepted_at_}, out);
    } else {
      send(k.node, AcceptBody{accepted_at_, accepted_.front()}, out);
    }
  }
}

// A majority has voted for what this keeper has voted for.
void Keeper::decide_if_voted(TimeNs now, Out& out) {
  if (accepted_.empty() || accepted_at_ != tally_at_ || tally_.size() < majority()) return;
  const Register before = decided_;
  const bool keeps_floor = phase_ == Phase::kAccepting && ballot_ == accepted_at_ &&
                           ballot_ == promised_ && ballot_.round != 0 &&
                           accepted_.front().keepers == decided_.keepers;
  Register value = std::move(accepted_.front());
  adopt(std::move(value), now);
  proposal_ = {};
  if (keeps_floor) phase_ = Phase::kPrepared;
  announce(before, now, out);
}

// Another one's ballot is under way: ours is over, and theirs gets time, once: one that repeats its
// question for long does not reach a majority, and another may.
void Keeper::give_way(TimeNs now) {
  if (phase_ != Phase::kIdle && ballot_ < promised_) phase_ = Phase::kIdle;
  held_at_ = now;
}

void Keeper::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  if (decided_.version >= body.version) return send(from.node, DecidedBody{decided_}, out);
  if (decided_.version + 1 < body.version) {
    RequestBody ask;
    ask.version = decided_.version;
    return send(from.node, ask, out);
  }
  if (!seated() || !decided_.is_keeper(from) || body.ballot.node != from.node) return;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) return send(from.node, RefusedBody{body.version, promised_}, out);
  if (promised_ != body.ballot) {
    promised_ = body.ballot;
    give_way(now);
  }
  send(from.node, PromiseBody{body.version, body.ballot, accepted_at_, accepted_}, out);
}

void Keeper::on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out) {
  if (phase_ != Phase::kPreparing || body.version != decided_.version + 1 ||
      body.ballot != ballot_ || !decided_.is_keeper(from)) {
    return;
  }
  if (!body.accepted.empty() && (best_.empty() || body.accepted_at > best_at_)) {
    best_at_ = body.accepted_at;
    best_ = body.accepted;
  }
  count_vote(from);
  note_contact(from, true, now);
  if (votes_.size() < majority()) return;
  if (!best_.empty()) return start_accepting(best_.front(), now, out);
  Register next = compose(now);
  if (next.version == decided_.version || ripening(next, now)) {
    phase_ = Phase::kPrepared;
    fresh_ = true;
    return;
  }
  start_accepting(std::move(next), now, out);
}

void Keeper::on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out) {
  const std::uint32_t version = body.value.version;
  if (decided_.version >= version) return send(from.node, DecidedBody{decided_}, out);
  if (decided_.version + 1 < version) {
    RequestBody ask;
    ask.version = decided_.version;
    return send(from.node, ask, out);
  }
  const Account proposer = seat_of(body.ballot.node);
  if (!seated() || !decided_.is_keeper(from) || !proposer.valid()) return;
  if (body.ballot.round == 0 && proposer != decided_.owner) return;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) return send(from.node, RefusedBody{version, promised_}, out);
  if (accepted_.empty() || accepted_at_ != body.ballot) {
    promised_ = accepted_at_ = body.ballot;
    accepted_ = {body.value};
    give_way(now);
  }
  send(from.node, AcceptedBody{version, body.ballot}, out);
  // Whoever hands a proposal on has voted for it, as has whoever made it.
  tally(body.ballot, proposer);
  tally(body.ballot, from);
  tally(body.ballot, self_);
  decide_if_voted(now, out);
}

void Keeper::on_accepted(const Account& from, const AcceptedBody& body, TimeNs now, Out& out) {
  if (body.version != decided_.version + 1) return;
  if (phase_ == Phase::kAccepting && body.ballot == ballot_) note_contact(from, true, now);
  tally(body.ballot, from);
  decide_if_voted(now, out);
}

void Keeper::on_refused(const Account& from, const RefusedBody& body, TimeNs now) {
  static_cast<void>(from);
  if (phase_ == Phase::kIdle || body.version != decided_.version + 1) return;
  round_seen_ = std::max(round_seen_, body.promised.round);
  if (body.promised <= ballot_) return;
  phase_ = Phase::kIdle;
  held_at_ = now;
}

void Keeper::on_decided(const Register& value, TimeNs now) {
  if (value.version > decided_.version) adopt(value, now);
}

}  // namespace laird::consensus
