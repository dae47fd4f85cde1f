#include "control/plan/offer_order.hpp"

#include "tests/harness/unit.hpp"
#include "tests/unit/agent/placement/fleet/sample_fleet.hpp"

using namespace laird;
using namespace laird::control;
using test::gpu_task;
using test::three_modules;

namespace {

const std::set<std::string> kAll = {"n-1", "n-2", "n-3"};

std::string places(const OfferOrder& order) {
  std::string out;
  for (const placement::NewPlace& place : order.places) out += place.board + " ";
  return out;
}

std::string bidders(const OfferOrder& order) {
  std::string out;
  for (const std::string& board : order.bidders) out += board + " ";
  return out;
}

}  // namespace

TEST(boards_that_say_all_are_offered_the_task_as_it_is_planned_and_not_asked_for_bids) {
  placement::FleetFacts facts = three_modules();
  facts.boards[0].trainers.clear();
  const OfferOrder order = offer_order(facts, gpu_task("a"), kAll);
  TEST_ASSERT_EQUAL_STRING("n-3 n-2 ", places(order).c_str());
  TEST_ASSERT_EQUAL_STRING("", bidders(order).c_str());
  TEST_ASSERT_EQUAL_STRING("", order.unplanned.c_str());
  TEST_ASSERT_EQUAL(1, order.cannot.size());
}

TEST(when_nothing_can_be_planned_all_boards_are_asked_for_bids) {
  placement::FleetFacts facts = three_modules();
  for (placement::BoardFact& board : facts.boards) board.lanes.clear();
  const OfferOrder order = offer_order(facts, gpu_task("a"), {"n-1", "n-3"});
  TEST_ASSERT_EQUAL_STRING("", places(order).c_str());
  TEST_ASSERT_EQUAL_STRING("n-1 n-3 ", bidders(order).c_str());
  TEST_ASSERT_TRUE(order.unplanned.find("which lanes") != std::string::npos);
}

TEST(a_board_that_does_not_say_of_which_kind_its_lanes_are_is_asked_after_the_places) {
  placement::FleetFacts facts = three_modules();
  // By its name this is no GPU lane.
  facts.boards[1].lanes = {{"train", false}};
  facts.boards[1].kinds_known = false;
  // By its name this is one: the board has its place, and is not asked twice.
  facts.boards[2].kinds_known = false;
  const OfferOrder order = offer_order(facts, gpu_task("a"), kAll);
  TEST_ASSERT_EQUAL_STRING("n-3 n-1 ", places(order).c_str());
  TEST_ASSERT_EQUAL_STRING("n-2 ", bidders(order).c_str());
  TEST_ASSERT_EQUAL_MESSAGE(0, order.cannot.size(),
                            "nobody says that it cannot before it is asked");
}

TEST(only_boards_that_may_be_asked_are_offered_the_task) {
  placement::FleetFacts facts = three_modules();
  facts.boards[1].kinds_known = false;
  facts.boards[1].lanes = {{"train", false}};
  const OfferOrder order = offer_order(facts, gpu_task("a"), {"n-1"});
  TEST_ASSERT_EQUAL_STRING("n-1 ", places(order).c_str());
  TEST_ASSERT_EQUAL_STRING("", bidders(order).c_str());
}
