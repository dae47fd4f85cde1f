#include "consensus/ledger.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

namespace {

std::shared_ptr<const Overlay> overlay(NodeId n) {
  std::vector<NodeId> ids(n);
  std::iota(ids.begin(), ids.end(), NodeId{0});
  return std::make_shared<Overlay>(ids);
}

// A few ledgers on a perfect network with a delay of one tick; nodes can be silenced.
struct Bench {
  explicit Bench(NodeId n) : graph(overlay(n)), silent(n, false) {
    for (NodeId i = 0; i < n; ++i) ledgers.emplace_back(config, i, 1, graph, graph, now);
  }
  void tick() {
    now += config.tick;
    std::vector<std::pair<NodeId, Outgoing>> arriving;
    arriving.swap(flight);
    Out out;
    for (const auto& [from, o] : arriving) {
      if (silent[from] || silent[o.to] || cuts.count({from, o.to}) > 0) continue;
      ledgers[o.to].on_message(from, o.message, now, out);
      post(o.to, out);
    }
    for (NodeId i = 0; i < ledgers.size(); ++i) {
      ledgers[i].on_tick(now, out);
      post(i, out);
    }
  }
  void post(NodeId from, Out& out) {
    for (Outgoing& o : out.messages) flight.emplace_back(from, std::move(o));
    out.clear();
  }
  void ticks(int count) {
    for (int k = 0; k < count; ++k) tick();
  }
  void cut(NodeId a, NodeId b) {
    cuts.insert({a, b});
    cuts.insert({b, a});
  }
  void restart_without_journal(NodeId node) {
    const std::uint32_t next = ledgers[node].account().incarnation + 1;
    ledgers[node] = Ledger(config, node, next, graph, graph, now);
  }
  // Ticks until it is settled; `most` if it is not.
  int wait_for_settlement(NodeId node, int most) {
    int waited = 0;
    while (!settled(node) && waited < most) {
      tick();
      ++waited;
    }
    return waited;
  }
  bool settled(NodeId node, std::uint32_t incarnation = 1) const {
    return std::any_of(ledgers.begin(), ledgers.end(), [&](const Ledger& l) {
      return l.registered().version != 0 && l.registered().find({node, incarnation}) == nullptr;
    });
  }
  Parts total(std::size_t r) const {
    Parts sum = 0;
    for (const Ledger& l : ledgers) sum += l.effective(now)[r];
    return sum;
  }

  LedgerConfig config;
  TimeNs now = kDay;
  std::shared_ptr<const Overlay> graph;
  std::vector<bool> silent;
  std::set<std::pair<NodeId, NodeId>> cuts;
  std::vector<Ledger> ledgers;
  std::vector<std::pair<NodeId, Outgoing>> flight;
};

Demand wants(Parts demand, std::uint16_t urgency = kUrgencyOne) {
  Demand d;
  d.demand = demand;
  d.urgency = urgency;
  return d;
}

// It has left, so its process may stop, and the others come to use all of it.
void expect_left_to_the_others(Bench& b, NodeId gone) {
  TEST_ASSERT_TRUE(b.ledgers[gone].left());
  b.silent[gone] = true;
  b.ticks(100);
  for (std::size_t r = 0; r < kResources; ++r) TEST_ASSERT_EQUAL_INT64(kWhole, b.total(r));
}

}  // namespace

TEST(shares_go_where_they_are_wanted_and_never_above_the_whole) {
  Bench b(4);
  b.ledgers[0].set_demand(0, wants(kWhole));
  for (int k = 0; k < 200; ++k) {
    b.tick();
    TEST_ASSERT_TRUE(b.total(0) <= kWhole);
  }
  TEST_ASSERT_TRUE(b.ledgers[0].effective(b.now)[0] > kWhole / 100 * 99);
  // Nobody asked for the others: they stay shared out.
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

TEST(messages_of_another_epoch_or_life_of_the_edge_are_dropped) {
  Bench b(2);
  Out out;
  EdgeBody body;
  body.seq = 1;
  body.sent_absolute = true;
  body.sent[0] = kWhole / 4;
  b.ledgers[0].on_message(1, Message{9, 0, body}, b.now, out);
  body.life = 4;
  b.ledgers[0].on_message(1, Message{1, 0, body}, b.now, out);
  body.life = 0;
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, b.ledgers[0].holding()[0]);
  TEST_ASSERT_EQUAL_UINT64(2, b.ledgers[0].rejected());
  b.ledgers[0].on_message(1, Message{1, 0, body}, b.now, out);
  TEST_ASSERT_EQUAL_INT64(kWhole / 2 + kWhole / 4, b.ledgers[0].holding()[0]);
}

TEST(a_board_that_joins_gets_a_share_and_retired_edges_lose_nothing) {
  Bench b(6);
  b.ledgers[0].set_demand(0, wants(kWhole));
  b.ticks(40);
  const auto wider = overlay(7);
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
  Out out;
  b.ledgers[5].on_message(0, Message{1, 1, ProbeBody{1, 7}}, b.now, out);
  TEST_ASSERT_EQUAL_UINT64(1, out.messages.size());
  const Message old = out.messages[0].message;
  b.silent[5] = true;
  int waited = 0;
  for (; waited < 100 && !b.settled(5); ++waited) {
    for (NodeId k = 0; k < 7; ++k) {
      if (k != 5) b.ledgers[k].on_message(5, old, b.now, out);
    }
    out.clear();
    b.tick();
  }
  TEST_ASSERT_TRUE_MESSAGE(waited <= 42 + 6, std::to_string(waited).c_str());
}

TEST(a_request_that_was_overtaken_by_a_newer_one_does_not_take_its_place) {
  Bench b(4);
  b.ticks(20);
  Out out;
  b.ledgers[3].on_message(0, Message{1, 1, ProbeBody{1, 7}}, b.now, out);
  Message old = out.messages[0].message;
  std::get<RequestBody>(old.body).term = 1;  // a wish, long granted
  b.silent[2] = true;
  int waited = 0;
  for (; waited < 100 && !b.settled(2); ++waited) {
    // Between the newer one's arrival and the keepers' next look at it.
    b.now += b.config.tick;
    std::vector<std::pair<NodeId, Outgoing>> arriving;
    arriving.swap(b.flight);
    for (const auto& [from, o] : arriving) {
      if (b.silent[from] || b.silent[o.to]) continue;
      b.ledgers[o.to].on_message(from, o.message, b.now, out);
      b.post(o.to, out);
    }
    for (NodeId k = 0; k < 3; ++k) b.ledgers[k].on_message(3, old, b.now, out);
    out.clear();
    for (NodeId i = 0; i < 4; ++i) {
      b.ledgers[i].on_tick(b.now, out);
      b.post(i, out);
    }
  }
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
    const auto edge = std::find_if(edges.begin(), edges.end(),
                                   [](const Edge& e) { return e.peer.node == 3 && e.life != 0; });
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
  TEST_ASSERT_EQUAL_UINT32(b.config.epoch + 7 + 8 + 9, b.ledgers[2].epoch());
}

TEST(quorums_follow_the_size_and_the_degree) {
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(3, 2));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(4, 3));
  TEST_ASSERT_EQUAL_UINT8(2, quorum_for(5, 4));
  TEST_ASSERT_EQUAL_UINT8(3, quorum_for(100, 8));
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(100, 1));
  TEST_ASSERT_EQUAL_UINT8(1, quorum_for(100, 0));
}

// Found by fuzzing: sums of what peers claim overflowed.
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
      body.life = edge->life;
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
      for (const Edge& e : victim.edges()) statement.ties.push_back({e.peer, e.life, false, false});
      statement.keepers = {{1, 1}};
      bench.ledgers[0].on_message(liar, {1, 1, statement}, bench.now, out);
    }
    bench.tick();
    for (const Parts held : bench.ledgers[0].holding()) {
      TEST_ASSERT_TRUE(held >= -kNumberMax && held <= kNumberMax);
    }
  }
}

TEST(disagreement_is_what_would_have_to_change_hands_and_ends_with_it) {
  Bench bench(2);
  TEST_ASSERT_FALSE(bench.ledgers[0].disagreement(2).has_value());  // nobody has spoken yet
  bench.ticks(40);
  for (const Ledger& l : bench.ledgers) TEST_ASSERT_EQUAL_INT64(0, l.disagreement(2).value());
  // Each holds a half, which the one wants; the other, twice as urgently, wants nine tenths. Prices
  // 1 (1/2 - 1/2) and 2 (1/2 - 9/10) meet when 8/10 / (1 + 2) has moved.
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
    const Parts now = bench.ledgers[1].disagreement(2).value();  // of the one that lacks
    seen = seen || now > due / 2;
    TEST_ASSERT_TRUE(now <= due + kWhole / 1000);
    before = now;
  }
  TEST_ASSERT_TRUE(seen);
  TEST_ASSERT_TRUE(before < kWhole / 1000);
  TEST_ASSERT_INT64_WITHIN(kWhole / 100, half - due, bench.ledgers[0].holding()[2]);
  TEST_ASSERT_EQUAL_UINT64(100, bench.ledgers[0].ticks());
}

TEST(a_fleet_that_had_too_much_for_long_finds_its_prices_as_soon_as_any) {
  Bench b(12);
  Demand idle = wants(kWhole / 100);
  idle.cap = kWhole / 50;
  for (Ledger& l : b.ledgers) l.set_demand(0, idle);
  b.ticks(6000);
  for (NodeId i = 0; i < 12; ++i) b.ledgers[i].set_demand(0, wants(i < 2 ? kWhole : kWhole / 100));
  b.ticks(60);
  // Equal urgency: both lack alike, and get all of it.
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
