#include "agent/placement/fleet/new_task.hpp"

#include "tests/harness/unit.hpp"
#include "tests/unit/agent/placement/fleet/sample_fleet.hpp"

using namespace laird;
using namespace laird::placement;
using test::gpu_task;
using test::three_modules;

namespace {

NewPlaces placed(const FleetFacts& facts, const TaskFact& task) {
  auto out = places_for(facts, task);
  TEST_ASSERT_TRUE(out.has_value());
  return std::move(*out);
}

std::string order(const NewPlaces& of) {
  std::string out;
  for (const NewPlace& place : of.places) out += place.board + " ";
  return out;
}

void occupy(FleetFacts& facts, const std::string& board, double need_s) {
  TaskFact task = gpu_task("on-" + board, 100'000.0);
  task.board = board;
  task.stage = Stage::kRunning;
  task.rate = 10.0;
  task.need = NeedSeconds{need_s, need_s, need_s};
  facts.tasks.push_back(task);
}

}  // namespace

TEST(the_first_task_of_an_idle_fleet_goes_to_the_fastest_board_not_to_the_first_name) {
  TEST_ASSERT_EQUAL_STRING("n-3 n-2 n-1 ", order(placed(three_modules(), gpu_task("a"))).c_str());
}

TEST(a_board_that_is_busy_for_long_is_passed_over) {
  FleetFacts facts = three_modules();
  occupy(facts, "n-3", 50'000.0);
  TEST_ASSERT_EQUAL_STRING("n-2 n-1 n-3 ", order(placed(facts, gpu_task("a"))).c_str());
}

TEST(a_long_task_elsewhere_does_not_make_slow_boards_as_good) {
  // By the makespan alone every idle board would do: something else ends last anyway.
  FleetFacts facts = three_modules();
  facts.boards.push_back(facts.boards[0]);
  facts.boards[3].name = "n-4";
  occupy(facts, "n-4", 90'000.0);
  TEST_ASSERT_EQUAL_STRING("n-3 n-2 n-1 n-4 ", order(placed(facts, gpu_task("a"))).c_str());
}

TEST(a_new_task_does_not_make_another_late) {
  FleetFacts facts = three_modules();
  // It waits on the fastest board, and only there it is in time, with nothing to spare.
  TaskFact urgent = gpu_task("urgent", 1000.0);
  urgent.board = "n-3";
  urgent.stage = Stage::kBegun;
  urgent.rate = 10.0;
  urgent.need = NeedSeconds{990.0, 990.0, 990.0};
  facts.tasks.push_back(urgent);
  const NewPlaces places = placed(facts, gpu_task("a", 1500.0));
  TEST_ASSERT_EQUAL_STRING("n-2", places.places.front().board.c_str());
  TEST_ASSERT_EQUAL(0, places.places.front().missed_weight);
}

TEST(boards_that_cannot_take_it_say_why) {
  FleetFacts facts = three_modules();
  facts.boards[0].trainers = {"softmax"};
  facts.boards[1].standing = Standing::kDraining;
  TaskFact task = gpu_task("a");
  NewPlaces places = placed(facts, task);
  TEST_ASSERT_EQUAL_STRING("n-3 ", order(places).c_str());
  TEST_ASSERT_EQUAL(2, places.cannot.size());
  TEST_ASSERT_EQUAL_STRING("its allow-list has no trainer 'mlp'", places.cannot[0].why.c_str());
  TEST_ASSERT_EQUAL_STRING("it takes no new task", places.cannot[1].why.c_str());
  task.memory_bytes = 20'000'000'000;
  places = placed(facts, task);
  TEST_ASSERT_EQUAL(0, places.places.size());
  TEST_ASSERT_EQUAL(3, places.cannot.size());
  TEST_ASSERT_EQUAL_STRING("it needs 20000 MB, the board has 14000 MB",
                           places.cannot[2].why.c_str());
}
