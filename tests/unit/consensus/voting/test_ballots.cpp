#include "consensus/voting/ballots.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr TimeNs kStart = kDay;
constexpr std::uint32_t kEpoch = 7;

Register founding() {
  return founding_register(NeighbourGraph({0, 1, 2}), {{0, 1}, {1, 1}, {2, 1}});
}

// The next version as that keeper proposes it.
Register next_by(NodeId owner, Parts moved = 1) {
  Register r = founding();
  r.version = 2;
  r.owner = {owner, 1};
  r.entries[0].base[0] -= moved;
  r.entries[1].base[0] += moved;
  return r;
}

Ballots keeper(NodeId node) {
  Ballots b;
  b.configure(kSecond, kEpoch);
  b.begin({node, 1});
  b.adopt(founding());
  return b;
}

bool nobody(const Account&) { return false; }

template <class T>
std::size_t count(const Out& out) {
  std::size_t n = 0;
  for (const Outgoing& o : out.messages) n += std::holds_alternative<T>(o.message.body) ? 1 : 0;
  return n;
}

template <class T>
T only(const Out& out) {
  TEST_ASSERT_EQUAL_UINT64(1, out.messages.size());
  TEST_ASSERT_TRUE(std::holds_alternative<T>(out.messages[0].message.body));
  return std::get<T>(out.messages[0].message.body);
}

}  // namespace

TEST(the_owner_proposes_without_a_first_phase_and_one_more_vote_decides) {
  Ballots owner = keeper(0);
  TEST_ASSERT_TRUE(owner.may_use_round_zero());
  TEST_ASSERT_FALSE(keeper(1).may_use_round_zero());
  owner.use_round_zero();
  Out out;
  owner.start_accepting(next_by(0), kStart, out);
  TEST_ASSERT_EQUAL_UINT64(2, count<AcceptBody>(out));
  TEST_ASSERT_EQUAL_UINT32(kEpoch, out.messages[0].message.founding_epoch);
  TEST_ASSERT_FALSE(owner.voted_by_majority());
  owner.tally({0, 0}, {1, 1});
  TEST_ASSERT_TRUE(owner.voted_by_majority());
  owner.decide();
  TEST_ASSERT_EQUAL_UINT32(2, owner.decided().version);
  TEST_ASSERT_TRUE(owner.voted_for() == nullptr);
}

TEST(votes_of_accounts_without_a_seat_or_for_another_ballot_do_not_count) {
  Ballots owner = keeper(0);
  owner.use_round_zero();
  Out out;
  owner.start_accepting(next_by(0), kStart, out);
  owner.tally({0, 0}, {8, 1});
  owner.tally({0, 0}, {1, 2});
  TEST_ASSERT_FALSE(owner.voted_by_majority());
  owner.tally({1, 2}, {1, 1});
  TEST_ASSERT_FALSE(owner.voted_by_majority());
}

TEST(only_the_owner_may_propose_in_round_zero) {
  Ballots voter = keeper(2);
  Out out;
  TEST_ASSERT_FALSE(voter.on_accept({1, 1}, {{0, 1}, next_by(1)}, kStart, out));
  TEST_ASSERT_TRUE(out.messages.empty());
  TEST_ASSERT_TRUE(voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, kStart, out));
  TEST_ASSERT_EQUAL_UINT32(2, only<AcceptedBody>(out).version);
}

TEST(a_voter_refuses_every_ballot_below_its_promise) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({1, 1}, {2, {3, 1}}, kStart, out);
  TEST_ASSERT_TRUE(only<PromiseBody>(out).accepted.empty());
  out.clear();
  voter.on_prepare({0, 1}, {2, {2, 0}}, kStart, out);
  TEST_ASSERT_TRUE((only<RefusedBody>(out).promised == Ballot{3, 1}));
  out.clear();
  TEST_ASSERT_FALSE(voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, kStart, out));
  TEST_ASSERT_TRUE((only<RefusedBody>(out).promised == Ballot{3, 1}));
  TEST_ASSERT_TRUE(voter.voted_for() == nullptr);
}

TEST(a_promise_holds_for_later_versions_until_the_keepers_change) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({1, 1}, {2, {3, 1}}, kStart, out);
  voter.adopt(next_by(0));
  out.clear();
  voter.on_prepare({0, 1}, {3, {2, 0}}, kStart, out);
  TEST_ASSERT_TRUE((only<RefusedBody>(out).promised == Ballot{3, 1}));
  Register smaller = next_by(0);
  smaller.version = 3;
  smaller.keepers = {{0, 1}, {2, 1}, {4, 1}};
  voter.adopt(smaller);
  out.clear();
  voter.on_prepare({0, 1}, {4, {1, 0}}, kStart, out);
  TEST_ASSERT_TRUE((only<PromiseBody>(out).ballot == Ballot{1, 0}));
}

TEST(a_proposer_must_propose_what_an_earlier_round_may_have_decided) {
  Ballots taker = keeper(1);
  Out out;
  taker.prepare(kStart, out);
  TEST_ASSERT_EQUAL_UINT64(2, count<PrepareBody>(out));
  TEST_ASSERT_FALSE(taker.promised_by_majority());
  const Ballot own{1, 1};
  TEST_ASSERT_FALSE(taker.on_promise({2, 1}, {2, {9, 9}, {}, {}}));  // of another round
  TEST_ASSERT_TRUE(taker.on_promise({2, 1}, {2, own, {0, 0}, {next_by(0, 5)}}));
  TEST_ASSERT_TRUE(taker.promised_by_majority());
  TEST_ASSERT_TRUE(taker.must_propose() != nullptr);
  TEST_ASSERT_TRUE(*taker.must_propose() == next_by(0, 5));
}

TEST(whoever_decided_after_a_first_phase_keeps_the_floor) {
  Ballots taker = keeper(1);
  Out out;
  taker.prepare(kStart, out);
  taker.on_promise({2, 1}, {2, {1, 1}, {}, {}});
  taker.start_accepting(next_by(1), kStart, out);
  taker.tally({1, 1}, {2, 1});
  TEST_ASSERT_TRUE(taker.voted_by_majority());
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

TEST(a_voter_passes_an_undecided_proposal_on_and_tells_its_vote_to_those_that_voted) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_accept({0, 1}, {{0, 0}, next_by(0)}, kStart, out);
  // The proposal and two votes make a majority of three; a proposal of five keepers stays open.
  TEST_ASSERT_TRUE(voter.voted_by_majority());
  Register five =
      founding_register(NeighbourGraph({0, 1, 2, 3, 4}), {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}});
  Ballots one;
  one.configure(kSecond, kEpoch);
  one.begin({2, 1});
  one.adopt(five);
  Register next = five;
  next.version = 2;
  one.on_accept({0, 1}, {{0, 0}, next}, kStart, out);
  TEST_ASSERT_FALSE(one.voted_by_majority());
  one.pursue(kStart, out);
  out.clear();
  one.pass_on(kStart + (kPassOnTicks - 1) * kSecond, out);
  TEST_ASSERT_TRUE(out.messages.empty());
  one.pass_on(kStart + kPassOnTicks * kSecond, out);
  TEST_ASSERT_EQUAL_UINT64(3, count<AcceptBody>(out));
  TEST_ASSERT_EQUAL_UINT64(1, count<AcceptedBody>(out));
}

TEST(messages_about_another_version_are_answered_with_what_is_missing) {
  Ballots voter = keeper(2);
  Out out;
  voter.on_prepare({0, 1}, {1, {1, 0}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT32(1, only<DecidedBody>(out).value.version);
  out.clear();
  voter.on_prepare({0, 1}, {5, {1, 0}}, kStart, out);
  TEST_ASSERT_EQUAL_UINT32(1, only<RequestBody>(out).version);
}

TEST(a_keeper_that_left_has_handed_over_once_a_majority_has_its_version) {
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
