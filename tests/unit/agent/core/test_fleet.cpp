// Whole boards in a fleet: the unchanged core with its ledger, a network that loses and repeats,
// boards that die and come back. What is enforced never adds up to more than the budget.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;

namespace {

constexpr std::size_t kPowerAt = static_cast<std::size_t>(Resource::kPower);

FleetBudget plan_of(std::size_t boards, std::int64_t budget_mw, std::int64_t floor_mw) {
  FleetBudget budget;
  budget.founding_epoch = 1;
  for (std::size_t i = 0; i < boards; ++i) {
    const std::string id = "n-" + std::to_string(i);
    budget.founders.push_back(id);
    budget.members.push_back({id, {0, 0, floor_mw}});
  }
  budget.total[kPowerAt] = budget_mw;
  return budget;
}

CoreConfig member_config(const FleetBudget& budget, const std::string& node, DurationNs slice = 0) {
  CoreConfig config = test::small_board();
  if (slice > 0) config.slice = slice;
  config.node = node;
  config.fleet.budget = budget;
  config.fleet.lease = 20 * kSecond;
  config.meter.gpu_weight = 10'000;
  config.meter.cpu_weight = 5'000;
  return config;
}

class FakeFleet {
 public:
  FakeFleet(const FleetBudget& budget, std::uint64_t seed, DurationNs slice = 0) : random_{seed} {
    for (const FleetMember& m : budget.members) {
      boards.push_back(std::make_unique<FakeBoard>(member_config(budget, m.id, slice)));
      down.push_back(false);
      cut.push_back(false);
    }
  }

  void join_all() {
    for (auto& board : boards) board->tell(FleetJoined{false});
  }

  // A second at a time: what was sent arrives, each board lives on.
  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      deliver();
      for (std::size_t b = 0; b < boards.size(); ++b) {
        if (!down[b]) boards[b]->run_for(kSecond);
        check();
      }
    }
  }

  // Comes back after it was down: its clock has gone on.
  void bring_back(std::size_t b, int seconds_down, bool machine_too) {
    boards[b]->run_for(0);
    boards[b]->skip(seconds_down * kSecond);
    if (machine_too) ++boards[b]->machine_boot;
    boards[b]->restart();
    down[b] = false;
  }

  [[nodiscard]] std::int64_t enforced(std::size_t b) const {
    // A dead agent's trainers die with it: it uses nothing above its floor.
    return down[b] ? boards[b]->state.fleet.budget.member(boards[b]->config.node)->floor[kPowerAt]
                   : boards[b]->state.fleet.enforced[kPowerAt];
  }
  [[nodiscard]] std::int64_t enforced_all() const {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < boards.size(); ++b) sum += enforced(b);
    return sum;
  }

  std::vector<std::unique_ptr<FakeBoard>> boards;
  std::vector<bool> down;
  std::vector<bool> cut;
  int loss_percent = 0;
  std::int64_t most = 0;  // enforced at once, ever

 private:
  void check() { most = std::max(most, enforced_all()); }

  void deliver() {
    std::vector<std::vector<PeerMessage>> inbox(boards.size());
    for (std::size_t b = 0; b < boards.size(); ++b) {
      for (const SendToPeer& m : boards[b]->sent) {
        for (std::size_t to = 0; to < boards.size(); ++to) {
          if (boards[to]->config.node != m.to || cut[b] || cut[to]) continue;
          if (random_.chance(loss_percent)) continue;
          inbox[to].push_back({boards[b]->config.node, m.bytes});
          if (random_.chance(10)) inbox[to].push_back({boards[b]->config.node, m.bytes});
        }
      }
      boards[b]->sent.clear();
    }
    for (std::size_t b = 0; b < boards.size(); ++b) {
      if (!down[b] && !inbox[b].empty()) boards[b]->tell(PeersHeard{std::move(inbox[b])});
    }
  }

  test::Random random_;
};

}  // namespace

TEST(a_board_alone_is_not_limited) {
  FakeBoard board(test::small_board());
  board.run_for(10 * kSecond);
  TEST_ASSERT_EQUAL_INT64(kUnlimited, board.state.fleet.enforced[kPowerAt]);
  TEST_ASSERT_EQUAL_INT(0, board.count("send-to-peer"));
}

TEST(a_board_that_has_not_joined_has_its_floor) {
  const FleetBudget budget = plan_of(3, 60'000, 2'000);
  FakeBoard board(member_config(budget, "n-0"));
  board.run_for(5 * kSecond);
  TEST_ASSERT_EQUAL_INT64(2'000, board.state.fleet.enforced[kPowerAt]);
  TEST_ASSERT_EQUAL_INT(0, board.count("send-to-peer"));
}

TEST(the_budget_goes_to_the_board_that_needs_it) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 7);
  fleet.join_all();
  TaskSpec busy = test::small_task("busy", 10 * kMinute, 0.05);
  busy.lane = LaneKind::kGpu;
  fleet.boards[0]->submit(busy);
  fleet.run(90);
  // 16 W above the floors; the busy board's one lane draws 10 W at most.
  TEST_ASSERT_GREATER_OR_EQUAL_INT64(5'000, fleet.enforced(0));
  TEST_ASSERT_GREATER_THAN_INT64(fleet.enforced(1), fleet.enforced(0));
  TEST_ASSERT_LESS_OR_EQUAL_INT64(20'000, fleet.most);
}

TEST(the_sum_of_what_is_enforced_never_exceeds_the_budget) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    FakeFleet fleet(plan_of(6, 30'000, 1'000), seed);
    fleet.loss_percent = 30;
    fleet.join_all();
    for (std::size_t b = 0; b < 6; b += 2) {
      fleet.boards[b]->submit(
          test::small_task("t" + std::to_string(b), static_cast<DurationNs>(3 + b) * kMinute, 0.1));
    }
    fleet.run(40);
    const std::size_t victim = seed % 6;
    fleet.down[victim] = true;
    fleet.run(static_cast<int>(5 * seed));
    fleet.bring_back(victim, static_cast<int>(5 * seed), seed % 2 == 0);
    fleet.cut[(victim + 1) % 6] = true;
    fleet.run(40);
    fleet.cut[(victim + 1) % 6] = false;
    fleet.run(120);
    if (fleet.most > 30'000) std::printf("seed %d\n", static_cast<int>(seed));
    TEST_ASSERT_LESS_OR_EQUAL_INT64(30'000, fleet.most);
    // Afterwards all of it is in use or at hand: nothing is left with the dead.
    consensus::Parts held = 0;
    for (auto& board : fleet.boards) {
      TEST_ASSERT_TRUE(board->state.fleet.ledger != nullptr);
      held += board->state.fleet.ledger->holding()[kPowerAt];
      TEST_ASSERT_FALSE(board->state.fleet.fenced(board->now()));
    }
    TEST_ASSERT_GREATER_THAN_INT64(consensus::kWhole - consensus::kWhole / 1000, held);
  }
}

TEST(what_is_kept_of_a_ledgers_digest_is_true_after_every_step) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 9);
  FakeBoard& board = *fleet.boards[1];
  std::string wrong;
  board.after_step = [&](const Event& event, const Effects&) {
    const std::uint64_t digest = board.state.digest();
    if (test::read_back(board.state).digest() != digest) wrong = describe(event.body);
  };
  fleet.join_all();
  board.submit(test::small_task("t", kMinute, 0.1));
  fleet.run(30);
  fleet.cut[1] = true;
  fleet.run(25);
  fleet.cut[1] = false;
  fleet.run(30);
  board.tell(DrainRequested{1, true});
  fleet.run(40);
  board.tell(DrainRequested{2, false});
  fleet.run(20);
  TEST_ASSERT_EQUAL_STRING("", wrong.c_str());
}

TEST(a_share_ends_with_the_fence_whether_an_event_says_so_or_not) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 3);
  fleet.join_all();
  fleet.run(20);
  const FakeBoard& board = *fleet.boards[2];
  const std::int64_t share = board.state.fleet.enforced[kPowerAt];
  TEST_ASSERT_GREATER_THAN_INT64(1'000, share);
  TEST_ASSERT_EQUAL_INT64(share, enforced_at(board.state, board.now())[kPowerAt]);
  // Nothing was journalled since: the state still says what it said.
  const TimeNs later = board.now() + board.config.fleet.lease;
  TEST_ASSERT_EQUAL_INT64(share, board.state.fleet.enforced[kPowerAt]);
  TEST_ASSERT_EQUAL_INT64(1'000, enforced_at(board.state, later)[kPowerAt]);
}

TEST(a_board_cut_off_falls_to_its_floor_within_the_lease) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 3);
  fleet.join_all();
  fleet.run(20);
  TEST_ASSERT_FALSE(fleet.boards[2]->state.fleet.fenced(fleet.boards[2]->now()));
  fleet.cut[2] = true;
  fleet.run(21);
  TEST_ASSERT_EQUAL_INT64(1'000, fleet.enforced(2));
  TEST_ASSERT_EQUAL_INT(static_cast<int>(NoticeKind::kFenced),
                        static_cast<int>(fleet.boards[2]->notices.back().kind));
}

TEST(a_crashed_agent_takes_its_account_up_again_and_a_rebooted_machine_does_not) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 5);
  fleet.join_all();
  fleet.run(30);
  const consensus::Account before = fleet.boards[1]->state.fleet.ledger->account();
  fleet.down[1] = true;
  fleet.run(3);
  fleet.bring_back(1, 3, false);
  fleet.run(2);
  TEST_ASSERT_TRUE(before == fleet.boards[1]->state.fleet.ledger->account());
  fleet.down[1] = true;
  fleet.run(3);
  fleet.bring_back(1, 3, true);
  fleet.run(2);
  TEST_ASSERT_GREATER_THAN_UINT32(before.incarnation,
                                  fleet.boards[1]->state.fleet.ledger->account().incarnation);
}

// What an agent granted follows from its journal for its own build only: another would step the
// same events to other grants, and could use a share twice.
TEST(an_upgraded_agent_begins_a_new_account) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 5);
  fleet.join_all();
  fleet.run(30);
  const consensus::Account before = fleet.boards[1]->state.fleet.ledger->account();
  fleet.down[1] = true;
  fleet.run(3);
  fleet.boards[1]->program = 2;
  fleet.bring_back(1, 3, false);
  fleet.run(2);
  TEST_ASSERT_GREATER_THAN_UINT32(before.incarnation,
                                  fleet.boards[1]->state.fleet.ledger->account().incarnation);
  fleet.run(20);
  TEST_ASSERT_FALSE(fleet.boards[1]->state.fleet.fenced(fleet.boards[1]->now()));
  TEST_ASSERT_LESS_OR_EQUAL_INT64(20'000, fleet.most);
}

TEST(a_founder_seen_before_gets_no_genesis) {
  FakeBoard board(member_config(plan_of(3, 60'000, 2'000), "n-0"));
  board.tell(FleetJoined{true});
  // Whoever had its name may still hold a share, for a lease.
  board.run_for(board.config.fleet.lease);
  TEST_ASSERT_TRUE(board.state.fleet.ledger == nullptr);
  board.run_for(5 * kSecond);
  TEST_ASSERT_GREATER_THAN_UINT32(1, board.state.fleet.ledger->account().incarnation);
  TEST_ASSERT_EQUAL_INT64(0, board.state.fleet.ledger->holding()[kPowerAt]);
}

TEST(a_board_displaced_by_another_of_its_name_has_its_floor_at_once_and_comes_back_with_nothing) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 11);
  fleet.join_all();
  fleet.run(20);
  FakeBoard& board = *fleet.boards[2];
  TEST_ASSERT_GREATER_THAN_INT64(1'000, fleet.enforced(2));
  const std::uint32_t before = board.state.fleet.ledger->account().incarnation;
  board.tell(Displaced{});
  TEST_ASSERT_EQUAL_INT64(1'000, fleet.enforced(2));
  TEST_ASSERT_TRUE(board.state.fleet.fenced(board.state.now));
  fleet.run(5);
  TEST_ASSERT_EQUAL_INT64(1'000, fleet.enforced(2));
  board.tell(FleetJoined{true});
  fleet.run(90);
  TEST_ASSERT_GREATER_THAN_UINT32(before, board.state.fleet.ledger->account().incarnation);
  TEST_ASSERT_GREATER_THAN_INT64(1'000, fleet.enforced(2));
  TEST_ASSERT_LESS_OR_EQUAL_INT64(20'000, fleet.most);
}

TEST(no_grant_of_a_board_with_a_share_lasts_beyond_its_fence) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 21, kHour);
  fleet.join_all();
  fleet.run(20);
  fleet.boards[0]->submit(test::small_task("long", 10 * kMinute, 1e-9));
  int seen = 0;
  for (int i = 0; i < 60; ++i) {
    fleet.run(1);
    const State& state = fleet.boards[0]->state;
    for (const Lane& lane : state.lanes) {
      if (lane.running.empty() || state.fleet.on_floor(state.now)) continue;
      ++seen;
      // The fence only moves away from here on.
      TEST_ASSERT_LESS_OR_EQUAL_INT64(state.fleet.ledger->fence_deadline(), lane.slice_ends_at);
    }
  }
  TEST_ASSERT_GREATER_THAN_INT(10, seen);
}

TEST(a_smaller_budget_takes_effect_at_once_and_an_older_plan_is_refused) {
  FleetBudget budget = plan_of(4, 20'000, 1'000);
  FakeFleet fleet(budget, 9);
  fleet.join_all();
  fleet.run(20);
  FleetBudget cut = budget;
  cut.rev = 5;
  cut.total[kPowerAt] = 10'000;
  for (auto& board : fleet.boards) board->tell(BudgetChanged{1, cut});
  TEST_ASSERT_LESS_OR_EQUAL_INT64(10'000, fleet.enforced_all());
  cut.rev = 4;
  fleet.boards[0]->tell(BudgetChanged{2, cut});
  TEST_ASSERT_FALSE(fleet.boards[0]->answers.back().ok);
  TEST_ASSERT_EQUAL_UINT64(5, fleet.boards[0]->state.fleet.budget.rev);
}

TEST(a_budget_below_the_floors_is_no_plan) {
  TEST_ASSERT_FALSE(check_fleet_budget(plan_of(4, 3'999, 1'000)).has_value());
  TEST_ASSERT_TRUE(check_fleet_budget(plan_of(4, 4'000, 1'000)).has_value());
}

TEST(a_budget_for_an_hour_ends_by_itself) {
  FleetBudget budget = plan_of(2, 20'000, 1'000);
  budget.power_mw_for_now = 8'000;
  budget.power_for_now_until_wall = 1'000'000 * kSecond + kHour;
  const TimeNs start = 1'000'000 * kSecond;
  TEST_ASSERT_EQUAL_INT64(8'000, budget.budget_at(Resource::kPower, start));
  TEST_ASSERT_EQUAL_INT64(20'000, budget.budget_at(Resource::kPower, start + kHour));
}

TEST(a_command_is_carried_out_once_however_often_it_arrives) {
  FakeBoard board(member_config(plan_of(2, 20'000, 1'000), "n-0"));
  const TimeNs expires = board.now() + kMinute;
  const OperatorCommand command{7, "op-a", "cmd-1", expires, DrainRequested{7, true}};
  board.tell(command);
  TEST_ASSERT_TRUE(board.state.draining);
  board.tell(DrainRequested{8, false});
  board.restart();  // what was done is remembered in the journal, not in the process
  board.tell(command);
  TEST_ASSERT_FALSE(board.state.draining);
  TEST_ASSERT_EQUAL_STRING("done before", board.answers.back().text.c_str());
  board.run_for(2 * kMinute);
  board.tell(command);
  TEST_ASSERT_FALSE(board.answers.back().ok);
  TEST_ASSERT_FALSE(board.state.draining);
}

TEST(a_draining_board_refuses_new_tasks_and_keeps_what_it_has) {
  FakeBoard board(test::small_board());
  board.submit(test::small_task("first", kMinute, 1e-9));
  board.tell(DrainRequested{1, true});
  board.submit(test::small_task("second", kMinute, 1e-9));
  TEST_ASSERT_FALSE(board.answers.back().ok);
  TEST_ASSERT_NULL(board.task("second"));
  TEST_ASSERT_NOT_NULL(board.task("first"));
  board.restart();
  TEST_ASSERT_TRUE(board.state.draining);
}

TEST(a_drained_board_finishes_its_tasks_before_it_gives_up_its_share) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 9);
  fleet.join_all();
  fleet.boards[2]->submit(test::small_task("last", 5 * kMinute, 0.1));
  fleet.run(10);
  fleet.boards[2]->tell(DrainRequested{1, true});
  fleet.run(1);
  TEST_ASSERT_EQUAL_UINT64(1, fleet.boards[2]->state.live.size());
  TEST_ASSERT_FALSE(fleet.boards[2]->state.fleet.out());
  fleet.run(200);
  TEST_ASSERT_TRUE(fleet.boards[2]->task("last")->outcome == Outcome::kSucceeded);
  TEST_ASSERT_TRUE(fleet.boards[2]->state.fleet.left_fleet);
  TEST_ASSERT_EQUAL_INT64(1'000, fleet.enforced(2));
  TEST_ASSERT_FALSE(fleet.boards[2]->state.fleet.fenced(fleet.boards[2]->now()));
  TEST_ASSERT_EQUAL_INT(static_cast<int>(NoticeKind::kDrain),
                        static_cast<int>(fleet.boards[2]->notices.back().kind));
  TEST_ASSERT_LESS_OR_EQUAL_INT64(20'000, fleet.most);
}

// Four of seven keepers of the register: switched off without being drained they would take its
// majority with them, and the others would have to wait for all of them.
TEST(most_of_a_fleet_can_be_drained_and_switched_off_at_once_and_comes_back_with_other_boots) {
  FakeFleet fleet(plan_of(7, 30'000, 1'000), 11);
  fleet.join_all();
  fleet.run(20);
  for (std::size_t b = 0; b < 4; ++b) fleet.boards[b]->tell(DrainRequested{1, true});
  fleet.run(90);
  for (std::size_t b = 0; b < 4; ++b) {
    TEST_ASSERT_TRUE(fleet.boards[b]->state.fleet.left_fleet);
    fleet.down[b] = true;
  }
  fleet.run(200);
  consensus::Parts held = 0;
  for (std::size_t b = 4; b < 7; ++b) {
    TEST_ASSERT_FALSE(fleet.boards[b]->state.fleet.on_floor(fleet.boards[b]->now()));
    held += fleet.boards[b]->state.fleet.ledger->holding()[kPowerAt];
  }
  // But for a few parts of 10^12 that are on their way.
  TEST_ASSERT_INT64_WITHIN(1000, consensus::kWhole, held);
  for (std::size_t b = 0; b < 4; ++b) {
    fleet.bring_back(b, 200, true);
    fleet.boards[b]->tell(FleetJoined{true});
  }
  fleet.run(60);
  // Drained is drained, until told otherwise.
  for (std::size_t b = 0; b < 4; ++b) {
    TEST_ASSERT_TRUE(fleet.boards[b]->state.fleet.left_fleet);
    fleet.boards[b]->tell(DrainRequested{2, false});
  }
  fleet.boards[0]->submit(test::small_task("busy", 10 * kMinute, 0.05));
  fleet.run(90);
  for (std::size_t b = 0; b < 7; ++b) {
    TEST_ASSERT_FALSE(fleet.boards[b]->state.fleet.on_floor(fleet.boards[b]->now()));
  }
  TEST_ASSERT_GREATER_THAN_INT64(2'000, fleet.enforced(0));
  TEST_ASSERT_LESS_OR_EQUAL_INT64(30'000, fleet.most);
}

TEST(a_board_undrained_on_its_way_out_comes_back_with_nothing_lost) {
  FakeFleet fleet(plan_of(4, 20'000, 1'000), 13);
  fleet.join_all();
  fleet.run(20);
  fleet.boards[3]->tell(DrainRequested{1, true});
  fleet.run(3);
  TEST_ASSERT_TRUE(fleet.boards[3]->state.fleet.out());
  TEST_ASSERT_FALSE(fleet.boards[3]->state.fleet.left_fleet);
  fleet.boards[3]->tell(DrainRequested{2, false});
  fleet.run(90);
  consensus::Parts held = 0;
  for (auto& board : fleet.boards) {
    TEST_ASSERT_FALSE(board->state.fleet.on_floor(board->now()));
    held += board->state.fleet.ledger->holding()[kPowerAt];
  }
  TEST_ASSERT_GREATER_THAN_INT64(consensus::kWhole - consensus::kWhole / 1000, held);
  TEST_ASSERT_LESS_OR_EQUAL_INT64(20'000, fleet.most);
}

TEST(garbage_from_a_peer_changes_nothing) {
  FakeFleet fleet(plan_of(3, 20'000, 1'000), 11);
  fleet.join_all();
  fleet.run(10);
  FakeBoard& board = *fleet.boards[0];
  const consensus::Shares before = board.state.fleet.ledger->holding();
  board.tell(PeersHeard{{{"n-1", "garbage"}, {"n-1", ""}, {"stranger", std::string(300, '\x10')}}});
  TEST_ASSERT_EQUAL_INT64(before[kPowerAt], board.state.fleet.ledger->holding()[kPowerAt]);
  TEST_ASSERT_EQUAL_UINT64(3, board.state.fleet.counters.peer_messages_refused);
}

TEST(an_operator_is_told_once_which_board_speaks_another_wire_version) {
  FakeFleet fleet(plan_of(3, 20'000, 1'000), 11);
  fleet.join_all();
  fleet.run(3);
  FakeBoard& board = *fleet.boards[0];
  board.notices.clear();
  const std::string older(1, '\x60');
  board.tell(PeersHeard{{{"n-1", older}, {"n-1", older}, {"stranger", older}}});
  board.tell(PeersHeard{{{"n-1", older}}});
  TEST_ASSERT_EQUAL_UINT64(1, board.notices.size());
  TEST_ASSERT_TRUE(board.notices[0].kind == NoticeKind::kWire);
  TEST_ASSERT_EQUAL_STRING("board n-1 speaks wire version 6, this board 7: upgrade n-1",
                           board.notices[0].text.c_str());
  board.tell(PeersHeard{{{"n-1", std::string(1, '\x80')}}});
  TEST_ASSERT_EQUAL_STRING("board n-1 speaks wire version 8, this board 7: upgrade this board",
                           board.notices.at(1).text.c_str());
}

TEST(shares_become_a_power_cap_and_ceilings_on_the_lanes) {
  FleetBudget budget = plan_of(2, 20'000, 1'000);
  budget.total[Resource::kGpu] = 1'000'000;  // one of two
  FakeFleet fleet(budget, 13);
  fleet.join_all();
  fleet.run(30);
  for (const auto& board : fleet.boards) {
    const State& state = board->state;
    TEST_ASSERT_EQUAL_INT64(state.fleet.enforced[kPowerAt], *state.power.fleet_cap_mw);
    const std::int64_t gpu = state.fleet.enforced[Resource::kGpu];
    TEST_ASSERT_EQUAL_UINT32(std::min<std::int64_t>(gpu, kShareWholePpm),
                             state.power.fleet_ceiling_ppm[0]);
    TEST_ASSERT_EQUAL_UINT32(kShareWholePpm, state.power.fleet_ceiling_ppm[1]);
  }
}
