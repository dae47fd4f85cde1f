#include "agent/placement/planner/instance_json.hpp"

#include "agent/placement/planner/plan_json.hpp"
#include "agent/placement/planner/verify.hpp"
#include "agent/placement/search/solve.hpp"
#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

constexpr const char* kText = R"({"format": "laird.placement/1", "name": "two", "mode": "C",
 "boards": [{"name": "o-1", "kind": "orin", "memory_mb": 16000, "gpu": 1000, "lanes": 3,
             "closed": [[100, 200], [900]]},
            {"name": "n-1", "kind": "nano", "memory_mb": 4000, "gpu": 1000}],
 "tasks": [{"name": "a", "memory_mb": 3600, "time_s": {"nano": 5861, "orin": 2160},
            "gpu": {"nano": 900, "orin": 600}, "deadline_s": 7000, "weight": 3,
            "high_permille": 1200, "energy_j": {"orin": 50}},
           {"name": "b", "memory_mb": 800, "time_s": [300, 0], "gpu": [70, 350], "apart": "x",
            "prefer": ["orin"], "data": {"on": ["orin"], "transfer_s": 30}},
           {"name": "c", "memory_mb": 800, "time_s": [300, 700], "gpu": 100, "only": ["n-1"]},
           {"name": "d", "memory_mb": 500, "time_s": {"orin": 99}, "gpu": {"orin": 10},
            "running": {"board": "o-1", "left_s": 42}, "splittable": true}]})";

json::Value parsed(const std::string& text) {
  const Result<json::Value> v = json::parse(text, "test", instance_limits());
  TEST_ASSERT_TRUE_MESSAGE(v.has_value(), v ? "" : v.error().context.c_str());
  return *v;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  TEST_ASSERT_TRUE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& from, const std::string& to) {
  const Result<ReadInstance> r = read_instance(parsed(replaced(kText, from, to)));
  return r ? "" : r.error().context;
}

void expect(const std::string& part, const std::string& text) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos,
                           ("'" + part + "' is not in: '" + text + "'").c_str());
}

}  // namespace

TEST(an_instance_is_read_as_it_is_written) {
  const Result<ReadInstance> r = read_instance(parsed(kText));
  TEST_ASSERT_TRUE(r.has_value());
  const Instance& i = r->instance;
  TEST_ASSERT_TRUE(r->ignored.empty());
  TEST_ASSERT_EQUAL(2, i.boards.size());
  TEST_ASSERT_EQUAL_INT64(kForever, i.boards[0].closed[1].to_s);
  TEST_ASSERT_EQUAL_INT64(2160, i.choice(0, 0).time_s);
  TEST_ASSERT_EQUAL_INT(900, i.choice(0, 1).gpu);
  TEST_ASSERT_EQUAL_INT64(50, i.choice(0, 0).energy_j);
  TEST_ASSERT_EQUAL_INT64(0, i.choice(1, 0).ready_s);
  TEST_ASSERT_EQUAL_INT64(30, i.choice(1, 1).ready_s);
  TEST_ASSERT_TRUE(i.choice(1, 0).preferred);
  TEST_ASSERT_FALSE(i.choice(1, 1).preferred);
  TEST_ASSERT_FALSE(i.may_run(1, 1));
  TEST_ASSERT_FALSE(i.may_run(2, 0));
  TEST_ASSERT_TRUE(i.may_run(2, 1));
  TEST_ASSERT_EQUAL_INT(0, i.tasks[3].running);
  TEST_ASSERT_EQUAL_INT64(42, i.choice(3, 0).time_s);
  TEST_ASSERT_FALSE(i.may_run(3, 1));
  TEST_ASSERT_TRUE(i.tasks[3].splittable);
}

// The canonical text is that of Python's json.dumps(sort_keys=True, separators=(",", ":")).
TEST(the_hash_does_not_depend_on_spaces_and_order_of_keys) {
  const std::string a = R"({"b": [1, {"z": "q", "a": true}], "a": 2})";
  TEST_ASSERT_EQUAL_STRING(R"({"a":2,"b":[1,{"a":true,"z":"q"}]})",
                           canonical_text(parsed(a)).c_str());
  TEST_ASSERT_EQUAL_STRING("8dbc8df24b3d8021", hash_of(parsed(a)).c_str());
}

TEST(what_is_written_is_read_again) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const json::Value written = instance_json(test::random_instance(seed, 6, 3));
    const Result<ReadInstance> r = read_instance(parsed(json::to_text(written)));
    TEST_ASSERT_TRUE_MESSAGE(r.has_value(), r ? "" : r.error().context.c_str());
    TEST_ASSERT_TRUE(r->ignored.empty());
    TEST_ASSERT_EQUAL_STRING(json::to_text(written).c_str(),
                             json::to_text(instance_json(r->instance)).c_str());
  }
}

TEST(errors_name_the_line_and_what_is_wrong) {
  expect("line 6: task 'a': deadline_s must be a whole number", error_of("7000", "-1"));
  expect("board 'o-1': closed", error_of("[900]", "[]"));
  expect("time_s must be", error_of("[300, 0]", "[300]"));
  expect("no board and no kind is called 'n-9'",
         error_of("\"only\": [\"n-1\"]", "\"only\": [\"n-9\"]"));
  expect("running must be",
         error_of("\"board\": \"o-1\", \"left_s\"", "\"board\": \"q\", \"left_s\""));
  expect("two tasks are called 'a'", error_of("\"name\": \"b\"", "\"name\": \"a\""));
  Instance twins = test::empty_instance(2, Mode::kSerial);
  twins.boards[1].name = twins.boards[0].name;
  expect("two boards are called 'n-1'", read_instance(instance_json(twins)).error().context);
  expect("\"format\" must be", error_of("placement/1", "placement/9"));
  expect("\"mode\" must be", error_of("\"mode\": \"C\"", "\"mode\": \"D\""));
  expect("apart from each other", error_of("[100, 200]", "[100, 950]"));
}

TEST(unknown_keys_are_told_and_do_not_stop_the_reader) {
  const Result<ReadInstance> r =
      read_instance(parsed(replaced(kText, "\"weight\": 3", "\"wieght\": 3")));
  TEST_ASSERT_TRUE(r.has_value());
  TEST_ASSERT_EQUAL(1, r->ignored.size());
  expect("task 'a': 'wieght' is no key", r->ignored[0]);
}

TEST(a_plan_is_read_as_it_is_written) {
  const Result<ReadInstance> r = read_instance(parsed(replaced(kText, "[900]", "[3000, 3100]")));
  TEST_ASSERT_TRUE(r.has_value());
  const Result<Plan> plan = solve(r->instance, {1, 20'000, nullptr});
  TEST_ASSERT_TRUE_MESSAGE(plan.has_value(), plan ? "" : plan.error().context.c_str());
  const json::Value written = plan_json(r->instance, r->hash, *plan);
  const Result<Plan> again = read_plan(parsed(json::to_text(written)), *r);
  TEST_ASSERT_TRUE_MESSAGE(again.has_value(), again ? "" : again.error().context.c_str());
  TEST_ASSERT_TRUE(verify(r->instance, *again).has_value());
  TEST_ASSERT_TRUE(again->objective == plan->objective);
}

TEST(a_plan_without_starts_gets_those_of_its_order) {
  ReadInstance r;
  r.instance = test::empty_instance(1, Mode::kConcurrent);
  test::add_task(r.instance, "a", 10, 1000, 900);
  test::add_task(r.instance, "b", 10, 1000, 900);
  test::add_task(r.instance, "c", 5, 1000, 100);
  r.hash = "0123456789abcdef";
  const std::string head = R"({"format":"laird.plan/1","instance":"0123456789abcdef","tasks":[)";
  const Result<Plan> plan = read_plan(
      parsed(
          head +
          R"({"task":"b","board":"n-1"},{"task":"a","board":"n-1"},{"task":"c","board":"n-1"}]})"),
      r);
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_EQUAL_INT64(10, plan->tasks[0].start_s);
  TEST_ASSERT_EQUAL_INT64(0, plan->tasks[1].start_s);
  TEST_ASSERT_EQUAL_INT64(10, plan->tasks[2].start_s);  // never before the one listed before
  const auto error = [&](const std::string& tasks) {
    const Result<Plan> p = read_plan(parsed(head + tasks + "]}"), r);
    return p ? std::string() : p.error().context;
  };
  const std::string b = R"({"task":"b","board":"n-1"})";
  expect("task 'a' is not in the plan", error(b));
  expect("planned twice", error(b + "," + b));
  expect("no task 'q'", error(R"({"task":"q","board":"n-1"})"));
  expect("no board 'q'", error(R"({"task":"b","board":"q"})"));
  expect("for all tasks or for none",
         error(b + R"(,{"task":"a","board":"n-1","start_s":3},{"task":"c","board":"n-1"})"));
  r.hash = "other";
  expect("of another instance", error(b));
}
