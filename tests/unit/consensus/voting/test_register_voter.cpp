#include "consensus/voting/register_voter.hpp"

#include "tests/unit/consensus/ledger_bench.hpp"

using namespace laird;
using namespace laird::consensus;

// Board 0 of ten has four neighbours, three of which die and stay members. Those that take their
// place have enough of their own, and must not drop it: it would be given to them again, for ever.
TEST(the_register_comes_to_rest_though_a_boards_own_neighbours_stay_away) {
  Bench b(10);
  b.ticks(20);
  const std::vector<NodeId> near = b.graph->neighbours(0);
  TEST_ASSERT_EQUAL_UINT64(4, near.size());
  for (std::size_t k = 0; k < 3; ++k) {
    b.silent[near[k]] = true;
    TEST_ASSERT_TRUE(b.wait_for_settlement(near[k], 100) < 100);
  }
  b.ticks(200);
  const std::uint32_t version = b.ledgers[0].registered().version;
  b.ticks(200);
  TEST_ASSERT_EQUAL_UINT32(version, b.ledgers[0].registered().version);
  TEST_ASSERT_TRUE(b.ledgers[0].edges().size() >= kNeighboursMin);
  Parts used = 0;
  for (NodeId i = 0; i < 10; ++i) used += b.silent[i] ? 0 : b.ledgers[i].effective(b.now)[0];
  TEST_ASSERT_EQUAL_INT64(kWhole, used);
}

TEST(a_board_that_leaves_hands_over_what_it_holds) {
  Bench b(5);
  for (std::size_t r = 0; r < kResources; ++r) b.ledgers[2].set_demand(r, wants(kWhole));
  b.ticks(100);
  TEST_ASSERT_TRUE(b.ledgers[2].effective(b.now)[0] > kWhole / 100 * 90);
  b.ledgers[2].leave();
  TEST_ASSERT_EQUAL_INT64(0, b.ledgers[2].effective(b.now)[0]);
  b.ticks(30);
  // Most of it is back at work long before the account is closed.
  TEST_ASSERT_FALSE(b.ledgers[2].left());
  TEST_ASSERT_TRUE(b.total(0) > kWhole / 100 * 90);
  int waited = 30;
  for (; waited < 150 && !b.ledgers[2].left(); ++waited) {
    b.tick();
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
  }
  TEST_ASSERT_TRUE(b.ledgers[2].left());
  b.ticks(30);
  for (std::size_t r = 0; r < kResources; ++r) TEST_ASSERT_EQUAL_INT64(kWhole, b.total(r));
  TEST_ASSERT_TRUE(b.settled(2));
}

TEST(the_last_keeper_leaves_only_once_its_successor_knows) {
  Bench b(2);
  b.ticks(20);
  TEST_ASSERT_EQUAL_UINT64(1, b.ledgers[0].registered().keepers.size());
  TEST_ASSERT_EQUAL_UINT32(0, b.ledgers[0].registered().keepers[0].node);
  b.ledgers[0].leave();
  // The first five times it says who follows, nobody hears it.
  int lost = 0;
  for (int waited = 0; waited < 150 && !b.ledgers[0].left(); ++waited) {
    b.tick();
    const auto said = std::find_if(b.flight.begin(), b.flight.end(), [](const auto& f) {
      return f.first == 0 && std::holds_alternative<DecidedBody>(f.second.message.body) &&
             std::get<DecidedBody>(f.second.message.body).value.is_keeper({1, 1});
    });
    if (said == b.flight.end() || lost == 5) continue;
    b.flight.erase(said);
    ++lost;
    TEST_ASSERT_FALSE(b.ledgers[0].left());
  }
  TEST_ASSERT_EQUAL_INT(5, lost);
  TEST_ASSERT_TRUE(b.ledgers[1].registered().is_keeper({1, 1}));
  expect_left_to_the_others(b, 0);
}

TEST(the_last_one_there_does_not_leave_before_somebody_comes) {
  Bench b(2);
  b.ticks(20);
  // The other dies, and the only keeper wants to leave in the version that says so.
  b.silent[1] = true;
  b.ledgers[0].leave();
  b.ticks(150);
  TEST_ASSERT_FALSE(b.ledgers[0].left());
  b.silent[1] = false;
  b.restart_without_journal(1);
  for (int waited = 0; waited < 200 && !b.ledgers[0].left(); ++waited) b.tick();
  expect_left_to_the_others(b, 0);
}

TEST(a_heir_that_dies_hands_on_what_it_inherited) {
  Bench b(7);
  b.ticks(10);
  b.silent[5] = true;
  int waited = 0;
  while (!b.settled(5) && waited++ < 100) b.tick();
  NodeId heir = 0;
  for (NodeId i = 0; i < 7; ++i) {
    if (b.ledgers[i].base()[0] > kWhole / 5) heir = i;
  }
  b.silent[heir] = true;
  b.ticks(150);
  TEST_ASSERT_TRUE(b.settled(heir));
  Parts left = 0;
  for (NodeId i = 0; i < 7; ++i) {
    if (!b.silent[i]) left += b.ledgers[i].effective(b.now)[0];
  }
  TEST_ASSERT_EQUAL_INT64(kWhole, left);
}

TEST(three_neighbours_that_die_at_once_are_settled_as_one) {
  Bench b(8);
  b.ledgers[0].set_demand(0, wants(kWhole));
  b.ticks(20);
  for (const NodeId dead : {0U, 1U, 2U}) b.silent[dead] = true;
  b.ticks(150);
  Parts left = 0;
  for (NodeId i = 3; i < 8; ++i) left += b.ledgers[i].effective(b.now)[0];
  TEST_ASSERT_EQUAL_INT64(kWhole, left);
}

// The neighbours' closings are due 42 ticks after the last word (lease 60). By then the keepers
// have heard of the silence, and another one has the floor if it is the owner that is silent.
TEST(a_death_is_entered_soon_after_the_term_even_if_the_owner_of_the_register_died) {
  for (const NodeId victim : {NodeId{0}, NodeId{4}}) {
    Bench b(8);
    b.ticks(20);
    b.silent[victim] = true;
    const int waited = b.wait_for_settlement(victim, 100);
    TEST_ASSERT_TRUE(waited > 42);
    TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
  }
}

TEST(a_closing_reaches_a_proposer_that_its_author_cannot) {
  Bench b(4);
  b.ticks(20);
  b.cut(0, 3);  // 0 owns the register
  b.silent[2] = true;
  const int waited = b.wait_for_settlement(2, 200);
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 10, std::to_string(waited).c_str());
}

// What an account said last before it died, or long before, arrives at the keepers again and again.
TEST(old_words_do_not_make_a_dead_board_look_alive) {
  Bench b(8);
  b.ticks(20);
  const Message old = b.word_of(5);
  b.silent[5] = true;
  b.between = [&] {
    Out out;
    for (const NodeId k : {0U, 1U, 2U, 3U, 4U, 6U}) b.ledgers[k].on_message(5, old, b.now, out);
  };
  const int waited = b.wait_for_settlement(5, 100);
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
}

TEST(a_request_that_was_overtaken_by_a_newer_one_does_not_take_its_place) {
  Bench b(4);
  b.ticks(20);
  Message old = b.word_of(3);
  std::get<RequestBody>(old.body).quorum_revision = 1;  // a wish, long granted
  b.silent[2] = true;
  b.between = [&] {
    Out out;
    for (const NodeId k : {0U, 1U, 2U}) b.ledgers[k].on_message(3, old, b.now, out);
  };
  const int waited = b.wait_for_settlement(2, 100);
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
}

// Two of five keepers are dead, all of the others are needed, and two of those do not hear each
// other: the third hands on what the one proposes, and counts the votes of both.
TEST(voters_decide_what_its_proposer_cannot_bring_to_a_majority) {
  Bench b(5);
  b.ticks(20);
  b.cut(0, 4);  // 0 owns the register
  b.silent[1] = b.silent[2] = true;
  int waited = 0;
  while (!(b.settled(1) && b.settled(2)) && waited < 200) {
    b.tick();
    ++waited;
  }
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 14, std::to_string(waited).c_str());
}

TEST(an_edge_on_which_nothing_was_ever_heard_does_not_wait_for_the_term) {
  Bench b(4);
  b.ticks(20);
  b.cut(0, 3);
  TimeNs opened = 0;
  bool closed = false;
  for (int k = 0; k < 120 && !closed; ++k) {
    b.tick();
    const auto& edges = b.ledgers[0].edges();
    const auto edge = std::find_if(edges.begin(), edges.end(), [](const Edge& e) {
      return e.peer.node == 3 && e.edge_number != 0;
    });
    if (edge == edges.end()) continue;
    if (opened == 0) opened = b.now;
    closed = edge->closing;
  }
  TEST_ASSERT_TRUE(closed);
  TEST_ASSERT_TRUE(b.now - opened <= 14 * b.config.tick);
}

// Two of three members are there and know of no register. The third, which they cannot reach, was
// left alone by it and is at work with everything.
TEST(boards_that_lost_their_journals_do_not_found_without_one_that_may_be_at_work) {
  Bench b(3);
  b.ticks(10);
  b.silent[1] = true;
  b.wait_for_settlement(1, 200);
  b.ticks(2);  // the other voter sees the majority first
  b.silent[2] = true;
  b.wait_for_settlement(2, 200);
  b.ticks(100);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.ledgers[0].effective(b.now)[0]);
  b.silent = {true, false, false};
  b.restart_without_journal(1);
  b.restart_without_journal(2);
  for (int k = 0; k < 600; ++k) {
    b.tick();
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
  }
  TEST_ASSERT_EQUAL_INT64(kWhole, b.ledgers[0].effective(b.now)[0]);
  b.silent[0] = false;
  b.ticks(100);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
}

TEST(a_fleet_that_knows_of_no_founding_is_founded_once_all_are_there) {
  Bench b(3);
  b.ledgers.clear();
  for (NodeId i = 0; i < 3; ++i)
    b.ledgers.emplace_back(b.config, i, 7 + i, b.graph, b.graph, b.now);
  b.silent[1] = true;
  b.ticks(300);
  TEST_ASSERT_EQUAL_INT64(0, b.total(0));
  b.silent[1] = false;
  b.ticks(300);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
  TEST_ASSERT_EQUAL_UINT32(b.config.founding_epoch + 7 + 8 + 9, b.ledgers[2].founding_epoch());
}

TEST(quorums_follow_the_size_and_the_degree) {
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(3, 2));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(4, 3));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(5, 4));
  TEST_ASSERT_EQUAL_UINT8(3, quorum_for(100, 8));
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(100, 1));
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(100, 0));
}
