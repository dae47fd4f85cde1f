#include "control/plan/moves.hpp"

#include "agent/placement/search/solve.hpp"
#include "control/plan/fleet_facts.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/plan/told_fleet.hpp"

using namespace laird;
using namespace laird::control;
using test::tell_board;
using test::tell_task;

namespace {

constexpr const char* kWaits =
    R"("state":"queued","samples":0,"planned_samples":9000,"deadline_in_s":1000)";

// Three tasks wait on the slower of two boards, behind one that runs there.
FleetView view_of(const std::string& more) {
  FleetView view;
  tell_board(view, "n-1", "ready", 1000);
  tell_board(view, "n-2", "ready", 2000);
  tell_task(view, "n-1", "runs",
            R"("movable":true,"state":"running","samples":50,"rate":10,"deadline_in_s":900,)"
            R"("need":{"seconds":{"low":500,"median":600,"high":700}})");
  for (const char* name : {"a", "b", "c"}) tell_task(view, "n-1", name, more + kWaits);
  return view;
}

std::vector<Move> moves(const FleetView& view) {
  FleetPlan plan;
  plan.facts = fleet_facts(view, "lab");
  bind_what_stays(plan.facts);
  auto of = placement::fleet_instance(plan.facts);
  TEST_ASSERT_TRUE(of.has_value());
  plan.of = std::move(*of);
  auto solved = placement::solve(plan.of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_TRUE(solved.has_value());
  plan.plan = std::move(*solved);
  return moves_of(plan);
}

}  // namespace

TEST(tasks_that_may_move_and_have_not_begun_go_where_the_plan_has_them) {
  const std::vector<Move> out = moves(view_of(R"("movable":true,)"));
  TEST_ASSERT_TRUE(out.size() >= 2);
  for (const Move& move : out) {
    TEST_ASSERT_EQUAL_STRING("n-1", move.from.c_str());
    TEST_ASSERT_EQUAL_STRING("n-2", move.to.c_str());
    TEST_ASSERT_TRUE(move.task != "runs");
  }
}

TEST(what_may_not_move_is_planned_where_it_is) { TEST_ASSERT_EQUAL(0, moves(view_of("")).size()); }
