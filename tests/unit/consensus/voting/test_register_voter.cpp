#include "consensus/voting/register_voter.hpp"

#include "tests/unit/consensus/ledger_bench.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

constexpr TimeNs kStart = kDay;

// The only keeper of two accounts: its own vote is a majority.
RegisterVoter only_keeper() {
  RegisterVoter voter;
  voter.configure({}, 1, {});
  voter.begin({0, 1}, founding_register(NeighbourGraph({0, 1}), {{0, 1}, {1, 1}}), kStart);
  return voter;
}

RequestBody closing_of_0_to_1() {
  RequestBody body;
  body.version = 1;
  body.serial = 5;
  body.closings = {{{1, 1}, 0, {30, 0, 0}, {10, 0, 0}}};
  return body;
}

}  // namespace

TEST(a_keeper_enters_a_request_once_it_knows_whether_the_closed_upon_lives) {
  RegisterVoter voter = only_keeper();
  TEST_ASSERT_TRUE(voter.seated());
  Out out;
  voter.on_request({0, 1}, closing_of_0_to_1(), kStart, out);
  voter.on_tick(kStart + kSecond, out);
  TEST_ASSERT_EQUAL_UINT32(1, voter.value().version);  // the peer is being probed
  const auto probes = std::count_if(out.messages.begin(), out.messages.end(), [](const auto& o) {
    return o.to == 1 && std::holds_alternative<ProbeBody>(o.message.body);
  });
  TEST_ASSERT_EQUAL_INT64(1, probes);
  for (int k = 2; k <= kUnresponsiveTicks + 1; ++k) voter.on_tick(kStart + k * kSecond, out);
  TEST_ASSERT_EQUAL_UINT32(2, voter.value().version);
  // The peer had a quorum of one neighbour, which has closed: it is dead, and its base is settled.
  TEST_ASSERT_EQUAL_UINT64(1, voter.value().entries.size());
  TEST_ASSERT_EQUAL_INT64(kWhole, voter.value().entries[0].base[0]);
  TEST_ASSERT_TRUE(voter.statement_for({1, 1}, kStart)->confirmed_dead);
  TEST_ASSERT_FALSE(voter.statement_for({1, 2}, kStart).has_value());
}

TEST(a_request_that_is_not_repeated_is_dropped) {
  RegisterVoter voter = only_keeper();
  Out out;
  voter.on_request({0, 1}, closing_of_0_to_1(), kStart, out);
  voter.on_tick(kStart + (kRequestTicks + 1) * kSecond, out);
  voter.on_tick(kStart + (kRequestTicks + 2) * kSecond, out);
  TEST_ASSERT_EQUAL_UINT32(1, voter.value().version);
}

TEST(an_account_without_a_seat_neither_votes_nor_proposes) {
  RegisterVoter voter;
  voter.configure({}, 1, {});
  voter.begin({1, 1}, only_keeper().value(), kStart);
  TEST_ASSERT_FALSE(voter.seated());
  Out out;
  voter.on_request({0, 1}, closing_of_0_to_1(), kStart, out);
  voter.on_tick(kStart + kSecond, out);
  TEST_ASSERT_TRUE(out.messages.empty());
}

// Board 0 of ten has four neighbours, three of which die and stay on the member list. The boards
// that the register gives it instead have enough neighbours of their own. They must not drop board
// 0: the register would tie them again, for ever.
TEST(the_register_stops_changing_while_dead_neighbours_stay_on_the_member_list) {
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
  // Most of its share is in use elsewhere long before its account is closed.
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

// A board without its journal leaves before it was entered. Only its word tells that its earlier
// account has ended, and a neighbour of that account has died.
TEST(a_board_that_leaves_before_it_is_entered_ends_its_earlier_account) {
  Bench b(5);
  b.ticks(20);
  b.silent[4] = true;
  b.restart_without_journal(1);
  b.ledgers[1].leave();
  for (int waited = 0; waited < 300 && !b.ledgers[1].left(); ++waited) b.tick();
  TEST_ASSERT_TRUE(b.ledgers[1].left());
  b.ticks(100);
  TEST_ASSERT_TRUE(b.settled(1) && b.settled(4));
  for (std::size_t r = 0; r < kResources; ++r) TEST_ASSERT_EQUAL_INT64(kWhole, b.total(r));
}

// Two of three boards go on for hours with one keeper; every change of demand renews their edge.
TEST(a_board_that_was_cut_off_for_many_versions_comes_back) {
  Bench b(3);
  b.ticks(20);
  b.silent[2] = true;
  b.ticks(150);
  TEST_ASSERT_EQUAL_UINT64(1, b.ledgers[0].registered().keepers.size());
  for (int turn = 0; turn < 200; ++turn) {
    for (std::size_t r = 0; r < kResources; ++r) {
      b.ledgers[0].set_demand(r, wants(turn % 2 == 0 ? kWhole : 0));
      b.ledgers[1].set_demand(r, wants(turn % 2 == 0 ? 0 : kWhole));
    }
    b.ticks(60);
  }
  TEST_ASSERT_TRUE(b.ledgers[0].registered().version > 2 * kVersionStep);
  b.silent[2] = false;
  b.ticks(200);
  TEST_ASSERT_TRUE(b.ledgers[2].entered());
  TEST_ASSERT_FALSE(b.ledgers[2].fenced(b.now));
}

TEST(the_last_keeper_leaves_only_after_its_successor_has_the_register) {
  Bench b(2);
  b.ticks(20);
  TEST_ASSERT_EQUAL_UINT64(1, b.ledgers[0].registered().keepers.size());
  TEST_ASSERT_EQUAL_UINT32(0, b.ledgers[0].registered().keepers[0].node);
  b.ledgers[0].leave();
  // The first five messages in which it names its successor are lost.
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

TEST(the_last_living_board_does_not_leave_before_another_has_entered) {
  Bench b(2);
  b.ticks(20);
  // The other board dies, and the only keeper wants to leave in the version that enters the death.
  b.silent[1] = true;
  b.ledgers[0].leave();
  b.ticks(150);
  TEST_ASSERT_FALSE(b.ledgers[0].left());
  b.silent[1] = false;
  b.restart_without_journal(1);
  for (int waited = 0; waited < 200 && !b.ledgers[0].left(); ++waited) b.tick();
  expect_left_to_the_others(b, 0);
}

TEST(what_a_dead_heir_had_inherited_is_settled_too) {
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

TEST(three_neighbours_that_die_at_once_are_settled_together) {
  Bench b(8);
  b.ledgers[0].set_demand(0, wants(kWhole));
  b.ticks(20);
  for (const NodeId dead : {0U, 1U, 2U}) b.silent[dead] = true;
  b.ticks(150);
  Parts left = 0;
  for (NodeId i = 3; i < 8; ++i) left += b.ledgers[i].effective(b.now)[0];
  TEST_ASSERT_EQUAL_INT64(kWhole, left);
}

// The silence limit is 42 ticks (lease 60): the neighbours report their closings then. By that time
// the keepers have probed the silent board, and if it is the owner, another keeper has the floor.
TEST(a_death_is_entered_soon_after_the_silence_limit_even_if_the_owner_died) {
  for (const NodeId victim : {NodeId{0}, NodeId{4}}) {
    Bench b(8);
    b.ticks(20);
    b.silent[victim] = true;
    const int waited = b.wait_for_settlement(victim, 100);
    TEST_ASSERT_TRUE(waited > 42);
    TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
  }
}

TEST(a_closing_reaches_a_proposer_to_which_its_author_has_no_link) {
  Bench b(6);
  b.ticks(20);
  b.cut(0, 3);  // 0 owns the register
  b.silent[2] = true;
  const int waited = b.wait_for_settlement(2, 200);
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 10, std::to_string(waited).c_str());
}

// A message that the board sent before it died arrives at the keepers again and again.
TEST(old_messages_do_not_make_a_dead_board_look_alive) {
  Bench b(8);
  b.ticks(20);
  const Message old = b.answer_of(5);
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
  Message old = b.answer_of(3);
  std::get<RequestBody>(old.body).quorum_revision =
      1;  // a change of its quorum that was entered long ago
  b.silent[2] = true;
  b.between = [&] {
    Out out;
    for (const NodeId k : {0U, 1U, 2U}) b.ledgers[k].on_message(3, old, b.now, out);
  };
  const int waited = b.wait_for_settlement(2, 100);
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
}

// Two of six keepers are dead, so all the others are needed for a quorum, and two of those do not
// hear each other. The other two count the votes of both, and their locks stand for those votes.
TEST(voters_decide_a_proposal_that_its_proposer_cannot_bring_to_a_quorum) {
  Bench b(6);
  b.ticks(20);
  b.cut(0, 4);  // 0 owns the register
  b.silent[1] = b.silent[2] = true;
  int waited = 0;
  while (!(b.settled(1) && b.settled(2)) && waited < 200) {
    b.tick();
    ++waited;
  }
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 16, std::to_string(waited).c_str());
}

TEST(an_edge_whose_peer_was_never_heard_is_closed_before_the_silence_limit) {
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

// Two of three members have lost their journals and know of no register. They cannot reach the
// third, which is the last living account of the register and uses the whole.
TEST(boards_without_journals_do_not_found_a_fleet_while_another_may_be_at_work) {
  Bench b(3);
  b.ticks(10);
  b.silent[1] = true;
  b.wait_for_settlement(1, 200);
  b.ticks(2);  // the other keeper sees the majority of votes first
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

TEST(a_fleet_without_a_register_is_founded_once_all_members_are_present) {
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
