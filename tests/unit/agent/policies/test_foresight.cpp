#include "agent/policies/foresight.hpp"

#include <algorithm>
#include <string>

#include "agent/core/step/step.hpp"
#include "base/exact_math.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using test::FakeBoard;
using test::FakeTrainer;

namespace {

// A task that has learned: loss (s / 100)^-exponent, 1000 samples a second.
core::Task learned(core::TaskKey key, double target, int reports, double exponent = 0.5) {
  core::Task task;
  task.key = key;
  task.rate = 1000.0;
  task.spec.report_every = 100;
  task.spec.target_loss = target;
  task.deadline_at = 400 * kSecond;
  task.loss_known = true;
  for (int i = 1; i <= reports; ++i) {
    task.samples += 100;
    task.loss = exact::pow(static_cast<double>(i), -exponent);
    static_cast<void>(task.forecast.observe(static_cast<double>(task.samples), task.loss));
  }
  return task;
}

policies::Decision ask(policies::Foresight& policy, const std::vector<policies::Candidate>& all,
                       TimeNs now = kSecond) {
  policies::Decision out;
  policy.decide(policies::LaneView{0, core::LaneKind::kCpu, now, kSecond, all, 0}, out);
  return out;
}

FakeTrainer trainer(double slope) {
  FakeTrainer t;
  t.loss_slope = slope;
  t.start_ns = kMillisecond;
  return t;
}

}  // namespace

TEST(every_task_is_probed_before_any_gets_more) {
  FakeBoard board(test::small_board("foresight"));
  for (int i = 0; i < 4; ++i) {
    board.submit(test::small_task("t" + std::to_string(i), 5 * kMinute, 0.05), trainer(0.5));
  }
  board.run_for(3 * kSecond);
  for (int i = 0; i < 4; ++i) {
    TEST_ASSERT_TRUE(board.task("t" + std::to_string(i))->forecast.reports() >= 2);
  }
}

TEST(time_goes_to_the_task_that_can_still_make_it) {
  FakeBoard board(test::small_board("foresight"));
  // At 1000 samples per second: "hopeless" would need 10^5 times the samples its deadline allows.
  board.submit(test::small_task("hopeless", 2 * kMinute, 0.001), trainer(0.3));
  board.submit(test::small_task("likely", 2 * kMinute, 0.15), trainer(0.5));
  board.run_for(2 * kMinute + kSecond);
  TEST_ASSERT_EQUAL_STRING("succeeded", std::string(name(board.task("likely")->outcome)).c_str());
  TEST_ASSERT_EQUAL_STRING("missed", std::string(name(board.task("hopeless")->outcome)).c_str());
}

TEST(a_task_ruled_out_is_tried_again_when_the_lane_would_idle) {
  FakeBoard board(test::small_board("foresight"));
  board.submit(test::small_task("hopeless", kMinute, 1e-9), trainer(0.05));
  board.run_for(30 * kSecond);
  TEST_ASSERT_TRUE(board.task("hopeless")->samples > 20'000);
}

TEST(it_explains_its_choice_in_numbers) {
  FakeBoard board(test::small_board("foresight"));
  board.submit(test::small_task("a", 2 * kMinute, 0.1), trainer(0.5));
  board.submit(test::small_task("b", 2 * kMinute, 0.1), trainer(0.4));
  board.run_for(10 * kSecond);
  const std::string a = *core::explain(board.state, "a");
  const std::string b = *core::explain(board.state, "b");
  TEST_ASSERT_TRUE(a.find("by its deadline with ") != std::string::npos);
  const std::string both = a + b;
  TEST_ASSERT_TRUE(both.find("successes") != std::string::npos);
}

TEST(a_restart_in_the_middle_changes_no_later_decision) {
  // The cache of needs is not archived, so this fails if anything of it were state.
  TEST_ASSERT_EQUAL_HEX64(test::digest_after_a_minute("foresight", 5, false),
                          test::digest_after_a_minute("foresight", 5, true));
}

TEST(what_it_takes_to_bring_a_trainer_back_counts_against_switching_to_it) {
  core::Task here = learned(1, 0.09, 60);
  core::Task away = learned(2, 0.12, 60);  // nearer to its target
  away.restore_ns = 50 * kMillisecond;
  away.checkpoint_ns = 50 * kMillisecond;
  here.deadline_at = away.deadline_at = 9 * kSecond;
  policies::Foresight cheap;
  TEST_ASSERT_EQUAL_UINT32(2, ask(cheap, {{&here, true}, {&away, false}}).choices[0].key);
  away.restore_ns = 8 * kSecond;
  policies::Foresight dear;
  TEST_ASSERT_EQUAL_UINT32(1, ask(dear, {{&here, true}, {&away, false}}).choices[0].key);
  TEST_ASSERT_TRUE(dear.explain(away).find("starting it takes 8 s") != std::string::npos);
}

TEST(the_shortlist_keeps_the_best_wherever_it_stands) {
  for (const std::size_t place : {std::size_t{0}, std::size_t{100}, std::size_t{299}}) {
    std::vector<core::Task> tasks;
    for (core::TaskKey key = 1; key <= 300; ++key) {
      tasks.push_back(learned(key, 0.002, 20));
    }
    tasks[place] = learned(static_cast<core::TaskKey>(place + 1), 0.22, 20);  // almost there
    tasks[place].deadline_at = 4 * kSecond;
    std::vector<policies::Candidate> all;
    for (const core::Task& task : tasks) all.push_back({&task, true});
    policies::Foresight policy;
    TEST_ASSERT_EQUAL_UINT32(place + 1, ask(policy, all).choices[0].key);
  }
}

TEST(it_takes_turns_while_its_forecasts_do_not_hold_and_plans_again_when_they_do) {
  policies::Foresight policy;
  std::vector<core::Task> tasks = {learned(1, 0.06, 40), learned(2, 0.06, 40)};
  tasks[0].deadline_at = tasks[1].deadline_at = 4000 * kSecond;
  // Slow, so that a slice is a small step on the curve and its band is narrow.
  tasks[0].rate = tasks[1].rate = 20.0;
  TimeNs now = kSecond;
  const auto slice = [&](bool wild, int round) {
    const auto out = ask(policy, {{&tasks[0], true}, {&tasks[1], true}}, now);
    core::Task& task = tasks[out.choices[0].key - 1];
    task.samples += static_cast<std::uint64_t>(task.rate * static_cast<double>(out.slice) / 1e9);
    task.busy_ns += out.slice;
    task.grant_at = now;
    now += out.slice;
    task.loss = exact::pow(static_cast<double>(task.samples) / 100.0, -0.5);
    if (wild) task.loss *= round % 2 == 0 ? 40.0 : 0.03;
    // Wild losses would be learned in time: the forecaster is kept out of them.
    if (!wild)
      static_cast<void>(task.forecast.observe(static_cast<double>(task.samples), task.loss));
    else
      task.forecast = [&] {
        auto copy = learned(1, 0.06, 40).forecast;
        static_cast<void>(copy.observe(static_cast<double>(task.samples), task.loss));
        return copy;
      }();
    return out;
  };
  for (int round = 0; round < 40; ++round) static_cast<void>(slice(true, round));
  const std::string said = policy.explain(tasks[0]) + policy.explain(tasks[1]);
  TEST_ASSERT_TRUE(said.find("take turns") != std::string::npos);
  const DurationNs gap = tasks[0].busy_ns - tasks[1].busy_ns;
  for (int round = 0; round < 8; ++round) static_cast<void>(slice(true, round));
  const DurationNs gap_after = tasks[0].busy_ns - tasks[1].busy_ns;
  TEST_ASSERT_TRUE((gap_after < 0 ? -gap_after : gap_after) <=
                   std::max<DurationNs>(3 * kSecond, gap < 0 ? -gap : gap));
  tasks[0].forecast = learned(1, 0.06, 40).forecast;
  tasks[1].forecast = learned(2, 0.06, 40).forecast;
  for (int round = 0; round < 60; ++round) static_cast<void>(slice(false, round));
  const std::string later = policy.explain(tasks[0]) + policy.explain(tasks[1]);
  TEST_ASSERT_TRUE(later.find("take turns") == std::string::npos);
}

TEST(a_task_ruled_out_is_tried_again_even_while_others_are_planned) {
  policies::Foresight policy;
  core::Task hopeless = learned(1, 1e-9, 40, 0.05);
  hopeless.planned_samples = 4200;  // almost done, and nowhere near
  core::Task likely = learned(2, 0.05, 40);
  hopeless.grant_at = 90 * kSecond;
  likely.grant_at = 100 * kSecond;
  const std::vector<policies::Candidate> all = {{&hopeless, true}, {&likely, true}};
  TEST_ASSERT_EQUAL_UINT32(2, ask(policy, all, 100 * kSecond).choices[0].key);
  // A quarter of its 400 s later.
  TEST_ASSERT_EQUAL_UINT32(1, ask(policy, all, 191 * kSecond).choices[0].key);
  hopeless.grant_at = 191 * kSecond;
  TEST_ASSERT_EQUAL_UINT32(2, ask(policy, all, 195 * kSecond).choices[0].key);
}

TEST(nothing_remembered_outlives_what_it_was_computed_from) {
  // As after a restart: a policy read from the archive knows nothing but it. A crash has taken
  // samples back and a stepped clock has moved the deadlines, without a report.
  for (const char* name : {"foresight", "laira", "lara", "uara-laira"}) {
    std::vector<core::Task> tasks;
    for (core::TaskKey key = 1; key <= 4; ++key) {
      tasks.push_back(learned(key, 0.03 + 0.01 * static_cast<double>(key), 0));
    }
    const auto policy = std::move(*policies::make_policy(name));
    for (core::Task& task : tasks) {
      for (int i = 1; i <= 30; ++i) {
        task.samples += 100;
        task.loss = exact::pow(static_cast<double>(i), -0.3 - 0.05 * static_cast<double>(task.key));
        static_cast<void>(task.forecast.observe(static_cast<double>(task.samples), task.loss));
        policy->observe(task);
      }
    }
    std::vector<policies::Candidate> all;
    for (const core::Task& task : tasks) all.push_back({&task, true});
    const policies::LaneView view{0, core::LaneKind::kCpu, 30 * kSecond, kSecond, all, 0};
    policies::Decision first;
    policy->decide(view, first);
    for (core::Task& task : tasks) {
      task.samples = 500 * task.key;
      task.deadline_at -= 250 * kSecond;
    }
    Bytes bytes;
    Archive writer = Archive::writer(bytes);
    policy->archive(writer);
    const auto fresh = std::move(*policies::make_policy(name));
    Archive reader = Archive::reader(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    fresh->archive(reader);
    policies::Decision kept;
    policies::Decision anew;
    policy->decide(view, kept);
    fresh->decide(view, anew);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(anew.slice, kept.slice, name);
    TEST_ASSERT_EQUAL_UINT64(anew.choices.size(), kept.choices.size());
    for (std::size_t i = 0; i < kept.choices.size(); ++i) {
      TEST_ASSERT_EQUAL_UINT32(anew.choices[i].key, kept.choices[i].key);
      TEST_ASSERT_EQUAL_UINT32(anew.choices[i].share_ppm, kept.choices[i].share_ppm);
    }
    for (const core::Task& task : tasks) {
      TEST_ASSERT_EQUAL_STRING(fresh->explain(task).c_str(), policy->explain(task).c_str());
    }
  }
}
