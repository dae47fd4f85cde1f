// An agent that stood still between an event and what follows from it.
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "agent/fleet/share_history.hpp"
#include "tests/unit/agent/driver/one_board.hpp"

using namespace laird;
using agent::ShareHistory;

namespace {

constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);
constexpr std::int64_t kFloorMw = 2000;
constexpr DurationNs kPastTheFence = 7 * kSecond;

constexpr const char* kFleet = R"({"name": "lab", "brokers": ["mqtt://127.0.0.1:1"],
    "insecure_lab": true, "tick": "50ms", "lease": "6s", "budget": {"power": "20W"},
    "members": {"n-1": {"power": "2W"}, "n-2": {"power": "2W"}, "n-3": {"power": "2W"}}})";

// A board that agreed with two others on its part of the budget, and has heard nothing since.
class Founder : public test::OneBoard {
 public:
  Founder() : OneBoard(kFleet) {
    OneBoard second(kFleet, 0, "n-2");
    OneBoard third(kFleet, 0, "n-3");
    const std::array<OneBoard*, 3> boards = {this, &second, &third};
    std::map<std::string, std::vector<core::PeerMessage>> posts;
    for (OneBoard* board : boards) {
      const std::string name = board->agent->state().config.node;
      agent::Agent::Peers peers;
      peers.gather = [&posts, name] { return std::exchange(posts[name], {}); };
      peers.send = [&posts, name](const core::SendToPeer& c) {
        posts[c.to].push_back({name, c.bytes});
      };
      board->agent->set_peers(std::move(peers));
      board->agent->join_fleet(false);
      board->agent->process();
    }
    for (int round = 0; round < 200 && enforced_mw() <= kFloorMw; ++round) {
      for (OneBoard* board : boards) {
        board->clock.pass(50 * kMillisecond);
        TEST_ASSERT_TRUE(board->loop->run_once(kMillisecond).has_value());
        board->agent->process();
      }
    }
    agent->set_peers({});
    TEST_ASSERT_GREATER_THAN_INT64(kFloorMw, enforced_mw());
  }

  [[nodiscard]] std::int64_t enforced_mw() const { return agent->state().fleet.enforced[kPower]; }
  void note() {
    const auto [wall, now] = agent->instant();
    history.note(agent->state(), wall, now);
  }

  ShareHistory history;
};

core::TaskSpec small_task() {
  core::TaskSpec spec;
  spec.name = "night";
  spec.trainer = "linear";
  spec.deadline_after = kHour;
  spec.target_loss = 0.1;
  spec.memory_bytes = 1'000'000;
  return spec;
}

}  // namespace

TEST(what_was_decided_before_the_fence_is_not_done_after_it_until_the_core_knows_the_time) {
  Founder board;
  std::int64_t enforced_then = -1;
  board.agent->on_changed([&](const core::Task&, const core::TaskChanged&) {
    if (enforced_then < 0) enforced_then = board.enforced_mw();
  });
  std::string answer;
  board.agent->submit(small_task(), [&](const core::Answer& a) { answer = a.text; });
  board.clock.pass(kPastTheFence);
  board.agent->process();
  TEST_ASSERT_EQUAL_INT64(kFloorMw, enforced_then);
  TEST_ASSERT_EQUAL_INT64(kFloorMw, board.enforced_mw());
  TEST_ASSERT_EQUAL_STRING("accepted", answer.c_str());
}

TEST(what_was_decided_in_time_is_done_at_once) {
  Founder board;
  int changes = 0;
  board.agent->on_changed([&](const core::Task&, const core::TaskChanged&) { ++changes; });
  board.agent->submit(small_task(), [](const core::Answer&) {});
  const TimeNs asked_at = board.agent->now();
  board.clock.pass(200 * kMillisecond);
  board.agent->process();
  TEST_ASSERT_GREATER_THAN_INT(0, changes);
  TEST_ASSERT_GREATER_THAN_INT64(kFloorMw, board.enforced_mw());
  TEST_ASSERT_EQUAL_INT64(asked_at, board.agent->state().now);
}

TEST(a_share_is_told_to_have_ended_at_the_fence_however_late_the_agent_looks) {
  Founder board;
  board.note();
  const TimeNs wall_before = board.clock.wall;
  board.clock.pass(kPastTheFence);
  // The state is as it was before the fence, the clock is not.
  board.note();
  const auto& points = board.history.take(board.clock.wall);
  TEST_ASSERT_EQUAL_UINT64(2, points.size());
  TEST_ASSERT_GREATER_THAN_INT64(0, points[0].parts);
  TEST_ASSERT_EQUAL_INT64(wall_before / 1000, points[0].unix_us);
  TEST_ASSERT_EQUAL_INT64(0, points[1].parts);
  TEST_ASSERT_EQUAL_INT64(kFloorMw, points[1].enforced_mw);
  TEST_ASSERT_GREATER_THAN_INT64(wall_before / 1000, points[1].unix_us);
  TEST_ASSERT_LESS_OR_EQUAL_INT64((wall_before + 6 * kSecond) / 1000, points[1].unix_us);
  // Once the core knows, there is nothing to add.
  board.agent->note_config("awake");
  board.agent->process();
  board.note();
  TEST_ASSERT_FALSE(board.history.fresh());
}

TEST(a_moment_between_two_clocks_makes_no_share_of_a_floor) {
  Founder board;
  board.note();
  board.clock.stall = kPastTheFence;  // between reading the wall clock and the other
  board.note();
  const auto& points = board.history.take(board.clock.wall);
  TEST_ASSERT_EQUAL_UINT64(2, points.size());
  TEST_ASSERT_EQUAL_INT64(0, points[1].parts);
  TEST_ASSERT_EQUAL_INT64(kFloorMw, points[1].enforced_mw);
  TEST_ASSERT_LESS_THAN_INT64((board.clock.wall - kSecond) / 1000, points[1].unix_us);
}

TEST(an_agent_that_stops_tells_that_only_its_floor_is_left_and_repeats_half_a_minute) {
  Founder board;
  board.note();
  const auto [wall, now] = board.agent->instant();
  board.history.give_up(board.agent->state(), wall, now);
  TEST_ASSERT_TRUE(board.history.fresh());
  const auto& points = board.history.take(wall);
  TEST_ASSERT_FALSE(board.history.fresh());
  TEST_ASSERT_EQUAL_UINT64(2, points.size());
  TEST_ASSERT_EQUAL_INT64(0, points[1].parts);
  TEST_ASSERT_EQUAL_INT64(kFloorMw, points[1].enforced_mw);
  TEST_ASSERT_EQUAL_INT64(points[0].unix_us + 1, points[1].unix_us);
  // What is older is told no more, but for the last of it.
  TEST_ASSERT_EQUAL_UINT64(1, board.history.take(wall + kMinute).size());
}
