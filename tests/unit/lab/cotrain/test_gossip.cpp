#include "lab/cotrain/gossip.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"
#include "tests/unit/consensus/shared_optimum.hpp"

using namespace laird;
using namespace laird::lab::gossip;
using laird::consensus::NodeId;
using test::target;
using test::text;

namespace {

constexpr std::size_t kDimension = 40;

// Boards on a ring, board i with loss |y - target_i|^2 / 2: the optimum is the mean target.
struct Ring {
  explicit Ring(std::size_t n, double density) : up(n, true) {
    GossipConfig c;
    c.dimension = kDimension;
    c.alpha = 0.1;
    c.density = density;
    for (std::size_t i = 0; i < n; ++i) boards.emplace_back(c, std::vector<double>(kDimension));
    connect();
  }
  void connect() {
    std::vector<NodeId> live;
    for (NodeId i = 0; i < boards.size(); ++i) {
      if (up[i]) live.push_back(i);
    }
    for (std::size_t k = 0; k < live.size(); ++k) {
      const NodeId before = live[(k + live.size() - 1) % live.size()];
      const NodeId after = live[(k + 1) % live.size()];
      boards[live[k]].set_neighbours({{before, 1.0 / 3}, {after, 1.0 / 3}});
    }
  }
  void round() {
    std::vector<Bytes> messages(boards.size());
    for (std::size_t i = 0; i < boards.size(); ++i) {
      if (!up[i]) continue;
      boards[i].mix();
      std::vector<double> g(kDimension);
      for (std::size_t k = 0; k < kDimension; ++k) g[k] = boards[i].y()[k] - target(i, k);
      boards[i].track(g);
      messages[i] = boards[i].message();
      bytes += messages[i].size();
    }
    for (NodeId i = 0; i < boards.size(); ++i) {
      if (!up[i]) continue;
      for (const CoTrainPeer& p : std::vector(boards[i].peers())) {
        const auto ask = boards[i].on_message(p.node, text(messages[p.node]));
        if (ask && *ask) {
          TEST_ASSERT_TRUE(
              boards[i].on_message(p.node, text(boards[p.node].snapshot())).has_value());
        }
      }
    }
  }
  double error() const { return test::worst_error(boards, up); }

  std::vector<Cotrainer> boards;
  std::vector<bool> up;
  std::size_t bytes = 0;
};

}  // namespace

TEST(boards_agree_on_the_optimum_of_all_their_data) {
  Ring ring(6, 0.25);
  for (int k = 0; k < 400; ++k) ring.round();
  TEST_ASSERT_TRUE(ring.error() < 1e-6);
}

TEST(the_optimum_follows_boards_that_leave_and_join) {
  Ring ring(6, 0.5);
  for (int k = 0; k < 50; ++k) ring.round();
  ring.up[3] = false;
  ring.connect();
  for (int k = 0; k < 400; ++k) ring.round();
  TEST_ASSERT_TRUE(ring.error() < 1e-5);
  ring.up[3] = true;
  ring.connect();
  for (int k = 0; k < 400; ++k) ring.round();
  TEST_ASSERT_TRUE(ring.error() < 1e-5);
}

TEST(a_missed_message_is_noticed_and_made_good_by_a_snapshot) {
  Ring ring(3, 1.0);
  for (int k = 0; k < 3; ++k) ring.round();
  static_cast<void>(ring.boards[1].message());
  const Bytes next = ring.boards[1].message();
  const auto ask = ring.boards[0].on_message(1, text(next));
  TEST_ASSERT_TRUE(ask.has_value() && *ask);
  const auto done = ring.boards[0].on_message(1, text(ring.boards[1].snapshot()));
  TEST_ASSERT_TRUE(done.has_value() && !*done);
}

TEST(repeated_messages_change_nothing) {
  Ring ring(3, 1.0);
  for (int k = 0; k < 5; ++k) ring.round();
  const Bytes m = ring.boards[1].message();
  TEST_ASSERT_TRUE(ring.boards[0].on_message(1, text(m)).has_value());
  const std::vector<double> before = ring.boards[0].peers()[0].y;
  TEST_ASSERT_TRUE(ring.boards[0].on_message(1, text(m)).has_value());
  TEST_ASSERT_TRUE(before == ring.boards[0].peers()[0].y);
}

TEST(malformed_messages_are_refused_and_leave_the_copy_alone) {
  Ring ring(3, 1.0);
  for (int k = 0; k < 5; ++k) ring.round();
  const Bytes m = ring.boards[1].message();
  const std::vector<double> before = ring.boards[0].peers()[0].y;
  for (std::size_t n = 0; n < m.size(); ++n) {
    TEST_ASSERT_FALSE(ring.boards[0].on_message(1, text(m).substr(0, n)).has_value());
  }
  Bytes longer = m;
  longer.push_back(0);
  TEST_ASSERT_FALSE(ring.boards[0].on_message(1, text(longer)).has_value());
  TEST_ASSERT_FALSE(ring.boards[0].on_message(9, text(m)).has_value());
  Bytes version = m;
  version[0] = 0x20;
  TEST_ASSERT_FALSE(ring.boards[0].on_message(1, text(version)).has_value());
  TEST_ASSERT_TRUE(before == ring.boards[0].peers()[0].y);
}

TEST(a_message_is_at_least_six_times_smaller_than_float32) {
  GossipConfig c;
  c.dimension = 8000;
  c.density = 0.2;
  Cotrainer board(c, std::vector<double>(8000));
  std::vector<double> g(8000);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = std::sin(static_cast<double>(i));
  board.track(g);
  board.mix();
  board.track(g);
  TEST_ASSERT_TRUE(board.message().size() * 6 < 2 * 4 * 8000);
}

TEST(the_archived_trainer_continues_the_same) {
  Ring ring(3, 0.5);
  for (int k = 0; k < 5; ++k) ring.round();
  Bytes bytes;
  Archive w = Archive::writer(bytes);
  ring.boards[0].archive(w);
  Cotrainer back(GossipConfig{kDimension, 0.1, 0.125, 0.5, 0.4}, std::vector<double>(kDimension));
  Archive r = Archive::reader(bytes);
  back.archive(r);
  TEST_ASSERT_FALSE(r.failed());
  TEST_ASSERT_TRUE(back.message() == ring.boards[0].message());
}
