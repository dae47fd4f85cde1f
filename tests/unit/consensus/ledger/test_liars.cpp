// What one member that lies, or a counter near its end, cannot do to the ledgers of the others.
#include "consensus/credit.hpp"
#include "tests/unit/consensus/ledger_bench.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

// The statement with which one member once took the whole budget for good.
StatementBody everything_is_yours(const Account& liar) {
  StatementBody s;
  s.version = UINT32_MAX;
  s.incarnation = 1;
  s.living = 1;
  s.base = {kWhole, kWhole, kWhole};
  s.keepers = {liar};
  return s;
}

bool anybody_fenced(const Bench& b, NodeId liar) {
  for (NodeId i = 0; i < b.ledgers.size(); ++i) {
    if (i != liar && (b.ledgers[i].fenced(b.now) || !b.ledgers[i].entered())) return true;
  }
  return false;
}

}  // namespace

TEST(a_statement_of_one_member_changes_nothing_whoever_it_is) {
  for (const NodeId liar : {NodeId{0}, NodeId{4}}) {
    Bench b(5);
    b.ticks(20);
    Out out;
    for (NodeId to = 0; to < 5; ++to) {
      if (to == liar) continue;
      const Message lie{1, 1, everything_is_yours({liar, 1})};
      for (int again = 0; again < 3; ++again) b.ledgers[to].on_message(liar, lie, b.now, out);
    }
    b.ticks(60);
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
    TEST_ASSERT_FALSE(anybody_fenced(b, liar));
    for (const Ledger& l : b.ledgers) TEST_ASSERT_TRUE(l.base()[0] <= kWhole / 4);
  }
}

TEST(a_statement_counts_once_a_majority_of_the_keepers_says_it) {
  Bench b(5);
  b.ticks(20);
  const Shares before = b.ledgers[4].base();
  StatementBody s = everything_is_yours({0, 1});
  s.living = 5;
  s.quorum = 1;
  s.base = {7, 7, 7};
  s.version = 2;
  s.keepers = b.ledgers[0].registered().keepers;
  Out out;
  // Four keepers: three have to agree; the fifth board has no seat and does not count.
  for (const NodeId keeper : {0U, 1U}) b.ledgers[4].on_message(keeper, {1, 1, s}, b.now, out);
  TEST_ASSERT_EQUAL_INT64(before[0], b.ledgers[4].base()[0]);
  b.ledgers[4].on_message(2, {1, 1, s}, b.now, out);
  TEST_ASSERT_EQUAL_INT64(7, b.ledgers[4].base()[0]);
}

TEST(a_register_that_one_member_calls_decided_is_not_adopted) {
  Bench b(5);
  b.ticks(20);
  Register mine = b.ledgers[1].registered();
  const std::uint32_t version = mine.version;
  mine.version = version + 1;
  for (Entry& e : mine.entries) e.base = {};
  mine.entries[0].base = {kWhole, kWhole, kWhole};
  Out out;
  for (NodeId to = 1; to < 5; ++to) {
    b.ledgers[to].on_message(0, Message{1, 1, DecidedBody{mine}}, b.now, out);
    b.ledgers[to].on_message(0, Message{1, 1, DecidedBody{mine}}, b.now, out);
  }
  TEST_ASSERT_EQUAL_UINT32(version, b.ledgers[1].registered().version);
  // A second member that says the same would be believed: it cannot be lying as well.
  b.ledgers[1].on_message(3, Message{1, 1, DecidedBody{mine}}, b.now, out);
  TEST_ASSERT_EQUAL_UINT32(version + 1, b.ledgers[1].registered().version);
}

TEST(a_register_that_does_not_make_the_whole_is_refused_and_counted) {
  Bench b(5);
  b.ticks(20);
  Register more = b.ledgers[1].registered();
  more.version += 1;
  more.entries[0].base[0] += 1;
  Out out;
  b.ledgers[1].on_message(0, Message{1, 1, DecidedBody{more}}, b.now, out);
  b.ledgers[1].on_message(2, Message{1, 1, DecidedBody{more}}, b.now, out);
  TEST_ASSERT_TRUE(b.ledgers[1].registered().version < more.version);
  TEST_ASSERT_EQUAL_UINT64(2, b.ledgers[1].refusals().of(Refusal::kRegister));
}

TEST(nobody_leaves_a_working_register_for_another_founding) {
  for (const Epoch epoch : {Epoch{0xFFFF'FFFF}, Epoch{kCountMax}, Epoch{2}}) {
    Bench b(5);
    b.ticks(20);
    Out out;
    for (NodeId to = 0; to < 4; ++to) {
      b.ledgers[to].on_message(4, Message{epoch, 1, ReferBody{9, {{4, 1}}}}, b.now, out);
      b.ledgers[to].on_message(4, Message{1, 1, FoundBody{epoch, {}}}, b.now, out);
      b.ledgers[to].on_message(4, Message{1, 1, FoundAckBody{epoch, true}}, b.now, out);
    }
    b.ticks(5);
    TEST_ASSERT_FALSE(anybody_fenced(b, 4));
    for (const Ledger& l : b.ledgers) TEST_ASSERT_EQUAL_UINT64(1, l.founding_epoch());
  }
}

TEST(the_lowest_member_cannot_found_over_boards_that_are_at_work) {
  Bench b(5);
  b.ticks(20);
  const std::vector<Account> all = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
  for (int again = 0; again < 30; ++again) {
    Out out;
    for (NodeId to = 1; to < 5; ++to) {
      b.ledgers[to].on_message(0, Message{1, 1, FoundBody{6, all}}, b.now, out);
      b.post(to, out);
    }
    b.tick();
    TEST_ASSERT_FALSE(anybody_fenced(b, 0));
  }
}

TEST(a_board_outside_follows_two_members_and_not_one) {
  Bench b(5);
  b.ticks(20);
  b.restart_without_journal(4);
  Out out;
  b.ledgers[4].on_message(0, Message{99, 1, ReferBody{9, {{0, 1}}}}, b.now, out);
  TEST_ASSERT_TRUE(b.ledgers[4].founding_epoch() != 99);
  b.ledgers[4].on_message(1, Message{99, 1, ReferBody{9, {{0, 1}}}}, b.now, out);
  TEST_ASSERT_EQUAL_UINT64(99, b.ledgers[4].founding_epoch());
}

// A neighbour that grants what it does not have can overstate the limits of its edges.
TEST(what_a_neighbour_claims_to_have_granted_counts_up_to_the_limit_of_the_edge) {
  Bench b(5);
  b.ticks(20);
  Out out;
  for (std::uint32_t again = 1; again <= 60; ++again) {
    EdgeBody claim;
    claim.seq = 1000 + again;
    claim.sent_absolute = true;
    claim.sent = {again * (kWhole / 64), again * (kWhole / 64), again * (kWhole / 64)};
    for (NodeId to = 1; to < 5; ++to) {
      b.ledgers[to].on_message(0, Message{1, 0, claim}, b.now, out);
    }
  }
  Parts honest = 0;
  for (NodeId to = 1; to < 5; ++to) honest += b.ledgers[to].holding()[0];
  TEST_ASSERT_TRUE(honest > kWhole);
  TEST_ASSERT_TRUE(honest <= kWhole + allowance(5));
}

// Incarnations after a reboot are seconds since 2020: the sum of twenty passes 2^32.
TEST(twenty_boards_that_were_all_rebooted_found_their_fleet) {
  Bench b(20);
  b.ledgers.clear();
  for (NodeId i = 0; i < 20; ++i) {
    b.ledgers.emplace_back(b.config, i, 220'000'000 + i, b.graph, b.graph, b.now);
  }
  b.ticks(400);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
  const Epoch sum = 1 + 20ULL * 220'000'000 + 190;
  TEST_ASSERT_TRUE(sum > UINT32_MAX);
  for (const Ledger& l : b.ledgers) TEST_ASSERT_EQUAL_UINT64(sum, l.founding_epoch());
}

// Twelve boards lose power first and the others a day later: the second founding has a number above
// the first.
TEST(a_fleet_is_founded_anew_after_two_power_cuts) {
  Bench b(20);
  b.ledgers.clear();
  for (NodeId i = 0; i < 20; ++i) {
    b.ledgers.emplace_back(b.config, i, 220'000'000, b.graph, b.graph, b.now);
  }
  b.ticks(400);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
  const Epoch before = b.ledgers[0].founding_epoch();
  for (NodeId i = 0; i < 12; ++i) {
    b.ledgers[i] = Ledger(b.config, i, 220'086'400, b.graph, b.graph, b.now);
  }
  b.ticks(900);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
  TEST_ASSERT_TRUE(b.ledgers[0].founding_epoch() > before);
}

TEST(an_edge_whose_sequence_ends_is_opened_anew) {
  Bench b(3);
  b.ledgers.clear();
  b.config.counters.seq = kSeqMax - 30;
  for (NodeId i = 0; i < 3; ++i) b.ledgers.emplace_back(b.config, i, 1, b.graph, b.graph, b.now);
  b.ticks(30);
  TEST_ASSERT_TRUE(b.ledgers[0].edges().front().seq > kSeqMax - 30);
  b.ticks(150);
  TEST_ASSERT_EQUAL_UINT32(3, b.ledgers[0].registered().edges_opened);
  for (const Ledger& l : b.ledgers) {
    TEST_ASSERT_EQUAL_UINT64(2, l.edges().size());
    for (const Edge& e : l.edges()) TEST_ASSERT_TRUE(e.seq < 200);
  }
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
}

TEST(the_last_incarnation_stays_outside_when_it_is_declared_dead) {
  Bench b(3);
  b.ticks(10);
  b.ledgers[2] = Ledger(b.config, 2, kIncarnationMax, b.graph, b.graph, b.now);
  b.ticks(60);
  TEST_ASSERT_TRUE(b.ledgers[2].entered());
  b.silent[2] = true;
  b.ticks(150);
  b.silent[2] = false;
  b.ticks(100);
  TEST_ASSERT_EQUAL_UINT32(kIncarnationMax, b.ledgers[2].account().incarnation);
  TEST_ASSERT_EQUAL_INT64(0, b.ledgers[2].effective(b.now)[0]);
  TEST_ASSERT_TRUE(b.total(0) <= kWhole);
}
