#include "consensus/ledger/ledger.hpp"

#include "tests/unit/consensus/ledger_bench.hpp"

using namespace laird;
using namespace laird::consensus;

TEST(shares_go_where_they_are_wanted_and_never_above_the_whole) {
  Bench b(4);
  b.ledgers[0].set_demand(0, wants(kWhole));
  for (int k = 0; k < 200; ++k) {
    b.tick();
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
  }
  TEST_ASSERT_TRUE(b.ledgers[0].effective(b.now)[0] > kWhole / 100 * 99);
  // Nobody has a demand for the other resources: they stay divided equally.
  TEST_ASSERT_EQUAL_INT64(kWhole / 4, b.ledgers[1].effective(b.now)[1]);
}

TEST(urgency_decides_who_gives_up_how_much) {
  Bench b(2);
  b.ledgers[0].set_demand(0, wants(kWhole, kUrgencyOne));
  b.ledgers[1].set_demand(0, wants(kWhole, 3 * kUrgencyOne));
  b.ticks(200);
  // 1 (d - x0) = 3 (d - x1), x0 + x1 = whole: x0 = 1/4.
  const double first = static_cast<double>(b.ledgers[0].effective(b.now)[0]) / kWhole;
  TEST_ASSERT_DOUBLE_WITHIN(1e-4, 0.25, first);
}

TEST(floors_and_caps_hold) {
  Bench b(3);
  Demand capped = wants(kWhole);
  capped.cap = kWhole / 2;
  Demand floored = wants(0);
  floored.floor = kWhole / 10;
  b.ledgers[0].set_demand(0, capped);
  b.ledgers[1].set_demand(0, floored);
  b.ledgers[2].set_demand(0, wants(kWhole / 5));
  b.ticks(300);
  TEST_ASSERT_TRUE(b.ledgers[0].effective(b.now)[0] <= kWhole / 2);
  TEST_ASSERT_TRUE(b.ledgers[1].effective(b.now)[0] >= kWhole / 10);
  TEST_ASSERT_TRUE(b.ledgers[0].effective(b.now)[0] > kWhole / 100 * 49);
}

TEST(a_node_cut_off_fences_itself_before_it_is_settled_within_the_lease_and_ten_ticks) {
  Bench b(4);
  b.ticks(10);
  b.silent[3] = true;
  const int lease = static_cast<int>(b.config.lease / b.config.tick);
  int fenced_at = 0;
  int settled_at = 0;
  for (int k = 1; k <= lease + 10; ++k) {
    b.tick();
    if (fenced_at == 0 && b.ledgers[3].fenced(b.now)) fenced_at = k;
    if (settled_at == 0 && b.settled(3)) settled_at = k;
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
  }
  TEST_ASSERT_TRUE(fenced_at > lease / 2);
  TEST_ASSERT_TRUE(settled_at > fenced_at);
  TEST_ASSERT_EQUAL_INT64(0, b.ledgers[3].effective(b.now)[0]);
  b.ticks(60);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
}

TEST(a_node_settled_while_away_comes_back_with_nothing_under_a_new_incarnation) {
  Bench b(4);
  b.ticks(5);
  b.silent[3] = true;
  b.ticks(90);
  b.silent[3] = false;
  b.ticks(20);
  TEST_ASSERT_EQUAL_UINT32(2, b.ledgers[3].account().incarnation);
  b.ledgers[3].set_demand(0, wants(kWhole));
  b.ticks(150);
  TEST_ASSERT_TRUE(b.ledgers[3].effective(b.now)[0] > kWhole / 100 * 90);
  TEST_ASSERT_TRUE(b.total(0) <= kWhole);
}

TEST(a_short_outage_costs_nothing) {
  Bench b(4);
  b.ticks(5);
  b.silent[2] = true;
  b.ticks(30);
  b.silent[2] = false;
  b.ticks(20);
  TEST_ASSERT_EQUAL_UINT32(1, b.ledgers[2].account().incarnation);
  TEST_ASSERT_FALSE(b.settled(2));
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
}

TEST(an_outage_of_everyone_fences_everyone_and_ends_with_it) {
  Bench b(5);
  b.ticks(5);
  b.silent.assign(5, true);
  b.ticks(200);
  TEST_ASSERT_EQUAL_INT64(0, b.total(0));
  b.silent.assign(5, false);
  b.ticks(40);
  TEST_ASSERT_EQUAL_INT64(kWhole, b.total(0));
  for (const Ledger& l : b.ledgers) TEST_ASSERT_EQUAL_UINT32(1, l.account().incarnation);
}

TEST(the_archived_ledger_reads_back_the_same) {
  Bench b(6);
  b.ledgers[1].set_demand(2, wants(kWhole / 2));
  b.ticks(20);
  b.silent[4] = true;
  b.ticks(62);
  Bytes bytes;
  Archive w = Archive::writer(bytes);
  b.ledgers[1].archive(w);
  Ledger back(b.config, 1, 1, b.graph, b.graph, b.now);
  Archive r = Archive::reader(bytes);
  back.archive(r);
  TEST_ASSERT_FALSE(r.failed());
  TEST_ASSERT_TRUE(r.at_end());
  Archive h1 = Archive::hasher();
  Archive h2 = Archive::hasher();
  b.ledgers[1].archive(h1);
  back.archive(h2);
  TEST_ASSERT_EQUAL_UINT64(h1.digest(), h2.digest());
  Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
  Archive broken = Archive::reader(cut);
  back.archive(broken);
  TEST_ASSERT_TRUE(broken.failed());
}

// All that the others have goes over the edges of one board, and much more than an edge's limit.
TEST(limits_leave_no_share_with_boards_that_want_none) {
  Bench b(20);
  for (NodeId n = 0; n < 20; ++n) b.ledgers[n].set_demand(2, wants(n == 7 ? kWhole : 0));
  b.ticks(300);
  TEST_ASSERT_GREATER_THAN_INT64(kWhole / 100 * 99, b.ledgers[7].holding()[2]);
  TEST_ASSERT_TRUE(b.total(2) <= kWhole);
}

// Boards read the journals of earlier releases: a field that is moved or lost changes this number.
// It may change only together with the journal's format.
TEST(the_archived_ledger_keeps_its_bytes) {
  Bench b(6);
  b.ledgers[1].set_demand(2, wants(kWhole / 2));
  b.ticks(20);
  b.silent[4] = true;
  b.ticks(43);  // the keepers suspect it, and the closings of its edges are pending
  Archive hash = Archive::hasher();
  for (Ledger& ledger : b.ledgers) ledger.archive(hash);
  TEST_ASSERT_EQUAL_HEX64(0x01C2934DB6E2355AULL, hash.digest());
}

TEST(messages_of_another_founding_epoch_or_edge_number_are_dropped) {
  Bench b(2);
  Out out;
  EdgeBody body;
  body.seq = 1;
  body.sent_absolute = true;
  body.sent[0] = kWhole / 4;
  b.ledgers[0].on_message(1, Message{9, 0, body}, b.now, out);
  body.edge_number = 4;
  b.ledgers[0].on_message(1, Message{1, 0, body}, b.now, out);
  body.edge_number = 0;
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, b.ledgers[0].holding()[0]);
  TEST_ASSERT_EQUAL_UINT64(2, b.ledgers[0].rejected());
  b.ledgers[0].on_message(1, Message{1, 0, body}, b.now, out);
  TEST_ASSERT_EQUAL_INT64(kWhole / 2 + kWhole / 4, b.ledgers[0].holding()[0]);
}

TEST(a_board_that_joins_gets_a_share_and_retired_edges_lose_nothing) {
  Bench b(6);
  b.ledgers[0].set_demand(0, wants(kWhole));
  b.ticks(40);
  const auto wider = graph_of(7);
  b.silent.push_back(false);
  b.ledgers.emplace_back(b.config, 6, 1, b.graph, wider, b.now);
  for (NodeId i = 0; i < 6; ++i) b.ledgers[i].set_members(wider);
  b.ledgers[6].set_demand(0, wants(kWhole, 4 * kUrgencyOne));
  b.ticks(250);
  TEST_ASSERT_TRUE(b.ledgers[6].effective(b.now)[0] > kWhole / 2);
  Parts held = 0;
  for (const Ledger& l : b.ledgers) held += l.holding()[0];
  TEST_ASSERT_TRUE(held <= kWhole);
  TEST_ASSERT_TRUE(held > kWhole - kWhole / 1'000'000);
  for (const Ledger& l : b.ledgers) {
    TEST_ASSERT_EQUAL_UINT64(6, l.edges().size());
  }
}

// Found by fuzzing: sums of the numbers that peers claim overflowed.
TEST(no_claim_of_a_peer_makes_a_number_overflow) {
  Bench bench(3);
  bench.ticks(5);
  Out out;
  for (int k = 0; k < 20; ++k) {
    for (const NodeId liar : {NodeId{1}, NodeId{2}}) {
      const Ledger& victim = bench.ledgers[0];
      const auto edge =
          std::find_if(victim.edges().begin(), victim.edges().end(),
                       [&](const Edge& e) { return e.peer.node == liar && !e.closing; });
      if (edge == victim.edges().end()) continue;
      EdgeBody body;
      body.edge_number = edge->edge_number;
      body.seq = edge->seq_heard + 1;
      body.ack = edge->seq_heard;
      body.has_terms = true;
      body.degree = 255;
      body.urgency = {65535, 65535, 65535};
      body.price_absolute = true;
      body.price = {kNumberMax, -kNumberMax, k % 2 == 0 ? kNumberMax : -kNumberMax};
      bench.ledgers[0].on_message(liar, {1, 0, body}, bench.now, out);
      StatementBody statement;
      statement.version = 1000 + static_cast<std::uint32_t>(k);
      statement.incarnation = 1;
      statement.base = {kNumberMax, -kNumberMax, kNumberMax};
      statement.quorum = 1;
      for (const Edge& e : victim.edges())
        statement.ties.push_back({e.peer, e.edge_number, false, false});
      statement.keepers = {{1, 1}};
      bench.ledgers[0].on_message(liar, {1, 1, statement}, bench.now, out);
    }
    bench.tick();
    for (const Parts held : bench.ledgers[0].holding()) {
      TEST_ASSERT_TRUE(held >= -kNumberMax && held <= kNumberMax);
    }
  }
}

TEST(disagreement_is_the_share_that_has_still_to_move_and_vanishes_when_it_has) {
  Bench bench(2);
  TEST_ASSERT_FALSE(bench.ledgers[0].disagreement(2).has_value());  // nobody has spoken yet
  bench.ticks(40);
  for (const Ledger& l : bench.ledgers) TEST_ASSERT_EQUAL_INT64(0, l.disagreement(2).value());
  // Each board holds a half. The first wants a half, the second wants nine tenths at twice the
  // urgency. Their prices 1 (1/2 - 1/2) and 2 (1/2 - 9/10) meet when 8/10 / (1 + 2) has moved.
  Demand content;
  content.demand = kWhole / 2;
  Demand more;
  more.demand = 9 * (kWhole / 10);
  more.urgency = 2 * kUrgencyOne;
  const Parts half = bench.ledgers[0].holding()[2];
  TEST_ASSERT_INT64_WITHIN(kWhole / 1000, kWhole / 2, half);
  bench.ledgers[0].set_demand(2, content);
  bench.ledgers[1].set_demand(2, more);
  const Parts due = 8 * (kWhole / 10) / 3;
  Parts before = kWhole;
  bool seen = false;
  for (int k = 0; k < 60; ++k) {
    bench.tick();
    const Parts now =
        bench.ledgers[1].disagreement(2).value();  // of the board that lacks something
    seen = seen || now > due / 2;
    // A board that has nothing left to give quotes more than its own cost (price.cpp).
    TEST_ASSERT_TRUE(now <= 2 * due);
    before = now;
  }
  TEST_ASSERT_TRUE(seen);
  TEST_ASSERT_TRUE(before < kWhole / 1000);
  TEST_ASSERT_INT64_WITHIN(kWhole / 100, half - due, bench.ledgers[0].holding()[2]);
  TEST_ASSERT_EQUAL_UINT64(100, bench.ledgers[0].ticks());
}

TEST(a_fleet_with_a_surplus_for_long_still_finds_its_prices_within_sixty_ticks) {
  Bench b(12);
  Demand idle = wants(kWhole / 100);
  idle.cap = kWhole / 50;
  for (Ledger& l : b.ledgers) l.set_demand(0, idle);
  b.ticks(6000);
  for (NodeId i = 0; i < 12; ++i) b.ledgers[i].set_demand(0, wants(i < 2 ? kWhole : kWhole / 100));
  b.ticks(60);
  // Two boards of equal urgency want the whole: each gets a half.
  for (NodeId i = 0; i < 2; ++i) {
    TEST_ASSERT_INT64_WITHIN(kWhole / 1000, kWhole / 2, b.ledgers[i].effective(b.now)[0]);
  }
}

namespace {

// A board with one lane of the whole budget's part `size`, with a task that needs `busy_part` of it
// if that is not 0.
Demand board_with(Parts size, double busy_part) {
  std::vector<TaskNeed> tasks;
  if (busy_part > 0) {
    tasks.push_back(
        {0, size, static_cast<DurationNs>(100e9 * busy_part), 100 * kSecond, 800'000, 1000});
  }
  return demand_from(tasks, {0, 0, tasks.empty() ? 0 : size, size});
}

}  // namespace

TEST(one_busy_board_among_idle_ones_gets_all_that_it_can_use) {
  Bench b(12);
  for (NodeId i = 0; i < 12; ++i) {
    b.ledgers[i].set_demand(0, board_with(kWhole / 5, i == 3 ? 0.1 : 0.0));
  }
  b.ticks(20);
  TEST_ASSERT_TRUE(b.ledgers[3].effective(b.now)[0] >= kWhole / 5 / 100 * 99);
}

TEST(deadlines_come_before_what_only_ends_work_sooner_and_nothing_is_left_unused) {
  Bench b(6);
  // Three boards want 90% of themselves for their deadlines, three 10%; there is a third of what
  // all could use.
  for (NodeId i = 0; i < 6; ++i) {
    b.ledgers[i].set_demand(0, board_with(kWhole / 2, i < 3 ? 0.5 : 0.1));
  }
  b.ticks(150);
  for (NodeId i = 0; i < 6; ++i) {
    const Parts need = kWhole / 2 / 10 * (i < 3 ? 5 : 1);
    TEST_ASSERT_TRUE(b.ledgers[i].effective(b.now)[0] >= need / 100 * 99);
  }
  TEST_ASSERT_TRUE(b.total(0) >= kWhole / 1000 * 999);
}

TEST(a_shortage_falls_on_the_deadlines_that_buy_least) {
  Bench b(4);
  for (NodeId i = 0; i < 4; ++i) {
    TaskNeed need{0, kWhole / 2, 80 * kSecond, 100 * kSecond, 800'000, i == 0 ? 8000U : 1000U};
    b.ledgers[i].set_demand(0, demand_from({need}, {0, 0, kWhole / 2, kWhole / 2}));
  }
  b.ticks(150);
  const Parts heavy = b.ledgers[0].effective(b.now)[0];
  TEST_ASSERT_TRUE(heavy >= kWhole / 100 * 35);
  for (NodeId i = 1; i < 4; ++i) TEST_ASSERT_TRUE(b.ledgers[i].effective(b.now)[0] < heavy / 3 * 2);
}

TEST(floors_that_exceed_the_whole_do_not_make_prices_run_away) {
  Bench b(5);
  Demand much = wants(kWhole);
  much.floor = kWhole / 2;
  for (Ledger& l : b.ledgers) l.set_demand(0, much);
  b.ticks(3000);
  for (NodeId i = 0; i < 5; ++i) b.ledgers[i].set_demand(0, wants(i < 2 ? kWhole : 0));
  b.ticks(60);
  for (NodeId i = 0; i < 2; ++i) {
    TEST_ASSERT_INT64_WITHIN(kWhole / 1000, kWhole / 2, b.ledgers[i].effective(b.now)[0]);
  }
}

TEST(where_everybody_has_enough_there_is_nothing_to_disagree_about) {
  Bench bench(3);
  Demand little;
  little.demand = kWhole / 10;
  little.cap = kWhole / 5;  // all of them together cannot use the whole
  for (NodeId i = 0; i < 3; ++i) {
    little.urgency = static_cast<std::uint16_t>((i + 1) * kUrgencyOne);
    bench.ledgers[i].set_demand(2, little);
  }
  bench.ticks(60);
  for (const Ledger& l : bench.ledgers) TEST_ASSERT_EQUAL_INT64(0, l.disagreement(2).value());
}
