#include "agent/placement/planner/verify.hpp"

#include "agent/placement/search/solve.hpp"
#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

// Two boards, mode C; a and b side by side on the first, c after a, d on the second.
struct Sample {
  Instance instance = test::empty_instance(2, Mode::kConcurrent);
  Plan plan;
  Sample() {
    test::add_task(instance, "a", 10);
    test::add_task(instance, "b", 20);
    test::add_task(instance, "c", 10);
    test::add_task(instance, "d", 30);
    plan.tasks = {{0, 0}, {0, 0}, {0, 10}, {1, 0}};
    plan.objective = judge(instance, plan.tasks);
  }
  // The error after the change; the objective is made to fit it.
  std::string broken_by(const std::function<void(Sample&)>& change) const {
    Sample copy = *this;
    change(copy);
    copy.plan.objective = judge(copy.instance, copy.plan.tasks);
    const Status status = verify(copy.instance, copy.plan);
    return status ? "" : status.error().context;
  }
};

void expect(const std::string& part, const std::string& text) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos,
                           ("'" + part + "' is not in: '" + text + "'").c_str());
}

}  // namespace

TEST(a_plan_that_keeps_every_rule_is_accepted) {
  const Sample s;
  TEST_ASSERT_TRUE(verify(s.instance, s.plan).has_value());
}

TEST(each_broken_rule_is_named) {
  const Sample s;
  expect("GPU", s.broken_by([](Sample& x) { x.plan.tasks[2].start_s = 9; }));
  expect("MB of 4000 MB", s.broken_by([](Sample& x) { x.instance.tasks[1].memory_mb = 3500; }));
  expect("needs 5000 MB, the board has 4000 MB",
         s.broken_by([](Sample& x) { x.instance.tasks[3].memory_mb = 5000; }));
  expect("3 tasks at once", s.broken_by([](Sample& x) {
    x.instance.boards[0].lanes = 2;
    x.plan.tasks[3] = {0, 5};
    for (std::size_t t = 0; t < 4; ++t) x.instance.choice(t, 0).gpu = 100;
  }));
  expect("2 tasks at once", s.broken_by([](Sample& x) { x.instance.mode = Mode::kSerial; }));
  expect("starts at -1 s", s.broken_by([](Sample& x) { x.plan.tasks[3].start_s = -1; }));
  expect("while n-2 is closed from 29 s to 40 s", s.broken_by([](Sample& x) {
    x.instance.boards[1].closed = {{29, 40}};
  }));
  expect("before its data are on n-1 at 5 s",
         s.broken_by([](Sample& x) { x.instance.choice(0, 0).ready_s = 5; }));
  expect("must be apart",
         s.broken_by([](Sample& x) { x.instance.tasks[0].apart = x.instance.tasks[2].apart = 3; }));
  expect("does not allow", s.broken_by([](Sample& x) { x.instance.choice(3, 1).allowed = false; }));
  expect("nothing is known", s.broken_by([](Sample& x) { x.instance.choice(3, 1).time_s = 0; }));
  expect("it runs on n-1", s.broken_by([](Sample& x) { x.instance.tasks[3].running = 0; }));
  expect("runs now and cannot start at 10 s",
         s.broken_by([](Sample& x) { x.instance.tasks[2].running = 0; }));
}

TEST(a_task_without_a_board_or_one_too_many_is_refused) {
  Sample s;
  s.plan.tasks[1].board = -1;
  TEST_ASSERT_FALSE(verify(s.instance, s.plan).has_value());
  s.plan.tasks[1].board = 2;
  TEST_ASSERT_FALSE(verify(s.instance, s.plan).has_value());
  s.plan.tasks[1].board = 0;
  s.plan.tasks.push_back({1, 30});
  TEST_ASSERT_FALSE(verify(s.instance, s.plan).has_value());
}

TEST(a_plan_may_not_claim_to_be_better_than_it_is) {
  Sample s;
  s.plan.objective.makespan_s -= 1;
  expect("it ends after 30 s", verify(s.instance, s.plan).error().context);
  s.plan.objective.makespan_s += 1;
  s.plan.objective.missed_weight += 1;
  TEST_ASSERT_FALSE(verify(s.instance, s.plan).has_value());
  s.plan.objective.missed_weight -= 1;
  s.plan.bound_s = 31;
  expect("no plan ends before 31 s", verify(s.instance, s.plan).error().context);
}

TEST(what_ends_makes_room_for_what_starts_at_the_same_moment) {
  Sample s;
  s.plan.tasks[2].start_s = 10;
  TEST_ASSERT_TRUE(verify(s.instance, s.plan).has_value());
}

// Mutations of good plans: whatever is accepted must be good by a count of every second.
TEST(no_mutation_that_breaks_a_rule_is_accepted) {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Instance instance = test::random_instance(seed, 8, 3);
    const Result<Plan> plan = solve(instance, {seed, 20'000, nullptr});
    if (!plan) continue;
    RandomOf<Range::kScaled> chance(seed);
    for (int i = 0; i < 40; ++i) {
      Plan mutated = *plan;
      Placed& p = mutated.tasks[chance.below(8)];
      if (chance.chance(0.5)) p.board = static_cast<int>(chance.below(3));
      p.start_s = std::max<Seconds>(0, p.start_s + chance.between(-15, 15));
      mutated.objective = judge(instance, mutated.tasks);
      mutated.bound_s = 0;
      bool good = true;
      for (std::size_t t = 0; t < 8 && good; ++t) {
        const Placed& at = mutated.tasks[t];
        const auto board = static_cast<std::size_t>(at.board);
        good = instance.may_run(t, board) &&
               (instance.tasks[t].running >= 0 ? at.start_s == 0
                                               : at.start_s >= instance.choice(t, board).ready_s);
        for (std::size_t u = 0; u < t && good; ++u) {
          good = instance.tasks[t].apart < 0 ||
                 instance.tasks[t].apart != instance.tasks[u].apart ||
                 mutated.tasks[u].board != at.board;
        }
      }
      for (std::size_t b = 0; b < 3 && good; ++b) {
        for (Seconds now = 0; now < mutated.objective.makespan_s && good; ++now) {
          std::int64_t memory = 0;
          int gpu = 0;
          int count = 0;
          int moved = 0;  // tasks that do not run already
          for (std::size_t t = 0; t < 8; ++t) {
            const Placed& at = mutated.tasks[t];
            if (at.board != static_cast<int>(b) || at.start_s > now) continue;
            if (at.start_s + instance.choice(t, b).time_s <= now) continue;
            memory += instance.tasks[t].memory_mb;
            gpu += instance.choice(t, b).gpu;
            ++count;
            moved += instance.tasks[t].running >= 0 ? 0 : 1;
          }
          const PlannedBoard& board = instance.boards[b];
          good = memory <= board.memory_mb && gpu <= board.gpu && count <= lanes_of(instance, b);
          for (const Window& w : board.closed)
            good = good && (moved == 0 || now < w.from_s || now >= w.to_s);
        }
      }
      TEST_ASSERT_EQUAL_MESSAGE(good, verify(instance, mutated).has_value(),
                                ("seed " + std::to_string(seed)).c_str());
      refused += good ? 0 : 1;
    }
  }
  TEST_ASSERT_GREATER_THAN(500, refused);
}
