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
  return {value.version, ballot, digest_of(value), locked};
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
  TEST_ASSERT_FALSE(taker.on_promise({2, 1}, {2, {9, 9}, {}, 0, {}}));  // of another round
  TEST_ASSERT_TRUE(taker.on_promise({2, 1}, {2, own, {0, 0}, digest_of(value), {value}}));
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
  taker.on_promise({2, 1}, {2, own, {0, 0}, digest_of(real), {real}});
  taker.on_promise({3, 1}, {2, own, {0, 3}, digest_of(made_up), {made_up}});
  TEST_ASSERT_FALSE(taker.choice().has_value());  // they contradict each other: wait
  taker.on_promise({0, 1}, {2, own, {0, 0}, digest_of(real), {real}});
  TEST_ASSERT_TRUE(taker.choice().has_value());
  TEST_ASSERT_EQUAL_HEX64(digest_of(real), taker.choice()->digest);
  TEST_ASSERT_TRUE(taker.choice()->vouched);
}

TEST(three_keepers_of_four_that_are_locked_on_nothing_leave_the_proposer_free) {
  Ballots taker = keeper(1, 4);
  Out out;
  taker.prepare(kStart, out);
  const Ballot own{1, 1};
  const Register made_up = next_by(3, 8, 4);
  taker.on_promise({3, 1}, {2, own, {0, 3}, digest_of(made_up), {made_up}});
  taker.on_promise({2, 1}, {2, own, {}, 0, {}});
  TEST_ASSERT_TRUE(taker.choice().has_value() && !taker.choice()->free);
  TEST_ASSERT_FALSE(taker.choice()->vouched);
  taker.on_promise({0, 1}, {2, own, {}, 0, {}});
  TEST_ASSERT_TRUE(taker.choice()->free);
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
  taker.on_promise({2, 1}, {2, {1, 1}, {}, 0, {}});
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
