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

}  // namespace

TEST(an_end_of_an_edge_may_grant_an_equal_share_and_a_node_ten_of_them) {
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, tie_limit(1));
  TEST_ASSERT_EQUAL_INT64(kWhole / 5, tie_limit(5));
  TEST_ASSERT_EQUAL_INT64(kWhole / 12, tie_limit(9));
  TEST_ASSERT_EQUAL_INT64(kWhole / 12, tie_limit(12));
  TEST_ASSERT_EQUAL_INT64(kWhole / 16, tie_limit(13));
  TEST_ASSERT_EQUAL_INT64(kWhole / 24, tie_limit(17));
  TEST_ASSERT_EQUAL_INT64(kWhole / 128, tie_limit(100));
  TEST_ASSERT_EQUAL_INT64(kWhole, allowance(8));
  TEST_ASSERT_EQUAL_INT64(kWhole / 12 * 10, allowance(9));
  TEST_ASSERT_EQUAL_INT64(kWhole / 128 * 10, allowance(100));
  for (const NodeId boards : {2U, 3U, 5U, 8U, 20U, 100U}) {
    const Register r = fleet_of(boards);
    for (const Entry& e : r.entries) {
      TEST_ASSERT_TRUE(credit_used(r, e.account.node) <= allowance(boards));
    }
  }
}

TEST(edges_that_are_closed_and_opened_again_bring_no_new_credit) {
  for (const NodeId boards : {5U, 20U}) {
    Register r = fleet_of(boards);
    const Account liar{0, 1};
    for (int again = 0; again < 6; ++again) {
      r = overdrawn_and_reopened(r, liar);
      const Parts debt = std::max<Parts>(0, -r.find(liar)->base[0]);
      TEST_ASSERT_TRUE(debt + limits_of(r, liar) <= allowance(boards));
    }
    TEST_ASSERT_EQUAL_INT64(allowance(boards), -r.find(liar)->base[0]);
    TEST_ASSERT_EQUAL_INT64(0, limits_of(r, liar));
    // Its neighbours can still give to it: their own limits are as before.
    for (const Tie& t : r.find(liar)->ties) {
      TEST_ASSERT_TRUE(r.find(t.peer)->tie_to(liar)->limit > 0);
    }
  }
}

TEST(a_new_incarnation_inherits_the_debts_of_its_node) {
  Register r = fleet_of(5);
  for (int again = 0; again < 4; ++again) r = overdrawn_and_reopened(r, {0, 1});
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
  TEST_ASSERT_EQUAL_INT64(kWhole, r.debt_of(0));
  TEST_ASSERT_EQUAL_INT64(0, limits_of(r, {0, 2}));
}

TEST(an_account_that_leaves_what_it_holds_leaves_no_debt) {
  const Register r = fleet_of(5);
  RegisterEdit edit(r);
  for (const Tie& t : r.find(Account{0, 1})->ties) {
    // It has granted to one and received from another.
    const Parts parts = t.peer.node == 1 ? kWhole / 5 : t.peer.node == 2 ? -kWhole / 10 : 0;
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
  TEST_ASSERT_TRUE(credit_used(r, 0) <= allowance(7));
  RegisterEdit edit(r);
  edit.close({0, 1}, {{1, 1}, 0, {}, {}});
  r = edit.finish({0, 1});
  TEST_ASSERT_TRUE(r.find(Account{0, 1})->tie_to({6, 1})->limit > kWhole / 8);
  TEST_ASSERT_TRUE(credit_used(r, 0) <= allowance(7));
  TEST_ASSERT_TRUE(r.find(Account{6, 1})->changed == r.version);  // it has to hear of that
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
