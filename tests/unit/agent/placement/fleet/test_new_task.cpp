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

// Boards of one module and no more than one GPU lane each, which are called n-1, n-2 and so on.
FleetFacts equal_boards(std::size_t count) {
  FleetFacts out;
  for (std::size_t b = 1; b <= count; ++b) {
    out.boards.push_back(three_modules().boards[0]);
    out.boards.back().name = "n-" + std::to_string(b);
  }
  return out;
}

TaskFact& add(FleetFacts& facts, const std::string& board, const std::string& name, Stage stage,
              double need_s) {
  TaskFact task = gpu_task(name, 100'000.0);
  task.board = board;
  task.stage = stage;
  task.rate = 10.0;
  task.need = NeedSeconds{need_s, need_s, need_s};
  facts.tasks.push_back(task);
  return facts.tasks.back();
}

// A new task that takes so long on each of those boards.
TaskFact new_task(double need_s, double deadline_in_s = 50'000.0) {
  TaskFact out = gpu_task("new", deadline_in_s);
  out.work = "known";
  out.planned_samples = need_s;
  return out;
}

FleetFacts knowing(FleetFacts facts) {
  for (BoardFact& board : facts.boards) board.works = {{"mlp", "known", true, 1.0, 0.0, 0.0}};
  return facts;
}

void occupy(FleetFacts& facts, const std::string& board, double need_s) {
  add(facts, board, "on-" + board, Stage::kRunning, need_s);
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

TEST(a_task_that_waits_does_not_make_way_for_the_new_one_while_a_board_is_idle) {
  FleetFacts facts = knowing(equal_boards(2));
  facts.boards[1].works[0].samples_per_s = 0.8;
  occupy(facts, "n-1", 100.0);
  // A plan may move it to n-2, or let it wait. But nobody moves it, and it was there first.
  add(facts, "n-1", "waits", Stage::kWaiting, 1200.0);
  const NewPlaces places = placed(facts, new_task(1000.0));
  TEST_ASSERT_EQUAL_STRING("n-2 n-1 ", order(places).c_str());
  TEST_ASSERT_EQUAL(1250, places.places[0].done_in_s);
  TEST_ASSERT_EQUAL(2300, places.places[1].done_in_s);
}

TEST(on_every_board_the_new_task_comes_after_those_that_were_there) {
  FleetFacts facts = knowing(equal_boards(3));
  add(facts, "n-1", "a", Stage::kBegun, 700.0);
  add(facts, "n-2", "b", Stage::kBegun, 500.0);
  add(facts, "n-3", "c", Stage::kBegun, 600.0);
  const NewPlaces places = placed(facts, new_task(1000.0));
  TEST_ASSERT_EQUAL_STRING("n-2 n-3 n-1 ", order(places).c_str());
  TEST_ASSERT_EQUAL(1500, places.places[0].done_in_s);
  TEST_ASSERT_EQUAL(1600, places.places[1].done_in_s);
}

TEST(a_new_task_goes_before_those_that_wait_where_only_that_meets_its_deadline) {
  FleetFacts facts = knowing(equal_boards(1));
  add(facts, "n-1", "a", Stage::kBegun, 700.0);
  add(facts, "n-1", "b", Stage::kBegun, 800.0).deadline_in_s = 1500.0;
  const NewPlaces places = placed(facts, new_task(300.0, 1'200.0));
  // Before a, and after b, which has no time to lose.
  TEST_ASSERT_EQUAL(1, places.places.size());
  TEST_ASSERT_EQUAL(1100, places.places[0].done_in_s);
  TEST_ASSERT_EQUAL(0, places.places[0].missed_weight);
  TEST_ASSERT_TRUE(places.places[0].in_time);
}

TEST(a_board_of_unknown_watts_wins_no_tie) {
  FleetFacts facts = knowing(equal_boards(3));
  facts.boards[0].hardware.gpu_w = 0.0;
  facts.boards[1].hardware.gpu_w = 9.0;
  TEST_ASSERT_EQUAL_STRING("n-3 n-2 n-1 ", order(placed(facts, new_task(100.0))).c_str());
}

TEST(a_fleet_of_any_size_can_be_asked_and_one_board_spoils_nothing) {
  FleetFacts facts = knowing(equal_boards(1'100));
  for (std::size_t b = 0; b + 1 < facts.boards.size(); ++b) {
    for (const char* name : {"a", "b", "c", "d"}) {
      add(facts, facts.boards[b].name, name, Stage::kBegun, 500.0);
    }
  }
  // More than an instance may have, on one board.
  for (std::size_t i = 0; i <= kPlannedTasksMax; ++i) {
    add(facts, "n-7", "t" + std::to_string(i), Stage::kBegun, 500.0);
  }
  const NewPlaces places = placed(facts, new_task(100.0));
  TEST_ASSERT_EQUAL(1'099, places.places.size());
  TEST_ASSERT_EQUAL_STRING("n-1100", places.places[0].board.c_str());
  TEST_ASSERT_EQUAL(1, places.cannot.size());
  TEST_ASSERT_EQUAL_STRING("n-7", places.cannot[0].board.c_str());
}

TEST(a_fleet_that_says_nothing_of_its_lanes_has_no_places_but_an_error) {
  FleetFacts facts = three_modules();
  for (BoardFact& board : facts.boards) board.lanes.clear();
  TEST_ASSERT_FALSE(places_for(facts, gpu_task("a")).has_value());
}
