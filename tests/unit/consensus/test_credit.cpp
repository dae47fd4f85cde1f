// What a node may have granted beyond what the register knows it to hold.
#include "consensus/credit.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

Register fleet_of(NodeId boards) {
  std::vector<NodeId> nodes;
  std::vector<Account> accounts;
  for (NodeId n = 0; n < boards; ++n) {
    nodes.push_back(n);
    accounts.push_back({n, 1});
  }
  return founding_register(NeighbourGraph(nodes), accounts);
}

Parts limits_of(const Register& r, const Account& account) {
  Parts sum = 0;
  for (const Tie& t : r.find(account)->ties) sum += t.limit;
  return sum;
}

// A closing with which `peer` says that it has received all that the limit of the other end allows.
Closing all_received(const Register& r, const Account& from, const Account& by) {
  const Tie* tie = r.find(from)->tie_to(by);
  return {from, tie->edge_number, {}, {tie->limit, tie->limit, tie->limit}};
}

// The account 0 overdraws all its edges; each neighbour closes, and the edges are opened again.
Register overdrawn_and_reopened(Register r, const Account& liar) {
  std::vector<Account> peers;
  for (const Tie& t : r.find(liar)->ties) peers.push_back(t.peer);
  RegisterEdit closing(r);
  for (const Account& peer : peers) {
    TEST_ASSERT_TRUE(closing.close(peer, all_received(r, liar, peer)));
  }
  r = closing.finish({1, 1});
  RegisterEdit opening(r);
  for (const Account& peer : peers) TEST_ASSERT_TRUE(opening.open(liar, peer));
  return opening.finish({1, 1});
}

// Closes the edge, over which the account granted that much to the peer, and opens it again.
Register granted(const Register& r, const Account& from, const Account& to, Parts parts) {
  RegisterEdit edit(r);
  const std::uint32_t number = r.find(from)->tie_to(to)->edge_number;
  TEST_ASSERT_TRUE(edit.renew(from, {to, number, {parts, parts, parts}, {}},
                              {from, number, {}, {parts, parts, parts}}));
  return edit.finish({1, 1});
}

}  // namespace

TEST(a_node_may_grant_its_base_and_two_equal_shares_and_half_a_share_over_an_edge) {
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, tie_limit(1));
  TEST_ASSERT_EQUAL_INT64(kWhole / 3, tie_limit(3));
  TEST_ASSERT_EQUAL_INT64(kWhole / 4 / 2, tie_limit(4));
  TEST_ASSERT_EQUAL_INT64(kWhole / 12 / 2, tie_limit(9));
  TEST_ASSERT_EQUAL_INT64(kWhole / 16 / 2, tie_limit(13));
  TEST_ASSERT_EQUAL_INT64(kWhole / 24 / 2, tie_limit(17));
  TEST_ASSERT_EQUAL_INT64(kWhole / 128 / 2, tie_limit(100));
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, allowance(2));
  TEST_ASSERT_EQUAL_INT64(kWhole / 3 * 2, allowance(3));
  TEST_ASSERT_EQUAL_INT64(kWhole / 8 * 3, allowance(4));
  TEST_ASSERT_EQUAL_INT64(kWhole / 5 * 2, allowance(5));
  TEST_ASSERT_EQUAL_INT64(kWhole / 100 * 2, allowance(100));
  for (const NodeId boards : {2U, 3U, 5U, 8U, 20U, 100U}) {
    const Register r = fleet_of(boards);
    for (const Entry& e : r.entries) {
      TEST_ASSERT_TRUE(credit_used(r, e.account.node) <= allowance(boards));
      TEST_ASSERT_TRUE(limits_of(r, e.account) >= e.base[0]);
    }
  }
}

TEST(credit_is_divided_evenly_and_in_few_steps) {
  const Parts most = tie_limit(20);
  TEST_ASSERT_EQUAL_INT64(most, even_limit(20, 9 * most, 8));
  TEST_ASSERT_EQUAL_INT64(most / 8 * 4, even_limit(20, 4 * most, 8));
  TEST_ASSERT_EQUAL_INT64(most / 8 * 3, even_limit(20, 4 * most - 80, 8));
  TEST_ASSERT_EQUAL_INT64(0, even_limit(20, 0, 8));
  TEST_ASSERT_EQUAL_INT64(0, even_limit(20, -most, 8));
  TEST_ASSERT_EQUAL_INT64(0, even_limit(20, most, 0));
}

TEST(edges_that_are_closed_and_opened_again_bring_no_new_credit) {
  for (const NodeId boards : {5U, 20U}) {
    Register r = fleet_of(boards);
    const Account liar{0, 1};
    for (int again = 0; again < 40; ++again) {
      r = overdrawn_and_reopened(r, liar);
      TEST_ASSERT_TRUE(limits_of(r, liar) - r.find(liar)->base[0] <= allowance(boards));
    }
    // Each time what is left of its credit was overdrawn, to the last step.
    const Parts left = allowance(boards) + r.find(liar)->base[0];
    TEST_ASSERT_TRUE(left >= 0 && left < tie_limit(boards));
    TEST_ASSERT_EQUAL_INT64(0, limits_of(r, liar));
    // Its neighbours can still give to it: they have limits of their own.
    for (const Tie& t : r.find(liar)->ties) {
      TEST_ASSERT_TRUE(r.find(t.peer)->tie_to(liar)->limit > 0);
    }
  }
}

TEST(a_new_incarnation_inherits_the_debts_of_its_node) {
  Register r = fleet_of(5);
  for (int again = 0; again < 20; ++again) r = overdrawn_and_reopened(r, {0, 1});
  const Parts debt = -r.find(Account{0, 1})->base[0];
  RegisterEdit returns(r);
  returns.enroll({0, 2}, {1, 2, 3, 4});
  r = returns.finish({1, 1});
  TEST_ASSERT_EQUAL_INT64(0, limits_of(r, {0, 2}));
  // The first account is settled: others have paid for it, and the node has no more credit.
  RegisterEdit settling(r);
  for (const Account& peer : {Account{1, 1}, Account{2, 1}, Account{3, 1}, Account{4, 1}}) {
    TEST_ASSERT_TRUE(
        settling.close(peer, {{0, 1}, r.find(peer)->tie_to({0, 1})->edge_number, {}, {}}));
  }
  settling.settle({1, 1});
  r = settling.finish({1, 1});
  TEST_ASSERT_TRUE(r.find(Account{0, 1}) == nullptr);
  TEST_ASSERT_EQUAL_INT64(debt, r.debt_of(0));
  TEST_ASSERT_EQUAL_INT64(0, limits_of(r, {0, 2}));
}

TEST(a_node_that_begins_anew_has_credit_once_its_earlier_account_is_settled) {
  Register r = fleet_of(5);
  RegisterEdit returns(r);
  returns.enroll({0, 2}, {1, 2, 3, 4});
  r = returns.finish({1, 1});
  // Until then its neighbours may still have counted up to the limits of the earlier one.
  TEST_ASSERT_EQUAL_INT64(0, limits_of(r, {0, 2}));
  RegisterEdit settling(r);
  for (const NodeId peer : {1U, 2U, 3U, 4U}) {
    TEST_ASSERT_TRUE(settling.close({peer, 1}, {{0, 1}, 0, {}, {}}));
  }
  settling.settle({1, 1});
  r = settling.finish({1, 1});
  TEST_ASSERT_EQUAL_INT64(allowance(5), limits_of(r, {0, 2}));
}

TEST(an_account_that_leaves_what_it_holds_leaves_no_debt) {
  const Register r = fleet_of(5);
  RegisterEdit edit(r);
  for (const Tie& t : r.find(Account{0, 1})->ties) {
    // It has granted to one and received from another.
    const Parts parts = t.peer.node == 1 ? kWhole / 10 : t.peer.node == 2 ? -kWhole / 10 : 0;
    edit.close(t.peer,
               {{0, 1}, 0, {std::max<Parts>(-parts, 0), 0, 0}, {std::max<Parts>(parts, 0), 0, 0}});
  }
  edit.declare_dead({0, 1}, true);
  edit.settle({1, 1});
  const Register next = edit.finish({1, 1});
  TEST_ASSERT_EQUAL_INT64(0, next.debt_of(0));
  TEST_ASSERT_TRUE(next.past({0, 1}));
}

TEST(a_limit_is_raised_when_another_edge_of_the_node_ends_and_never_lowered) {
  Register r = fleet_of(3);  // limits of a third, two edges each
  const auto join = [&](NodeId node) {
    RegisterEdit edit(r);
    std::vector<NodeId> others;
    for (const Entry& e : r.entries) others.push_back(e.account.node);
    edit.enroll({node, 1}, others);
    r = edit.finish({0, 1});
  };
  for (NodeId node = 3; node < 7; ++node) join(node);
  TEST_ASSERT_EQUAL_INT64(kWhole / 3, r.find(Account{0, 1})->tie_to({1, 1})->limit);
  TEST_ASSERT_EQUAL_INT64(0, r.find(Account{0, 1})->tie_to({6, 1})->limit);
  RegisterEdit edit(r);
  edit.close({0, 1}, {{1, 1}, 0, {}, {}});
  r = edit.finish({0, 1});
  TEST_ASSERT_TRUE(r.find(Account{0, 1})->tie_to({6, 1})->limit > 0);
  TEST_ASSERT_TRUE(credit_used(r, 0) <= allowance(7));
  TEST_ASSERT_TRUE(r.find(Account{6, 1})->changed == r.version);  // it has to hear of that
}

// What the account has given away is no base of its limits any more, and what it has received is.
TEST(limits_follow_the_base_when_an_edge_is_renewed) {
  const Register r = fleet_of(20);
  const Account giver = r.entries.front().account;
  const Account taker = r.find(giver)->ties.front().peer;
  Register next = r;
  for (int again = 0; again < 4; ++again) {
    next = granted(next, giver, taker, next.find(giver)->tie_to(taker)->limit);
  }
  TEST_ASSERT_TRUE(limits_of(next, giver) < limits_of(r, giver));
  TEST_ASSERT_TRUE(limits_of(next, giver) - next.find(giver)->base[0] <= allowance(20));
  TEST_ASSERT_TRUE(limits_of(next, taker) - next.find(taker)->base[0] <= allowance(20));
  TEST_ASSERT_TRUE(next.find(taker)->tie_to(giver)->limit >= r.find(taker)->tie_to(giver)->limit);
}

TEST(a_quorum_leaves_room_for_one_liar_from_four_accounts_on) {
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(2, 1));
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(3, 2));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(4, 3));
  TEST_ASSERT_EQUAL_UINT8(3, quorum_for(5, 4));
  TEST_ASSERT_EQUAL_UINT8(3, quorum_for(6, 5));
  TEST_ASSERT_EQUAL_UINT8(4, quorum_for(7, 6));
  TEST_ASSERT_EQUAL_UINT8(4, quorum_for(100, 8));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(100, 1));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(100, 3));
  TEST_ASSERT_EQUAL_UINT64(1, support_needed(1));
  TEST_ASSERT_EQUAL_UINT64(1, support_needed(2));
  TEST_ASSERT_EQUAL_UINT64(3, support_needed(4));
  // One crash fences nobody.
  for (std::size_t living = 3; living <= 8; ++living) {
    TEST_ASSERT_TRUE(quorum_for(living, living - 1) <= living - 2);
  }
}
