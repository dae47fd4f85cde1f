#include "agent/placement/fleet/facts.hpp"

#include "agent/placement/measured_works.hpp"
#include "base/time.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

json::Value parsed(const char* text) {
  const auto out = json::parse(text, "test");
  TEST_ASSERT_TRUE(out.has_value());
  return *out;
}

constexpr const char* kTask =
    R"({"name":"night","lane":"gpu","trainer":"mlp","work":"0123456789abcdef","memory_bytes":5000000,)"
    R"("rate":20.5,"state":"throttled","samples":100,"planned_samples":1000,"target_loss":0.1,)"
    R"("weight":2,"need":{"probability":0.5,"reach":0.9,"samples":{"low":1,"median":2,"high":3},)"
    R"("seconds":{"low":10,"median":20,"high":40}},"deadline_in_s":99.5})";

}  // namespace

TEST(a_board_is_read_from_its_status_and_info) {
  const BoardFact b = board_fact(
      "n-1", "ready",
      parsed(R"({"model":"Jetson Orin NX 16GB","module":"orin-nx-16gb","lanes":["gpu0","c"],)"
             R"("lane_kinds":["gpu","cpu"],"trainers":["mlp"],"memory_bytes":14000000000,)"
             R"("hardware":{"cpu_cores":8,"cpu_mhz":1984,"cuda_cores":1024,"gpu_mhz":918,)"
             R"("memory_gb_s":102.4,"idle_w":4.5,"gpu_w":16,"cpu_w":9},)"
             R"("works":[{"trainer":"mlp","work":"w","lane":"gpu","samples_per_s":12.5,"runs":2,)"
             R"("samples":4000,"target_loss":0.25}]})"));
  TEST_ASSERT_EQUAL_STRING("orin-nx-16gb", b.module.c_str());
  TEST_ASSERT_EQUAL(2, b.lanes.size());
  TEST_ASSERT_TRUE(b.lanes[0].gpu);
  TEST_ASSERT_FALSE(b.lanes[1].gpu);
  TEST_ASSERT_EQUAL(1024, b.hardware.cuda_cores);
  TEST_ASSERT_EQUAL_DOUBLE(16.0, b.hardware.gpu_w);
  TEST_ASSERT_EQUAL(1, b.works.size());
  TEST_ASSERT_EQUAL_DOUBLE(4000.0, b.works[0].samples);
  TEST_ASSERT_TRUE(b.standing == Standing::kReady);
}

TEST(what_a_board_does_not_say_or_says_wrongly_is_not_known) {
  const BoardFact none = board_fact("n-1", "draining", json::Value());
  TEST_ASSERT_TRUE(none.standing == Standing::kDraining);
  TEST_ASSERT_EQUAL(0, none.lanes.size());
  const BoardFact odd = board_fact(
      "n-2", "lost",
      parsed(R"({"lanes":[1,"gpu0"],"memory_bytes":-5,"hardware":7,"works":[{"work":"w"},3],)"
             R"("trainers":"mlp"})"));
  TEST_ASSERT_TRUE(odd.standing == Standing::kAway);
  TEST_ASSERT_EQUAL(1, odd.lanes.size());
  TEST_ASSERT_EQUAL(0, odd.memory_bytes);
  TEST_ASSERT_EQUAL(0, odd.works.size());
  TEST_ASSERT_EQUAL(0, odd.trainers.size());
}

TEST(numbers_that_nobody_can_have_measured_are_not_known) {
  const BoardFact tiny = board_fact(
      "n-1", "ready",
      parsed(R"({"lanes":["gpu0"],"memory_bytes":1e-320,"works":[)"
             R"({"trainer":"mlp","work":"w","lane":"gpu","samples_per_s":1e-320,"runs":2},)"
             R"({"trainer":"mlp","work":"v","lane":"gpu","samples_per_s":1e300,"runs":2},)"
             R"({"trainer":"mlp","work":"u","lane":"gpu","samples_per_s":-5,"runs":2},)"
             R"({"trainer":"mlp","work":"t","lane":"gpu","samples_per_s":"NaN","runs":2},)"
             R"({"trainer":"mlp","work":"s","lane":"gpu","samples_per_s":1e-9,"runs":2}]})"));
  TEST_ASSERT_EQUAL(1, tiny.works.size());
  TEST_ASSERT_EQUAL_STRING("s", tiny.works[0].work.c_str());
  TEST_ASSERT_EQUAL(0, tiny.memory_bytes);
}

TEST(a_board_has_as_many_lanes_as_a_board_can_have_each_once) {
  const BoardFact b =
      board_fact("n-1", "ready",
                 parsed(R"({"lanes":["a","b","a","","c","d","e","f","g","h","i","j"],)"
                        R"("lane_kinds":["gpu","cpu","cpu","cpu","gpu"]})"));
  std::string names;
  for (const LaneFact& lane : b.lanes) names += lane.name;
  TEST_ASSERT_EQUAL_STRING("abcdefgh", names.c_str());
  TEST_ASSERT_TRUE(b.lanes[0].gpu);
  TEST_ASSERT_TRUE_MESSAGE(b.lanes[2].gpu, "each lane keeps its own kind");
}

TEST(a_board_that_does_not_say_of_which_kind_its_lanes_are_is_known_by_that) {
  TEST_ASSERT_FALSE(board_fact("n-1", "ready", parsed(R"({"lanes":["train"]})")).kinds_known);
  TEST_ASSERT_TRUE(
      board_fact("n-1", "ready", parsed(R"({"lanes":["a"],"lane_kinds":["cpu"]})")).kinds_known);
}

TEST(what_a_board_says_stays_on_one_line) {
  const BoardFact b = board_fact(
      "n-1", "ready", parsed(R"({"lanes":["a\nn-2"],"module":"m\n","trainers":["t\u001b[2J"]})"));
  TEST_ASSERT_EQUAL_STRING("a n-2", b.lanes[0].name.c_str());
  TEST_ASSERT_EQUAL_STRING("m ", b.module.c_str());
  TEST_ASSERT_EQUAL_STRING("t [2J", b.trainers[0].c_str());
}

TEST(a_task_is_read_from_its_topic_with_its_need) {
  const auto t = task_fact("n-1", parsed(kTask));
  TEST_ASSERT_TRUE(t.has_value());
  TEST_ASSERT_TRUE(t->stage == Stage::kRunning);
  TEST_ASSERT_TRUE(t->gpu);
  TEST_ASSERT_EQUAL_DOUBLE(20.5, t->rate);
  TEST_ASSERT_TRUE(t->need.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(40.0, t->need->high);
  TEST_ASSERT_EQUAL_DOUBLE(99.5, t->deadline_in_s);
  TEST_ASSERT_FALSE(t->bound);
  TEST_ASSERT_FALSE(t->hopeless);
  std::string hopeless = kTask;
  hopeless.replace(hopeless.find("\"probability\":0.5"), 17, "\"probability\":0.0");
  TEST_ASSERT_TRUE(task_fact("n-1", parsed(hopeless.c_str()))->hopeless);
}

TEST(a_task_that_has_samples_has_begun_also_when_it_is_queued_again) {
  const auto stage = [](const char* text) { return task_fact("n-1", parsed(text))->stage; };
  TEST_ASSERT_TRUE(stage(R"({"name":"a","state":"queued","samples":0})") == Stage::kWaiting);
  TEST_ASSERT_TRUE(stage(R"({"name":"a","state":"queued","samples":5})") == Stage::kBegun);
  TEST_ASSERT_TRUE(stage(R"({"name":"a","state":"starting","samples":0})") == Stage::kBegun);
  TEST_ASSERT_TRUE(stage(R"({"name":"a","state":"held","samples":5})") == Stage::kPaused);
}

TEST(tasks_that_are_over_are_none_and_those_of_a_group_or_a_schedule_belong_to_their_board) {
  TEST_ASSERT_FALSE(task_fact("n-1", parsed(R"({"name":"a","state":"missed"})")).has_value());
  TEST_ASSERT_FALSE(task_fact("n-1", parsed(R"({"state":"queued"})")).has_value());
  const auto bound = [](const char* text) { return task_fact("n-1", parsed(text))->bound; };
  TEST_ASSERT_TRUE(bound(R"({"name":"a","state":"queued","fleet":{"boards":3}})"));
  TEST_ASSERT_TRUE(bound(R"({"name":"a-2","state":"queued","run_of":"a"})"));
  TEST_ASSERT_TRUE(bound(R"({"name":"a","state":"queued","promotes":"b"})"));
  TEST_ASSERT_FALSE(bound(R"({"name":"a","state":"queued","run_of":""})"));
}

TEST(a_new_task_is_known_by_its_specification) {
  core::TaskSpec spec;
  spec.name = "night";
  spec.trainer = "mlp";
  spec.lane = core::LaneKind::kGpu;
  spec.deadline_wall = 5'000 * kSecond;
  spec.planned_samples = 700;
  const TaskFact t = task_fact(spec, 1'400 * kSecond);
  TEST_ASSERT_EQUAL_DOUBLE(3600.0, t.deadline_in_s);
  TEST_ASSERT_EQUAL_DOUBLE(700.0, t.planned_samples);
  TEST_ASSERT_EQUAL_STRING(work_of(spec).c_str(), t.work.c_str());
  TEST_ASSERT_TRUE(t.stage == Stage::kWaiting);
}

TEST(a_new_task_that_recurs_without_a_deadline_has_the_length_of_its_window) {
  core::TaskSpec spec;
  spec.name = "night";
  spec.every.window = *core::parse_weekly_window("22:00-06:00 daily");
  TEST_ASSERT_EQUAL_DOUBLE(8 * 3600.0, task_fact(spec, 1'400 * kSecond).deadline_in_s);
  spec.deadline_after = kHour;
  TEST_ASSERT_EQUAL_DOUBLE(3600.0, task_fact(spec, 1'400 * kSecond).deadline_in_s);
}

TEST(a_work_is_the_trainer_with_its_parameters_and_lane_and_nothing_else) {
  core::TaskSpec a;
  a.name = "a";
  a.trainer = "mlp";
  core::TaskSpec b = a;
  b.name = "b";
  b.target_loss = 3.0;
  b.memory_bytes = 5;
  TEST_ASSERT_EQUAL_STRING(work_of(a).c_str(), work_of(b).c_str());
  b.params = R"({"lr":2})";
  TEST_ASSERT_TRUE(work_of(a) != work_of(b));
  b = a;
  b.lane = core::LaneKind::kGpu;
  TEST_ASSERT_TRUE(work_of(a) != work_of(b));
}

TEST(a_board_tells_of_the_works_that_ended_with_the_median_speed) {
  core::State state;
  const auto ended = [&](double rate, core::Outcome outcome, std::uint64_t samples,
                         DurationNs busy) {
    core::Task task;
    task.spec.trainer = "mlp";
    task.spec.target_loss = 0.5;
    task.rate = rate;
    task.outcome = outcome;
    task.samples = samples;
    task.busy_ns = busy;
    state.ended.emplace_back(std::move(task));
  };
  ended(10.0, core::Outcome::kSucceeded, 300, kMinute);
  ended(30.0, core::Outcome::kSucceeded, 400, kMinute);
  ended(20.0, core::Outcome::kMissed, 9999, kMinute);
  ended(500.0, core::Outcome::kSucceeded, 7, kMillisecond);
  const std::vector<MeasuredWork> works = measured_works(state);
  TEST_ASSERT_EQUAL(1, works.size());
  TEST_ASSERT_EQUAL(3, works[0].runs);
  TEST_ASSERT_EQUAL_DOUBLE(20.0, works[0].samples_per_s);
  TEST_ASSERT_EQUAL_DOUBLE(400.0, works[0].samples);
}

TEST(a_run_that_began_with_a_model_tells_its_speed_and_not_the_samples_of_a_new_task) {
  core::State state;
  core::Task task;
  task.spec.trainer = "mlp";
  task.rate = 10.0;
  task.outcome = core::Outcome::kSucceeded;
  task.samples = 5000;
  task.busy_ns = kMinute;
  state.ended.push_back(task);
  task.samples = 40;
  task.warm_from = 1;
  state.ended.push_back(task);
  std::vector<MeasuredWork> works = measured_works(state);
  TEST_ASSERT_EQUAL(1, works.size());
  TEST_ASSERT_EQUAL(2, works[0].runs);
  TEST_ASSERT_EQUAL_DOUBLE(5000.0, works[0].samples);

  // Promotions, each of another work, do not displace it.
  task.spec.promotes = "a";
  for (std::size_t i = 0; i < kMeasuredWorksMax; ++i) {
    task.spec.params = std::to_string(i);
    state.ended.push_back(task);
  }
  works = measured_works(state);
  TEST_ASSERT_EQUAL(1, works.size());
  TEST_ASSERT_EQUAL_DOUBLE(5000.0, works[0].samples);
}
