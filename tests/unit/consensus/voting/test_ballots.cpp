#include "consensus/voting/ballots.hpp"

#include <numeric>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr TimeNs kStart = kDay;
constexpr Epoch kEpoch = 7;

Register founding(NodeId boards = 3) {
  std::vector<NodeId> nodes(boards);
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  std::vector<Account> accounts;
  for (const NodeId n : nodes) accounts.push_back({n, 1});
  return founding_register(NeighbourGraph(nodes), accounts);
}

// The next version as that keeper proposes it.
Register next_by(NodeId owner, Parts moved = 1, NodeId boards = 3) {
  Register r = founding(boards);
  r.version = 2;
  r.owner = {owner, 1};
  r.entries[0].base[0] -= moved;
  r.entries[1].base[0] += moved;
  return r;
}

Ballots keeper(NodeId node, NodeId boards = 3) {
  Ballots b;
  b.configure(kSecond, kEpoch);
  b.begin({node, 1});
  b.adopt(founding(boards));
  return b;
}

bool nobody(const Account&) { return false; }
bool always(const Register&) { return true; }
bool never(const Register&) { return false; }

AcceptedBody vote_for(const Register& value, const Ballot& ballot, bool locked = false) {
  return {value.version, ballot, digest_of(value), locked, false};
}

template <class T>
std::size_t count(const Out& out) {
  std::size_t n = 0;
  for (const Outgoing& o : out.messages) n += std::holds_alternative<T>(o.message.body) ? 1 : 0;
  return n;
}

template <class T>
T first(const Out& out) {
  for (const Outgoing& o : out.messages) {
    if (const T* body = std::get_if<T>(&o.message.body)) return *body;
  }
  TEST_FAIL_MESSAGE("no such message");
  return {};
}

}  // namespace

TEST(the_owner_proposes_without_a_first_phase_and_a_quorum_of_locks_decides) {
  Ballots owner = keeper(0);
  TEST_ASSERT_TRUE(owner.may_use_round_zero());
  TEST_ASSERT_FALSE(keeper(1).may_use_round_zero());
  owner.use_round_zero();
  Out out;
  owner.start_accepting(next_by(0), kStart, out);
  TEST_ASSERT_EQUAL_UINT64(2, count<AcceptBody>(out));
  TEST_ASSERT_EQUAL_UINT64(kEpoch, out.messages[0].message.founding_epoch);
  out.clear();
  TEST_ASSERT_FALSE(owner.count_votes(out));
  TEST_ASSERT_TRUE(out.messages.empty());
  owner.on_accepted({1, 1}, vote_for(next_by(0), {0, 0}));
  TEST_ASSERT_FALSE(owner.count_votes(out));  // two votes: it locks and says so
  TEST_ASSERT_EQUAL_UINT64(2, count<AcceptedBody>(out));
  TEST_ASSERT_TRUE(first<AcceptedBody>(out).locked);
  owner.on_accepted({1, 1}, vote_for(next_by(0), {0, 0}, true));
  TEST_ASSERT_TRUE(owner.count_votes(out));
  owner.decide();
  TEST_ASSERT_EQUAL_UINT32(2, owner.decided().version);
  TEST_ASSERT_TRUE(owner.voted_for() == nullptr);
}

TEST(votes_without_a_seat_for_another_ballot_or_for_another_value_do_not_count) {
  Ballots owner = keeper(0);
  owner.use_round_zero();
  Out out;
  owner.start_accepting(next_by(0), kStart, out);
  owner.on_accepted({8, 1}, vote_for(next_by(0), {0, 0}, true));
  owner.on_accepted({1, 2}, vote_for(next_by(0), {0, 0}, true));
  owner.on_accepted({2, 1}, vote_for(next_by(0, 9), {0, 0}, true));
  owner.on_accepted({1, 1}, vote_for(next_by(0), {1, 2}, true));
  out.clear();
  TEST_ASSERT_FALSE(owner.count_votes(out));
  TEST_ASSERT_TRUE(out.messages.empty());
}

TEST(of_four_keepers_three_decide_and_of_eight_five) {
  TEST_ASSERT_EQUAL_UINT64(1, votes_needed(1));
  TEST_ASSERT_EQUAL_UINT64(2, votes_needed(3));
  TEST_ASSERT_EQUAL_UINT64(3, votes_needed(4));
  TEST_ASSERT_EQUAL_UINT64(4, votes_needed(6));
  TEST_ASSERT_EQUAL_UINT64(5, votes_needed(8));
  for (std::size_t n = 4; n <= kKeepersMax; ++n) {
    // Two quorums have more keepers in common than can lie.
    TEST_ASSERT_TRUE(2 * votes_needed(n) > n + kLiarsMax);
  }
  TEST_ASSERT_EQUAL_UINT64(1, keepers_for(2));
  TEST_ASSERT_EQUAL_UINT64(3, keepers_for(3));
  TEST_ASSERT_EQUAL_UINT64(4, keepers_for(5));
  TEST_ASSERT_EQUAL_UINT64(6, keepers_for(7));
  TEST_ASSERT_EQUAL_UINT64(8, keepers_for(100));
}

TEST(an_owner_that_proposes_two_values_gets_neither_through) {
  std::vector<Ballots> honest = {keeper(1, 4), keeper(2, 4), keeper(3, 4)};
  const Ballot zero{0, 0};
  Out out;
  // One value to keeper 1, another one to keepers 2 and 3; the liar votes for both.
  const Register a = next_by(0, 1, 4);
  const Register b = next_by(0, 2, 4);
  TEST_ASSERT_TRUE(honest[0].on_accept({0, 1}, {zero, a}, always, kStart, out));
  TEST_ASSERT_TRUE(honest[1].on_accept({0, 1}, {zero, b}, always, kStart, out));
  TEST_ASSERT_TRUE(honest[2].on_accept({0, 1}, {zero, b}, always, kStart, out));
  TEST_ASSERT_FALSE(honest[0].on_accept({0, 1}, {zero, b}, always, kStart, out));
  for (NodeId from = 1; from <= 3; ++from) {
    for (Ballots& to : honest) to.on_accepted({from, 1}, vote_for(from == 1 ? a : b, zero));
  }
  honest[0].on_accepted({0, 1}, vote_for(a, zero, true));
  TEST_ASSERT_FALSE(honest[0].count_votes(out));
  // The liar tells keeper 2 that it is locked: two locks of three.
  honest[1].on_accepted({0, 1}, vote_for(b, zero, true));
  TEST_ASSERT_FALSE(honest[1].count_votes(out));
  TEST_ASSERT_EQUAL_UINT64(1, honest[0].equivocations());
}

TEST(a_voter_votes_only_for_what_is_justified_or_what_two_others_vouch_for) {
  Ballots voter = keeper(3, 4);
  const Ballot zero{0, 0};
  const Register value = next_by(0, 1, 4);
  Out out;
  TEST_ASSERT_FALSE(voter.on_accept({0, 1}, {zero, value}, never, kStart, out));
  TEST_ASSERT_TRUE(voter.voted_for() == nullptr);
  voter.on_accepted({1, 1}, vote_for(value, zero));
  TEST_ASSERT_TRUE(voter.on_accept({0, 1}, {zero, value}, never, kStart, out));
  TEST_ASSERT_TRUE(voter.voted_for() != nullptr);
}

TEST(only_the_owner_may_propose_in_round_zero) {
  Ballots voter = keeper(2);
  Out out;
  TEST_ASSERT_FALSE(voter.on_accept({1, 1}, {{0, 1}, next_by(1)}, always, kStart, out));
  TEST_ASSERT_TRUE(out.messages.empty());
  TEST_ASSERT_TRUE(voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, always, kStart, out));
  TEST_ASSERT_EQUAL_UINT32(2, first<AcceptedBody>(out).version);
}

TEST(a_voter_refuses_every_ballot_below_its_promise_and_any_round_out_of_reach) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({1, 1}, {2, {3, 1}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(2, count<PromiseBody>(out));  // every keeper hears of it
  TEST_ASSERT_TRUE(first<PromiseBody>(out).locked.empty());
  out.clear();
  voter.on_prepare({0, 1}, {2, {2, 0}}, kStart, out);
  TEST_ASSERT_TRUE((first<RefusedBody>(out).promised == Ballot{3, 1}));
  out.clear();
  TEST_ASSERT_FALSE(voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, always, kStart, out));
  TEST_ASSERT_TRUE((first<RefusedBody>(out).promised == Ballot{3, 1}));
  out.clear();
  voter.on_prepare({0, 1}, {2, {kCountMax, 0}}, kStart, out);
  TEST_ASSERT_TRUE((first<RefusedBody>(out).promised == Ballot{3, 1}));
  TEST_ASSERT_TRUE(voter.voted_for() == nullptr);
}

TEST(one_keeper_that_names_a_huge_round_does_not_drive_the_others_there) {
  Ballots proposer = keeper(1, 4);
  Out out;
  proposer.on_refused({3, 1}, {2, {kCountMax, 3}}, kStart);
  proposer.prepare(kStart, out);
  TEST_ASSERT_TRUE(first<PrepareBody>(out).ballot.round <= kRoundStep / 2 + 1);
  Ballots other = keeper(2, 4);
  out.clear();
  other.on_prepare({1, 1}, {2, {kRoundStep / 2 + 1, 1}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(3, count<PromiseBody>(out));
}

TEST(a_promise_holds_for_later_versions_until_the_keepers_change) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({1, 1}, {2, {3, 1}}, kStart, out);
  voter.adopt(next_by(0));
  out.clear();
  voter.on_prepare({0, 1}, {3, {2, 0}}, kStart, out);
  TEST_ASSERT_TRUE((first<RefusedBody>(out).promised == Ballot{3, 1}));
  Register smaller = next_by(0);
  smaller.version = 3;
  smaller.keepers = {{0, 1}, {2, 1}, {4, 1}};
  voter.adopt(smaller);
  out.clear();
  voter.on_prepare({0, 1}, {4, {1, 0}}, kStart, out);
  TEST_ASSERT_TRUE((first<PromiseBody>(out).ballot == Ballot{1, 0}));
}

TEST(a_proposer_must_propose_what_an_earlier_round_may_have_decided) {
  Ballots taker = keeper(1);
  Out out;
  taker.prepare(kStart, out);
  TEST_ASSERT_EQUAL_UINT64(2, count<PrepareBody>(out));
  TEST_ASSERT_FALSE(taker.choice().has_value());
  const Ballot own{1, 1};
  const Register value = next_by(0, 5);
  TEST_ASSERT_FALSE(
      taker.on_promise({2, 1}, {2, {9, 9}, {}, 0, {}}, kStart, out));  // of another round
  TEST_ASSERT_TRUE(
      taker.on_promise({2, 1}, {2, own, {0, 0}, digest_of(value), {value}}, kStart, out));
  const auto choice = taker.choice();
  TEST_ASSERT_TRUE(choice.has_value() && !choice->free);
  TEST_ASSERT_TRUE(*taker.offered(choice->digest) == value);
}

// A value that four keepers have decided was locked by three: two honest ones tell it. One that a
// liar makes up is told by the liar alone.
TEST(what_one_keeper_says_it_is_locked_on_does_not_outweigh_what_others_say) {
  Ballots taker = keeper(1, 4);
  Out out;
  taker.prepare(kStart, out);
  const Ballot own{1, 1};
  const Register real = next_by(0, 5, 4);
  const Register made_up = next_by(3, 8, 4);
  taker.on_promise({2, 1}, {2, own, {0, 0}, digest_of(real), {real}}, kStart, out);
  taker.on_promise({3, 1}, {2, own, {0, 3}, digest_of(made_up), {made_up}}, kStart, out);
  TEST_ASSERT_FALSE(taker.choice().has_value());  // they contradict each other: wait
  taker.on_promise({0, 1}, {2, own, {0, 0}, digest_of(real), {real}}, kStart, out);
  TEST_ASSERT_TRUE(taker.choice().has_value());
  TEST_ASSERT_EQUAL_HEX64(digest_of(real), taker.choice()->digest);
  TEST_ASSERT_TRUE(taker.choice()->vouched);
}

TEST(a_keeper_that_knows_the_version_supports_it_in_the_ballots_of_others) {
  Ballots knowing = keeper(0, 4);
  const Register value = next_by(0, 5, 4);
  knowing.adopt(value);
  Out out;
  const Ballot ballot{7, 1};
  knowing.on_prepare({1, 1}, {2, ballot}, kStart, out);
  const PromiseBody promise = first<PromiseBody>(out);
  TEST_ASSERT_TRUE(promise.ballot == ballot && promise.locked_at == ballot);
  TEST_ASSERT_TRUE(promise.locked.front() == value);
  TEST_ASSERT_TRUE(first<AcceptedBody>(out).decided);
  TEST_ASSERT_EQUAL_HEX64(digest_of(value), first<AcceptedBody>(out).digest);
  // Support is not answered by support, nor is whoever was no keeper.
  out.clear();
  knowing.on_promise({1, 1}, promise, kStart, out);
  knowing.on_promise({9, 1}, {2, ballot, {}, 0, {}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(0, out.messages.size());
  // One of them that has missed more is told the version before.
  knowing.tell_version_before({2, 1}, 0, kStart, out);
  TEST_ASSERT_EQUAL_UINT32(1, first<DecidedBody>(out).value.version);
  out.clear();
  knowing.tell_version_before({2, 1}, 1, kStart, out);
  knowing.tell_version_before({2, 1}, 0, kStart + 60 * kSecond, out);
  TEST_ASSERT_EQUAL_UINT64(0, out.messages.size());
}

TEST(a_version_decided_with_support_gives_no_floor_for_the_next) {
  for (const bool supported : {false, true}) {
    Ballots taker = keeper(1);
    Out out;
    taker.prepare(kStart, out);
    const Ballot own{1, 1};
    const Register value = next_by(0, 5);
    const std::uint64_t digest = digest_of(value);
    taker.on_promise({0, 1}, {2, own, supported ? own : Ballot{0, 0}, digest, {value}}, kStart,
                     out);
    taker.start_accepting(value, kStart, out);
    taker.on_accepted({0, 1}, {2, own, digest, true, supported});
    TEST_ASSERT_TRUE(taker.count_votes(out));
    taker.decide();
    TEST_ASSERT_EQUAL(!supported, taker.has_floor());
  }
}

TEST(three_keepers_of_four_that_are_locked_on_nothing_leave_the_proposer_free) {
  Ballots taker = keeper(1, 4);
  Out out;
  taker.prepare(kStart, out);
  const Ballot own{1, 1};
  const Register made_up = next_by(3, 8, 4);
  taker.on_promise({3, 1}, {2, own, {0, 3}, digest_of(made_up), {made_up}}, kStart, out);
  taker.on_promise({2, 1}, {2, own, {}, 0, {}}, kStart, out);
  TEST_ASSERT_TRUE(taker.choice().has_value() && !taker.choice()->free);
  TEST_ASSERT_FALSE(taker.choice()->vouched);
  taker.on_promise({0, 1}, {2, own, {}, 0, {}}, kStart, out);
  TEST_ASSERT_TRUE(taker.choice()->free);
}

// The lock of one keeper may be made up, and what justified the value may be gone. Two that tell
// that they have voted for it are not both lying.
TEST(one_lock_binds_whoever_hears_two_votes_for_the_same_value) {
  const Register value = next_by(0, 1, 4);
  const Ballot own{1, 1};
  const CastVote vote{{0, 0}, digest_of(value)};
  for (const bool two : {false, true}) {
    Ballots taker = keeper(1, 4);
    Out out;
    taker.prepare(kStart, out);
    taker.on_promise({3, 1}, {2, own, {0, 0}, digest_of(value), {value}, {vote}}, kStart, out);
    taker.on_promise({2, 1}, {2, own, {}, 0, {}, {}}, kStart, out);
    if (two) taker.on_promise({2, 1}, {2, own, {}, 0, {}, {vote}}, kStart, out);
    TEST_ASSERT_TRUE(taker.choice().has_value() && !taker.choice()->free);
    TEST_ASSERT_EQUAL(two, taker.choice()->vouched);
  }
}

// A vote in an earlier ballot than the lock says nothing about it.
TEST(votes_cast_before_the_lock_do_not_vouch_for_it) {
  const Register value = next_by(0, 1, 4);
  const Ballot own{9, 1};
  const CastVote early{{0, 0}, digest_of(value)};
  Ballots taker = keeper(1, 4);
  Out out;
  taker.on_prepare({2, 1}, {2, {8, 2}}, kStart, out);
  taker.prepare(kStart, out);
  taker.on_promise({3, 1}, {2, own, {5, 3}, digest_of(value), {value}, {early}}, kStart, out);
  taker.on_promise({2, 1}, {2, own, {}, 0, {}, {early}}, kStart, out);
  TEST_ASSERT_TRUE(taker.choice().has_value() && !taker.choice()->vouched);
}

// Two keepers may be locked on different values of different ballots: the later one is proposed.
TEST(of_two_locks_the_later_counts_if_its_votes_are_told) {
  const Register first = next_by(0, 1, 6);
  const Register second = next_by(2, 2, 6);
  const Ballot own{9, 1};
  Ballots taker = keeper(1, 6);
  Out out;
  taker.on_prepare({2, 1}, {2, {8, 2}}, kStart, out);
  taker.prepare(kStart, out);
  taker.on_promise({5, 1}, {2, own, {1, 1}, digest_of(first), {first}, {}}, kStart, out);
  taker.on_promise({2, 1}, {2, own, {2, 2}, digest_of(second), {second}, {}}, kStart, out);
  taker.on_promise({4, 1}, {2, own, {}, 0, {}, {}}, kStart, out);
  TEST_ASSERT_FALSE(taker.choice().has_value());
  const CastVote vote{{2, 2}, digest_of(second)};
  taker.on_promise({4, 1}, {2, own, {}, 0, {}, {vote}}, kStart, out);
  TEST_ASSERT_TRUE(taker.choice().has_value());
  TEST_ASSERT_TRUE(taker.choice()->vouched);
  TEST_ASSERT_EQUAL_UINT64(digest_of(second), taker.choice()->digest);
}

TEST(a_keeper_tells_in_its_promise_what_it_has_voted_for_and_votes_for_what_others_vouch_for) {
  Ballots voter = keeper(3, 4);
  Out out;
  const Register value = next_by(0, 1, 4);
  voter.on_accept({0, 1}, {{0, 0}, value}, always, kStart, out);
  out.clear();
  const Ballot later{1, 1};
  voter.on_prepare({1, 1}, {2, later}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(1, first<PromiseBody>(out).votes.size());
  TEST_ASSERT_EQUAL_UINT64(digest_of(value), first<PromiseBody>(out).votes.front().digest);

  // Another one has never voted for it, and finds it justified no more.
  Ballots other = keeper(2, 4);
  out.clear();
  const CastVote vote{{0, 0}, digest_of(value)};
  other.on_prepare({1, 1}, {2, later}, kStart, out);
  other.on_promise({1, 1}, {2, later, {0, 0}, digest_of(value), {}, {vote}}, kStart, out);
  TEST_ASSERT_FALSE(other.on_accept({1, 1}, {later, value}, never, kStart, out));
  other.on_promise({3, 1}, {2, later, {}, 0, {}, {vote}}, kStart, out);
  TEST_ASSERT_TRUE(other.on_accept({1, 1}, {later, value}, never, kStart, out));
}

// The only keeper of version 2 has gone on to version 4, which has three keepers again.
TEST(an_only_keeper_supports_the_version_that_made_it_that) {
  Ballots one = keeper(1);
  Register bridge = next_by(1);
  bridge.keepers = {{1, 1}};
  Register later = bridge;
  later.version = 3;
  Register with_others = later;
  with_others.version = 4;
  with_others.keepers = {{1, 1}, {2, 1}, {3, 1}};
  one.adopt(bridge);
  one.adopt(later);
  one.adopt(with_others);
  Out out;
  const Ballot asked{5, 2};
  one.on_prepare({2, 1}, {2, asked}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(digest_of(bridge), first<PromiseBody>(out).digest);
  TEST_ASSERT_TRUE(first<PromiseBody>(out).locked.front() == bridge);
  TEST_ASSERT_EQUAL_UINT32(4, first<DecidedBody>(out).value.version);
  TEST_ASSERT_TRUE(first<AcceptedBody>(out).decided);

  // Keeper 2 had voted for it: with the only keeper's support that is a quorum.
  Ballots behind = keeper(2);
  behind.on_accept({1, 1}, {{1, 1}, bridge}, always, kStart, out);
  behind.prepare(kStart, out);
  const Ballot own{2, 2};
  behind.on_promise({1, 1}, {2, own, own, digest_of(bridge), {bridge}, {}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(digest_of(bridge), behind.choice()->digest);
  behind.start_accepting(bridge, kStart, out);
  behind.on_accepted({1, 1}, {2, own, digest_of(bridge), true, true});
  TEST_ASSERT_TRUE(behind.count_votes(out));
  behind.decide();
  TEST_ASSERT_EQUAL_UINT32(2, behind.decided().version);
}

TEST(whoever_has_promised_a_later_ballot_locks_in_no_earlier_one) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, always, kStart, out);
  voter.on_prepare({1, 1}, {2, {1, 1}}, kStart, out);
  voter.on_accepted({1, 1}, vote_for(next_by(0), {0, 0}));
  out.clear();
  TEST_ASSERT_FALSE(voter.count_votes(out));
  TEST_ASSERT_TRUE(out.messages.empty());
}

TEST(whoever_decided_after_a_first_phase_keeps_the_floor) {
  Ballots taker = keeper(1);
  Out out;
  taker.prepare(kStart, out);
  taker.on_promise({2, 1}, {2, {1, 1}, {}, 0, {}}, kStart, out);
  taker.start_accepting(next_by(1), kStart, out);
  taker.on_accepted({2, 1}, vote_for(next_by(1), {1, 1}, true));
  TEST_ASSERT_TRUE(taker.count_votes(out));
  taker.decide();
  TEST_ASSERT_TRUE(taker.has_floor());
}

TEST(keepers_take_turns_in_the_order_of_their_seats_without_those_that_are_gone) {
  const auto owner_gone = [](const Account& a) { return a.node == 0; };
  TEST_ASSERT_EQUAL_UINT32(0, keeper(1).next_proposer(nobody).node);
  TEST_ASSERT_EQUAL_UINT32(1, keeper(1).next_proposer(owner_gone).node);
  Ballots second = keeper(2);
  second.note_needed(kStart);
  TEST_ASSERT_FALSE(second.is_my_turn(kStart + 2 * kRankTicks * kSecond - 1, nobody));
  TEST_ASSERT_TRUE(second.is_my_turn(kStart + 2 * kRankTicks * kSecond, nobody));
  TEST_ASSERT_TRUE(second.is_my_turn(kStart + kRankTicks * kSecond, owner_gone));
  TEST_ASSERT_FALSE(keeper(1).should_take_over(nobody));
  TEST_ASSERT_TRUE(keeper(1).should_take_over(owner_gone));
  TEST_ASSERT_FALSE(second.should_take_over(owner_gone));
}

TEST(a_round_is_repeated_every_tick_twice_when_late_and_given_up_in_the_end) {
  Ballots taker = keeper(1);
  TEST_ASSERT_FALSE(taker.has_floor());
  Out out;
  TEST_ASSERT_FALSE(taker.pursue(kStart, out));  // no round is under way
  taker.prepare(kStart, out);
  out.clear();
  TEST_ASSERT_TRUE(taker.pursue(kStart + kSecond, out));
  TEST_ASSERT_EQUAL_UINT64(2, count<PrepareBody>(out));
  out.clear();
  TEST_ASSERT_TRUE(taker.pursue(kStart + (kTwiceTicks + 1) * kSecond, out));
  TEST_ASSERT_EQUAL_UINT64(4, count<PrepareBody>(out));
  out.clear();
  TEST_ASSERT_TRUE(taker.pursue(kStart + (kRoundTicks + 1) * kSecond, out));
  TEST_ASSERT_TRUE(out.messages.empty());
  TEST_ASSERT_FALSE(taker.pursue(kStart + (kRoundTicks + 2) * kSecond, out));
}

TEST(a_voter_passes_an_undecided_proposal_on_to_those_that_have_not_voted) {
  Ballots voter = keeper(2, 6);
  Out out;
  voter.on_accept({0, 1}, {{0, 0}, next_by(0, 1, 6)}, always, kStart, out);
  TEST_ASSERT_EQUAL_UINT64(5, count<AcceptedBody>(out));
  voter.pursue(kStart, out);
  out.clear();
  voter.pass_on(kStart + (kPassOnTicks - 1) * kSecond, out);
  TEST_ASSERT_TRUE(out.messages.empty());
  voter.pass_on(kStart + kPassOnTicks * kSecond, out);
  TEST_ASSERT_EQUAL_UINT64(4, count<AcceptBody>(out));  // not to the owner, which has voted
}

TEST(messages_about_another_version_are_answered_with_what_is_missing) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({0, 1}, {1, {1, 0}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT32(1, first<DecidedBody>(out).value.version);
  out.clear();
  voter.on_prepare({0, 1}, {5, {1, 0}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT32(1, first<RequestBody>(out).version);
}

TEST(a_keeper_that_left_has_handed_over_once_a_quorum_has_its_version) {
  Ballots left = keeper(0);
  Out out;
  left.hand_over(out);
  TEST_ASSERT_EQUAL_UINT64(3, count<DecidedBody>(out));
  left.on_receipt({1, 1}, 0);  // an older version
  left.on_receipt({1, 1}, 1);
  TEST_ASSERT_FALSE(left.handed_over());
  left.on_receipt({2, 1}, 1);
  TEST_ASSERT_TRUE(left.handed_over());
}
