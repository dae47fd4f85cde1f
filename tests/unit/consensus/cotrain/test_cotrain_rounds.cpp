#include "consensus/cotrain/cotrain_rounds.hpp"

#include <cmath>
#include <functional>
#include <map>

#include "tests/harness/unit.hpp"
#include "tests/unit/consensus/shared_optimum.hpp"

using namespace laird;
using namespace laird::consensus;
using test::target;
using test::text;

namespace {

constexpr std::size_t kDimension = 24;

RoundsConfig config_with(std::uint32_t rounds, std::uint32_t dimension = kDimension) {
  RoundsConfig c;
  c.model.dimension = dimension;
  c.model.alpha = 0.1;
  c.model.density = 0.5;
  c.rounds = rounds;
  return c;
}

// Boards that are all each other's neighbours; board i with loss |y - target_i|^2 / 2. A message
// takes one step of 10 ms; `lose` says which messages are lost.
struct Group {
  explicit Group(std::size_t n, std::uint32_t rounds)
      : config(config_with(rounds)), at_work(n, true) {
    for (NodeId i = 0; i < n; ++i) {
      boards.emplace_back(config, i, std::vector<double>(kDimension), 1, 0, 1);
    }
    connect();
  }

  void connect(bool done = false) {
    std::size_t n = 0;
    for (const bool up : at_work) n += up ? 1 : 0;
    for (NodeId i = 0; i < boards.size(); ++i) {
      if (!at_work[i]) continue;
      std::vector<std::pair<NodeId, double>> around;
      for (NodeId j = 0; j < boards.size(); ++j) {
        if (j != i && at_work[j]) around.emplace_back(j, 1.0 / static_cast<double>(n));
      }
      boards[i].set_neighbours(around, done, now);
    }
  }

  void work(NodeId i) {
    CoTrainRounds& b = boards[i];
    b.begin();
    std::vector<double> g(kDimension);
    double loss = 0;
    for (std::size_t k = 0; k < kDimension; ++k) {
      g[k] = b.y()[k] - target(i, k);
      loss += g[k] * g[k] / 2;
    }
    b.end(g, loss, now);
  }

  void step() {
    now += 10 * kMillisecond;
    std::vector<std::pair<NodeId, ToPeer>> posted;
    for (NodeId i = 0; i < boards.size(); ++i) {
      if (!at_work[i]) continue;
      static_cast<void>(boards[i].tick(now));
      if (!paused.count(i) && boards[i].may_begin(now)) work(i);
      for (ToPeer& out : boards[i].take_outgoing()) posted.emplace_back(i, std::move(out));
    }
    for (const auto& [from, out] : posted) {
      for (NodeId j = 0; j < boards.size(); ++j) {
        if (j == from || !at_work[j] || (!out.everyone && out.to != j)) continue;
        ++sent;
        if (lose && lose(from, j, sent)) continue;
        const Status heard = boards[j].hear(from, text(out.bytes), now);
        TEST_ASSERT_TRUE_MESSAGE(heard.has_value() || heard.error().code == Code::kRefused,
                                 heard ? "" : heard.error().context.c_str());
      }
    }
  }

  void steps(int count) {
    for (int k = 0; k < count; ++k) step();
  }

  double error() const { return test::worst_error(boards, at_work); }

  RoundsConfig config;
  std::vector<CoTrainRounds> boards;
  std::vector<bool> at_work;
  std::map<NodeId, bool> paused;
  std::function<bool(NodeId, NodeId, std::size_t)> lose;
  TimeNs now = kHour;
  std::size_t sent = 0;
};

}  // namespace

TEST(boards_go_round_by_round_to_the_optimum_of_all_data) {
  Group g(4, 0);
  g.steps(600);
  TEST_ASSERT_TRUE(g.error() < 1e-6);
  for (const CoTrainRounds& b : g.boards) {
    TEST_ASSERT_TRUE(b.round() + 1 >= g.boards[0].round() && b.round() <= g.boards[0].round() + 1);
    TEST_ASSERT_EQUAL_UINT64(3, b.present());
  }
  // Nothing was lost, so nobody ever restarted the tracking.
  TEST_ASSERT_EQUAL_UINT32(2, g.boards[0].epoch());
}

TEST(neighbours_report_the_same_loss_of_the_group_in_the_same_round) {
  Group g(3, 50);
  g.steps(200);
  TEST_ASSERT_TRUE(g.boards[0].finished());
  TEST_ASSERT_EQUAL_DOUBLE(g.boards[0].group_loss(), g.boards[1].group_loss());
  TEST_ASSERT_EQUAL_DOUBLE(g.boards[0].group_loss(), g.boards[2].group_loss());
}

TEST(lost_messages_cost_time_and_not_the_optimum) {
  Group g(4, 0);
  g.lose = [](NodeId, NodeId, std::size_t n) { return n % 97 == 0 && n < 3000; };
  g.steps(4000);
  TEST_ASSERT_TRUE(g.boards[0].round() > 200);
  g.steps(2000);
  TEST_ASSERT_TRUE(g.error() < 1e-5);
}

TEST(a_board_that_stops_is_waited_for_and_then_left_behind) {
  Group g(3, 0);
  g.steps(50);
  g.paused[2] = true;
  const std::uint32_t stopped_at = g.boards[2].round();
  g.steps(400);  // 4 s of the 5 s
  TEST_ASSERT_TRUE(g.boards[0].round() <= stopped_at + 1);
  g.steps(300);
  TEST_ASSERT_TRUE(g.boards[0].round() > stopped_at + 50);
  TEST_ASSERT_EQUAL_UINT64(1, g.boards[0].present());
  g.paused.clear();
  g.steps(600);
  TEST_ASSERT_EQUAL_UINT64(2, g.boards[0].present());
  TEST_ASSERT_TRUE(g.boards[2].round() + 1 >= g.boards[0].round());
  TEST_ASSERT_TRUE(g.error() < 1e-5);
}

TEST(a_board_that_stops_for_a_short_time_is_not_left_behind) {
  Group g(3, 0);
  g.steps(50);
  const std::uint32_t epoch = g.boards[0].epoch();
  g.paused[2] = true;
  g.steps(200);
  g.paused.clear();
  g.steps(50);
  TEST_ASSERT_EQUAL_UINT32(epoch, g.boards[0].epoch());
  TEST_ASSERT_EQUAL_UINT64(2, g.boards[0].present());
}

TEST(a_board_that_is_killed_and_comes_back_with_an_old_model_takes_over_the_newer_one) {
  Group g(4, 0);
  g.steps(40);
  const std::vector<double> old = g.boards[3].y();
  const std::uint32_t round = g.boards[3].round();
  g.at_work[3] = false;
  g.connect();
  g.steps(300);
  const std::vector<double> before = g.boards[0].y();
  g.boards[3] = CoTrainRounds(g.config, 3, old, 2, round, 2);
  g.at_work[3] = true;
  g.connect();
  g.steps(20);
  TEST_ASSERT_TRUE(g.boards[3].round() + 1 >= g.boards[0].round());
  // The others did not go back to the round at which it had stopped.
  for (std::size_t k = 0; k < kDimension; ++k) {
    TEST_ASSERT_TRUE(std::abs(g.boards[0].y()[k] - before[k]) < 0.3);
  }
  g.steps(600);
  TEST_ASSERT_TRUE(g.error() < 1e-5);
}

TEST(a_board_without_neighbours_waits_unless_it_may_train_alone) {
  RoundsConfig c = config_with(0);
  CoTrainRounds waits(c, 0, std::vector<double>(kDimension), 1, 0, 1);
  waits.set_neighbours({}, false, kSecond);
  TEST_ASSERT_FALSE(waits.may_begin(kHour));
  c.peers_min = 0;
  CoTrainRounds goes_on(c, 0, std::vector<double>(kDimension), 1, 0, 1);
  goes_on.set_neighbours({}, false, kSecond);
  TEST_ASSERT_TRUE(goes_on.may_begin(kHour));
}

TEST(all_boards_end_with_the_planned_round_and_a_late_one_when_the_others_have_ended) {
  Group g(3, 30);
  g.steps(20);
  g.paused[2] = true;
  g.steps(1200);
  TEST_ASSERT_TRUE(g.boards[0].finished() && g.boards[1].finished());
  TEST_ASSERT_FALSE(g.boards[2].finished());
  g.boards[2].set_neighbours({}, true, g.now);
  TEST_ASSERT_TRUE(g.boards[2].finished());
  TEST_ASSERT_FALSE(g.boards[2].may_begin(g.now));
}

TEST(a_model_longer_than_a_fragment_travels_in_fragments) {
  constexpr std::uint32_t kMany = 9000;
  RoundsConfig c = config_with(0, kMany);
  std::vector<double> start(kMany, 0.5);
  CoTrainRounds a(c, 0, start, 1, 0, 1);
  CoTrainRounds b(c, 1, start, 1, 0, 1);
  a.set_neighbours({{1, 0.5}}, false, kSecond);
  b.set_neighbours({{0, 0.5}}, false, kSecond);
  const auto carry = [](CoTrainRounds& from, CoTrainRounds& to, NodeId id) {
    std::size_t count = 0;
    for (const ToPeer& out : from.take_outgoing()) {
      TEST_ASSERT_TRUE(out.bytes.size() <= kFragmentBytesMax + kFragmentHeadBytesMax);
      TEST_ASSERT_TRUE(to.hear(id, text(out.bytes), kSecond).has_value());
      ++count;
    }
    return count;
  };
  TEST_ASSERT_EQUAL_UINT64(1, carry(a, b, 0));      // a question
  TEST_ASSERT_EQUAL_UINT64(1 + 3, carry(b, a, 1));  // b's question, and a snapshot of 72 kB
  TEST_ASSERT_TRUE(a.may_begin(kSecond));
}

TEST(messages_that_are_malformed_or_from_strangers_are_refused_and_change_nothing) {
  Group g(3, 0);
  g.steps(20);
  g.work(1);
  const std::vector<ToPeer> out = g.boards[1].take_outgoing();
  TEST_ASSERT_EQUAL_UINT64(1, out.size());
  const std::vector<double> before = g.boards[0].y();
  const std::string_view good = text(out[0].bytes);
  for (std::size_t n = 0; n < kFragmentHeadBytesMin; ++n) {
    TEST_ASSERT_FALSE(g.boards[0].hear(1, good.substr(0, n), g.now).has_value());
  }
  TEST_ASSERT_FALSE(g.boards[0].hear(9, good, g.now).has_value());
  std::string wrong(good);
  wrong[0] = 0x2F;
  TEST_ASSERT_FALSE(g.boards[0].hear(1, wrong, g.now).has_value());
  std::string far(good);
  far[12] = 0x7F;  // the high byte of the round
  TEST_ASSERT_FALSE(g.boards[0].hear(1, far, g.now).has_value());
  TEST_ASSERT_TRUE(before == g.boards[0].y());
}

TEST(questions_are_answered_twice_a_second_at_most) {
  Group g(2, 0);
  g.steps(20);
  CoTrainRounds asker(g.config, 0, std::vector<double>(kDimension), 5, 0, 1);
  asker.set_neighbours({{1, 0.5}}, false, g.now);
  const std::vector<ToPeer> question = asker.take_outgoing();
  TEST_ASSERT_EQUAL_UINT64(1, question.size());
  g.now += kSecond;
  static_cast<void>(g.boards[1].take_outgoing());
  for (int k = 0; k < 100; ++k) {
    TEST_ASSERT_TRUE(g.boards[1].hear(0, text(question[0].bytes), g.now).has_value());
  }
  TEST_ASSERT_EQUAL_UINT64(1, g.boards[1].take_outgoing().size());
}
