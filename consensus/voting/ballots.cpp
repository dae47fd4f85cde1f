#include "consensus/voting/ballots.hpp"

#include <algorithm>
#include <array>

namespace laird::consensus {
namespace {

template <class Records>
auto record_of(Records& records, const Account& by) {
  return std::find_if(records.begin(), records.end(), [&](const auto& r) { return r.by == by; });
}

}  // namespace

void Ballots::configure(DurationNs tick, Epoch founding_epoch, bool forgets_promises) {
  tick_ = tick;
  forgets_promises_ = forgets_promises;
  founding_epoch_ = founding_epoch;
}

void Ballots::begin(const Account& self) {
  const DurationNs tick = tick_;
  const Epoch founding_epoch = founding_epoch_;
  const std::uint64_t equivocations = equivocations_;
  const bool forgets_promises = forgets_promises_;
  *this = Ballots();
  configure(tick, founding_epoch, forgets_promises);
  equivocations_ = equivocations;
  self_ = self;
}

void Ballots::send(NodeId to, Body body, Out& out) const {
  out.send(to, founding_epoch_, self_.incarnation, std::move(body));
}

void Ballots::send_all(const Body& body, Out& out) const {
  for (const Account& k : decided_.keepers) {
    if (k != self_) send(k.node, body, out);
  }
}

// A promise outlives the version it was given for, also when this keeper missed versions in
// between: the proposer counts on the promise until the keepers change.
void Ballots::adopt(Register value) {
  if (value.keepers != decided_.keepers || forgets_promises_) {
    promised_ = established_ = {};
    told_.clear();
  }
  const bool next = value.version == decided_.version + 1;
  if (next && value.keepers.size() == 1 && decided_.keepers.size() > 1) {
    if (bridges_.size() >= kBridgesMax) bridges_.erase(bridges_.begin());
    bridges_.push_back(value);
  }
  before_ = next ? std::move(decided_) : Register{};
  supported_at_ = kNever;
  decided_ = std::move(value);
  voted_at_ = locked_at_ = {};
  voted_.clear();
  cast_.clear();
  locked_.clear();
  votes_.clear();
  promises_.clear();
  offers_.clear();
  receipts_.clear();
  voted_since_ = 0;
  phase_ = Phase::kIdle;
  rounds_contested_ = 0;
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
  const std::int64_t apart = 1 + (rounds_contested_ > 0 ? kRoundsApartMax : 0);
  // Whoever has been promised the floor comes first; even the owner waits for it.
  const bool floor_taken = promised_.round != 0 && promised_.node != self_.node &&
                           !loses_turn(decided_.living(promised_.node));
  return (rank * apart + (floor_taken ? 1 : 0)) * kRankTicks * tick_;
}

bool Ballots::is_my_turn(TimeNs now, const LosesTurn& loses_turn) const {
  return now - std::max(needed_since_, waited_at_) >= patience(loses_turn);
}

bool Ballots::should_take_over(const LosesTurn& loses_turn) const {
  return phase_ == Phase::kIdle && quorum() > 1 && decided_.owner != self_ &&
         loses_turn(decided_.owner) && patience(loses_turn) == 0;
}

bool Ballots::vote_is_stuck(TimeNs now) const {
  return !voted_.empty() && now - voted_since_ > kRankTicks * tick_;
}

void Ballots::note_needed(TimeNs now) {
  if (needed_since_ == kNever) needed_since_ = vote_is_stuck(now) ? voted_since_ : now;
}

// Another keeper's ballot is higher: the own round is over, and the other gets time. It gets that
// time once: a proposer that repeats its question for long does not reach a quorum, and another
// keeper may.
void Ballots::give_way(TimeNs now) {
  if (phase_ != Phase::kIdle && ballot_ < promised_) phase_ = Phase::kIdle;
  waited_at_ = now;
}

// --- Rounds ---

void Ballots::note_round(const Account& by, std::uint64_t round) {
  if (!decided_.is_keeper(by) || round == 0) return;
  rounds_contested_ = std::max<std::uint64_t>(rounds_contested_, 1);
  const auto at = record_of(told_, by);
  if (at == told_.end()) {
    told_.push_back({by, round});
  } else {
    at->round = std::max(at->round, round);
  }
}

std::uint64_t Ballots::round_base() const {
  std::array<std::uint64_t, kWords> highest{};  // descending
  for (const Told& t : told_) {
    std::uint64_t round = t.round;
    for (std::uint64_t& place : highest) {
      if (round > place) std::swap(round, place);
    }
  }
  return std::max(promised_.round, highest.back());
}

// A single keeper's word counts too, up to a point: it may be the only one that has promised.
std::uint64_t Ballots::next_round() const {
  std::uint64_t highest = round_base();
  for (const Told& t : told_) {
    highest = std::max(highest, std::min(t.round, round_base() + kRoundStep / 2));
  }
  return highest + 1;
}

bool Ballots::pursue(TimeNs now, Out& out) {
  if (!voted_.empty() && voted_since_ == 0) voted_since_ = now;
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
  ballot_ = {next_round(), self_.node};
  rounds_contested_ = std::max<std::uint64_t>(rounds_contested_, 1);
  promised_ = ballot_;
  phase_since_ = now;
  offers_ = locked_;
  note_promise(own_promise());
  sent_at_ = 0;
  if (quorum() > 1) repeat(now, out);
}

Ballots::Promise Ballots::own_promise() const {
  const std::uint64_t digest = locked_.empty() ? 0 : digest_of(locked_.front());
  return {self_, promised_, locked_at_, digest, cast_};
}

bool Ballots::Promise::voted_for(std::uint64_t value, const Ballot& since) const {
  return (digest == value && locked_at >= since) ||
         std::any_of(votes.begin(), votes.end(),
                     [&](const CastVote& v) { return v.digest == value && v.ballot >= since; });
}

void Ballots::note_promise(const Promise& promise) {
  const auto at = record_of(promises_, promise.by);
  // What a keeper says of the ballot in force here counts whatever else it has said.
  if (at == promises_.end()) {
    promises_.push_back(promise);
  } else if (at->ballot <= promise.ballot || promise.ballot == promised_) {
    *at = promise;
  }
}

bool Ballots::on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out) {
  // A promise that already tells the value in this very ballot is such support itself.
  const bool supports = body.locked_at == body.ballot;
  if (!supports) support(from, body.version, body.ballot, false, now, out);
  if (body.version != decided_.version + 1 || !decided_.is_keeper(from)) return false;
  const bool fits = round_fits(body.ballot.round);
  note_round(from, body.ballot.round);
  if (!fits) return false;
  note_promise({from, body.ballot, body.locked_at, body.digest, body.votes});
  if (phase_ != Phase::kPreparing || body.ballot != ballot_) return false;
  const bool told = !body.locked.empty() && body.digest != 0;
  if (told && offered(body.digest) == nullptr && digest_of(body.locked.front()) == body.digest &&
      offers_.size() < kKeepersMax) {
    offers_.push_back(body.locked.front());
  }
  return true;
}

const Register* Ballots::offered(std::uint64_t digest) const {
  const auto at = std::find_if(offers_.begin(), offers_.end(),
                               [&](const Register& r) { return digest_of(r) == digest; });
  return at == offers_.end() ? nullptr : &*at;
}

// A value that was decided in an earlier round had a quorum of locks, so every quorum of promises
// tells it at least once, by an honest keeper. What a liar tells of itself is told once only. A
// lock that is true had a quorum of votes, of which every quorum of honest promises tells kWords:
// so one lock is enough where so many tell that they have voted for its value in its ballot or a
// later one. One of them is honest: it has found the value justified, and that nothing else was
// decided before.
std::optional<Ballots::Choice> Ballots::choice_in(const Ballot& ballot) const {
  std::vector<const Promise*> told;
  for (const Promise& p : promises_) {
    if (p.ballot == ballot) told.push_back(&p);
  }
  if (told.size() < quorum()) return std::nullopt;
  const auto count = [&](auto fits) {
    return static_cast<std::size_t>(
        std::count_if(told.begin(), told.end(), [&](const Promise* p) { return fits(*p); }));
  };
  if (count([](const Promise& p) { return p.digest == 0; }) >= quorum())
    return Choice{true, 0, true};
  std::sort(told.begin(), told.end(),
            [](const Promise* a, const Promise* b) { return a->locked_at > b->locked_at; });
  for (const Promise* c : told) {
    if (c->digest == 0) continue;
    const std::size_t words = count([&](const Promise& p) { return p.digest == c->digest; });
    const bool only = count([&](const Promise& p) { return p.digest != 0; }) == words;
    const std::size_t voters =
        count([&](const Promise& p) { return p.voted_for(c->digest, c->locked_at); });
    const bool vouched = words >= kWords || voters >= kWords;
    const std::size_t compatible = count([&](const Promise& p) {
      return p.digest == 0 || p.digest == c->digest || p.locked_at < c->locked_at;
    });
    if (!guarded() || (compatible >= quorum() && (vouched || only))) {
      return Choice{false, c->digest, vouched};
    }
  }
  return std::nullopt;
}

void Ballots::start_accepting(Register value, TimeNs now, Out& out) {
  phase_ = Phase::kAccepting;
  proposal_ = std::move(value);
  promised_ = voted_at_ = ballot_;
  voted_ = {proposal_};
  voted_since_ = phase_since_ = now;
  note_vote(ballot_, digest_of(proposal_));
  sent_at_ = 0;
  repeat(now, out);
}

void Ballots::on_refused(const Account& from, const RefusedBody& body, TimeNs now) {
  if (body.version != decided_.version + 1 || !decided_.is_keeper(from)) return;
  note_round(from, body.promised.round);
  if (phase_ == Phase::kIdle || body.promised <= ballot_) return;
  phase_ = Phase::kIdle;
  waited_at_ = now;
}

// How often a question or a vote is sent in one tick. Where it has been unanswered for some time,
// messages are being lost, and others wait for the answer: a second copy is worth its bytes.
int Ballots::copies(TimeNs since, TimeNs now) const {
  return now - since > kTwiceTicks * tick_ ? 2 : 1;
}

// The proposer's own promise goes along with its question: the others count promises themselves.
void Ballots::repeat(TimeNs now, Out& out) {
  if (sent_at_ != 0 && now - sent_at_ < kRepeatTicks * tick_) return;
  sent_at_ = now;
  const Promise own = own_promise();
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    if (phase_ == Phase::kPreparing) {
      const auto promise = record_of(promises_, k);
      if (promise != promises_.end() && promise->ballot == ballot_) continue;
      for (int copy = 0; copy < copies(phase_since_, now); ++copy) {
        send(k.node, PrepareBody{decided_.version + 1, ballot_}, out);
        send(k.node,
             PromiseBody{decided_.version + 1, ballot_, own.locked_at, own.digest, {}, own.votes},
             out);
      }
    } else {
      const auto vote = record_of(votes_, k);
      if (vote != votes_.end() && vote->ballot == ballot_) continue;
      for (int copy = 0; copy < copies(phase_since_, now); ++copy) {
        send(k.node, AcceptBody{ballot_, proposal_}, out);
      }
    }
  }
}

// --- Voting ---

void Ballots::note_vote(const Ballot& ballot, std::uint64_t digest) {
  std::erase_if(cast_, [&](const CastVote& v) { return v.digest == digest; });
  if (cast_.size() >= kVotesToldMax) cast_.erase(cast_.begin());
  cast_.push_back({ballot, digest});
  tally({self_, ballot, digest, false, false});
}

void Ballots::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  support(from, body.version, body.ballot, true, now, out);
  if (answer_other_version(from, body.version, out)) return;
  if (!seated() || !decided_.is_keeper(from) || body.ballot.node != from.node) return;
  const bool fits = round_fits(body.ballot.round);
  note_round(from, body.ballot.round);
  if (body.ballot < promised_ || !fits) {
    return send(from.node, RefusedBody{body.version, promised_}, out);
  }
  if (promised_ != body.ballot) {
    promised_ = body.ballot;
    give_way(now);
  }
  const Promise own = own_promise();
  note_promise(own);
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    PromiseBody promise{body.version, body.ballot, own.locked_at, own.digest, {}, own.votes};
    if (k == from) promise.locked = locked_;
    send(k.node, std::move(promise), out);
  }
}

bool Ballots::vouched(const Ballot& ballot, std::uint64_t digest) const {
  const auto others = std::count_if(votes_.begin(), votes_.end(), [&](const Vote& v) {
    return v.by != self_ && v.ballot == ballot && v.digest == digest;
  });
  return static_cast<std::size_t>(others) >= kWords;
}

// As far as this keeper can tell, nothing else can have been decided in an earlier ballot.
Ballots::Permit Ballots::permit(const Ballot& ballot, std::uint64_t digest) const {
  if (vouched(ballot, digest)) return Permit::kVouched;
  if (!guarded() || ballot.round == 0 || ballot == established_) return Permit::kIfJustified;
  const std::optional<Choice> choice = choice_in(ballot);
  if (!choice || (!choice->free && choice->digest != digest)) return Permit::kNone;
  return !choice->free && choice->vouched ? Permit::kVouched : Permit::kIfJustified;
}

bool Ballots::on_accept(const Account& from, const AcceptBody& body, const Justified& justified,
                        TimeNs now, Out& out) {
  const std::uint32_t version = body.value.version;
  support(from, version, body.ballot, false, now, out);
  if (answer_other_version(from, version, out)) return false;
  const Account proposer = seat_of(body.ballot.node);
  if (!seated() || !decided_.is_keeper(from) || !proposer.valid()) return false;
  if (body.ballot.round == 0 && proposer != decided_.owner) return false;
  const bool fits = round_fits(body.ballot.round);
  note_round(from, body.ballot.round);
  if (body.ballot < promised_ || !fits) {
    send(from.node, RefusedBody{version, promised_}, out);
    return false;
  }
  const std::uint64_t digest = digest_of(body.value);
  // Whoever passes a proposal on has voted for it, as has whoever made it.
  tally({from, body.ballot, digest, false, false});
  if (!voted_.empty() && voted_at_ == body.ballot) {
    if (own_vote().digest != digest) return false;
    send(from.node, own_vote(), out);
    return true;
  }
  // What this keeper has voted for in an earlier ballot was justified then.
  const bool known = voted_for() != nullptr && body.value == *voted_for();
  const Permit permitted = permit(body.ballot, digest);
  if (permitted == Permit::kNone) return false;
  if (permitted == Permit::kIfJustified && !known && !justified(body.value)) return false;
  promised_ = voted_at_ = body.ballot;
  voted_ = {body.value};
  voted_since_ = 0;
  give_way(now);
  note_vote(body.ballot, digest);
  send_all(own_vote(), out);
  return true;
}

AcceptedBody Ballots::own_vote() const {
  return {decided_.version + 1, voted_at_, digest_of(voted_.front()), locked_on_vote(), false};
}

void Ballots::on_accepted(const Account& from, const AcceptedBody& body) {
  if (body.version != decided_.version + 1) return;
  const bool fits = round_fits(body.ballot.round);
  note_round(from, body.ballot.round);
  if (fits) tally({from, body.ballot, body.digest, body.locked, body.decided});
}

void Ballots::tally(const Vote& vote) {
  if (!decided_.is_keeper(vote.by)) return;
  const auto at = record_of(votes_, vote.by);
  if (at == votes_.end()) {
    votes_.push_back(vote);
  } else if (at->ballot == vote.ballot) {
    if (at->digest == vote.digest) {
      at->locked |= vote.locked;
      at->decided |= vote.decided;
    } else {
      ++equivocations_;
    }
  } else if (at->ballot < vote.ballot || (!voted_.empty() && vote.ballot == voted_at_)) {
    // What a keeper says of the ballot in force here counts whatever else it has said.
    *at = vote;
  }
}

std::size_t Ballots::votes_for(const Ballot& ballot, std::uint64_t digest, bool locked) const {
  return static_cast<std::size_t>(std::count_if(votes_.begin(), votes_.end(), [&](const Vote& v) {
    return v.ballot == ballot && v.digest == digest && (v.locked || !locked);
  }));
}

bool Ballots::has_shown_lock(const Account& keeper) const {
  const auto at = record_of(votes_, keeper);
  return at != votes_.end() && at->locked && at->ballot == voted_at_;
}

void Ballots::on_decided_by(const Account& from, const Register& value) {
  if (voted_.empty() || value.version != decided_.version + 1 || value != voted_.front()) return;
  tally({from, voted_at_, digest_of(value), true, true});
}

bool Ballots::count_votes(Out& out) {
  if (voted_.empty()) return false;
  const std::uint64_t digest = digest_of(voted_.front());
  // Two keepers that are locked cannot both be lying: there was a quorum of votes, though not all
  // of them reached this keeper. Whoever has promised a later ballot locks in no earlier one: the
  // promise told its locks.
  const bool quorum_voted = votes_for(voted_at_, digest, false) >= quorum() ||
                            votes_for(voted_at_, digest, true) >= kWords;
  if (!locked_on_vote() && promised_ == voted_at_ && quorum_voted) {
    locked_ = voted_;
    locked_at_ = voted_at_;
    tally({self_, voted_at_, digest, true, false});
    send_all(own_vote(), out);
  }
  return votes_for(voted_at_, digest, true) >= quorum();
}

// Whoever supports a version that it knows votes in any ballot and promises none for the versions
// to come.
bool Ballots::binds_a_quorum(const Ballot& ballot) const {
  const auto bound = [&](const Account& k) {
    const auto vote = record_of(votes_, k);
    const auto promise = record_of(promises_, k);
    return (vote != votes_.end() && vote->ballot == ballot && !vote->decided) ||
           (promise != promises_.end() && promise->ballot == ballot && promise->locked_at < ballot);
  };
  const auto& seats = decided_.keepers;
  return static_cast<std::size_t>(std::count_if(seats.begin(), seats.end(), bound)) >= quorum();
}

void Ballots::decide() {
  const Ballot in = voted_at_;
  const bool holds_on =
      in.round != 0 && voted_.front().keepers == decided_.keepers && binds_a_quorum(in);
  const bool keeps_floor = is_accepting(in) && ballot_ == promised_ && holds_on;
  Register value = std::move(voted_.front());
  adopt(std::move(value));
  proposal_ = {};
  if (holds_on) established_ = in;
  if (keeps_floor) phase_ = Phase::kPrepared;
}

void Ballots::repeat_vote(TimeNs now, Out& out) const {
  if (!voted_.empty()) {
    const AcceptedBody vote = own_vote();
    for (int copy = 0; copy < copies(voted_since_, now); ++copy) send_all(vote, out);
    if (voted_at_ == promised_) return;
  }
  const Account proposer = decided_.living(promised_.node);
  if (phase_ != Phase::kIdle || !decided_.is_keeper(proposer) || proposer == self_ ||
      promised_.round == 0 || now - waited_at_ >= kRoundTicks * tick_) {
    return;
  }
  const Promise own = own_promise();
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    PromiseBody promise{decided_.version + 1, promised_, own.locked_at, own.digest, {}, own.votes};
    if (k == proposer) promise.locked = locked_;
    send(k.node, std::move(promise), out);
  }
}

void Ballots::pass_on(TimeNs now, Out& out) const {
  if (voted_.empty() || phase_ != Phase::kIdle || voted_since_ == 0 ||
      now - voted_since_ < kPassOnTicks * tick_) {
    return;
  }
  for (const Account& k : decided_.keepers) {
    const auto vote = record_of(votes_, k);
    const bool has_it = vote != votes_.end() && vote->ballot == voted_at_;
    if (k != self_ && !has_it) send(k.node, AcceptBody{voted_at_, voted_.front()}, out);
  }
}

}  // namespace laird::consensus
