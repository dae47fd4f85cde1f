#include "agent/core/step/step.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;
using test::small_board;
using test::small_task;

namespace {

void assert_outcome(const FakeBoard& board, const char* name, Outcome outcome) {
  const Task* task = board.task(name);
  TEST_ASSERT_NOT_NULL(task);
  TEST_ASSERT_EQUAL_STRING(std::string(core::name(outcome)).c_str(),
                           std::string(core::name(task->outcome)).c_str());
}

const Answer& last_answer(const FakeBoard& board) { return board.answers.back(); }

}  // namespace

TEST(a_reachable_task_succeeds_and_an_unreachable_one_misses) {
  FakeBoard board(small_board());
  board.submit(small_task("easy", 30 * kSecond, 0.5));   // at 3,000 samples
  board.submit(small_task("hard", 30 * kSecond, 0.01));  // at 10 million
  board.run_for(40 * kSecond);
  assert_outcome(board, "easy", Outcome::kSucceeded);
  assert_outcome(board, "hard", Outcome::kMissed);
  TEST_ASSERT_TRUE(board.task("easy")->loss <= 0.5);
  TEST_ASSERT_TRUE(board.task("hard")->ended_at >= board.task("hard")->deadline_at);
  TEST_ASSERT_EQUAL_UINT64(0, board.state.live.size());
}

TEST(tasks_on_different_lanes_run_at_the_same_time) {
  FakeBoard board(small_board());
  TaskSpec gpu = small_task("on-gpu", 30 * kSecond, 0.01);
  gpu.lane = LaneKind::kGpu;
  board.submit(gpu);
  board.submit(small_task("on-cpu", 30 * kSecond, 0.01));
  board.run_for(10 * kSecond);
  TEST_ASSERT_TRUE(board.task("on-gpu")->busy_ns + board.task("on-cpu")->busy_ns > 17 * kSecond);
}

TEST(a_tasks_speed_counts_all_its_turns_since_its_last_report) {
  FakeBoard board(small_board());
  FakeTrainer silent;
  silent.hang_on_run = true;  // the test speaks for it
  board.submit(small_task("a", kHour, 0.0001), silent);
  board.submit(small_task("rival", kHour, 0.0001));
  const auto busy = [&] {
    const Task& a = *board.task("a");
    return a.busy_ns + (a.lane >= 0 ? board.now() - a.grant_at : 0);
  };
  // Five turns and the beginning of a sixth without a word.
  while (board.task("a")->grants < 6) board.run_for(10 * kMillisecond);
  TEST_ASSERT_TRUE(busy() > 100 * (board.now() - board.task("a")->grant_at));
  board.tell(TrainerProgressed{board.task("a")->process(),
                               static_cast<std::uint64_t>(busy() / kMillisecond), 0.9});
  TEST_ASSERT_DOUBLE_WITHIN(10.0, 1000.0, board.task("a")->rate);
}

TEST(a_refusal_names_its_reason) {
  FakeBoard board(small_board());
  TaskSpec spec = small_task("a", kMinute, 0.1);
  spec.trainer = "bash";
  board.submit(spec);
  TEST_ASSERT_FALSE(last_answer(board).ok);
  TEST_ASSERT_TRUE(last_answer(board).text.find("allow-list") != std::string::npos);
  spec = small_task("a", kMinute, 0.1);
  spec.memory_bytes = 2'000'000'000;
  board.submit(spec);
  TEST_ASSERT_EQUAL_STRING("it needs 2000 MB of memory, this board has 1000 MB for tasks",
                           last_answer(board).text.c_str());
  spec = small_task("a", 0, 0.1);
  spec.deadline_wall = board.now() - kSecond;
  board.submit(spec);
  TEST_ASSERT_EQUAL_STRING("its deadline has passed already", last_answer(board).text.c_str());
  TEST_ASSERT_EQUAL_UINT64(0, board.state.live.size());
}

TEST(the_same_submission_again_starts_nothing) {
  FakeBoard board(small_board());
  const TaskSpec spec = small_task("a", kMinute, 0.5);
  board.submit(spec);
  board.submit(spec);
  TEST_ASSERT_TRUE(last_answer(board).ok);
  TEST_ASSERT_EQUAL_UINT64(1, board.state.live.size());
  board.run_for(20 * kSecond);
  assert_outcome(board, "a", Outcome::kSucceeded);
  board.submit(spec);
  TEST_ASSERT_EQUAL_STRING("known already: succeeded", last_answer(board).text.c_str());
  TaskSpec other = spec;
  other.target_loss = 0.4;
  board.submit(other);
  TEST_ASSERT_TRUE(last_answer(board).code == Code::kExists);
  TEST_ASSERT_EQUAL_INT(1, board.count("start-trainer"));
}

TEST(a_crash_resumes_from_the_checkpoint_after_a_pause) {
  CoreConfig config = small_board();
  config.timing.checkpoint_every = kSecond;
  FakeBoard board(config);
  FakeTrainer trainer;
  trainer.crash_at = 2500;
  board.submit(small_task("a", kMinute, 0.5), trainer);
  board.run_for(2800 * kMillisecond);
  TEST_ASSERT_EQUAL_UINT32(1, board.task("a")->crashes);
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kBackoff);
  const std::uint64_t kept = board.task("a")->checkpoint_samples;
  TEST_ASSERT_TRUE(kept > 0);
  TEST_ASSERT_EQUAL_UINT64(kept, board.task("a")->samples);
  board.run_for(20 * kSecond);
  assert_outcome(board, "a", Outcome::kSucceeded);
  TEST_ASSERT_EQUAL_UINT32(2, board.task("a")->attempt);
}

TEST(a_trainer_that_never_gets_ready_fails_after_bounded_attempts) {
  CoreConfig config = small_board();
  config.timing.start_timeout = kSecond;
  config.timing.attempts_max = 3;
  FakeBoard board(config);
  FakeTrainer trainer;
  trainer.hang_on_start = true;
  board.submit(small_task("a", kHour, 0.5), trainer);
  board.run_for(5 * kMinute);
  assert_outcome(board, "a", Outcome::kFailed);
  TEST_ASSERT_EQUAL_INT(3, board.count("start-trainer"));
  TEST_ASSERT_TRUE(board.task("a")->reason.find("did not get ready") != std::string::npos);
}

TEST(a_hung_trainer_is_found_and_does_not_block_its_lane) {
  CoreConfig config = small_board();
  config.timing.hang_timeout = 2 * kSecond;
  config.timing.attempts_max = 2;
  FakeBoard board(config);
  FakeTrainer hung;
  hung.hang_on_run = true;
  hung.ignore_pause = true;
  board.submit(small_task("hung", kHour, 0.5), hung);
  board.submit(small_task("fine", kHour, 0.5));
  board.run_for(3 * kMinute);
  assert_outcome(board, "hung", Outcome::kFailed);
  assert_outcome(board, "fine", Outcome::kSucceeded);
}

TEST(a_trainer_that_ignores_stop_is_killed) {
  FakeBoard board(small_board());
  FakeTrainer stubborn;
  stubborn.ignore_stop = true;
  board.submit(small_task("a", 30 * kSecond, 0.5), stubborn);
  board.run_for(60 * kSecond);
  assert_outcome(board, "a", Outcome::kSucceeded);
  TEST_ASSERT_TRUE(board.count("kill-trainer") >= 1);
  TEST_ASSERT_EQUAL_UINT64(0, board.state.live.size());
}

TEST(planned_work_done_without_the_target_is_exhausted) {
  FakeBoard board(small_board());
  FakeTrainer trainer;
  trainer.done_at = 2000;
  board.submit(small_task("a", kMinute, 0.01), trainer);
  board.run_for(20 * kSecond);
  assert_outcome(board, "a", Outcome::kExhausted);
}

TEST(an_operator_can_pause_resume_and_cancel) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kHour, 0.0001));
  board.run_for(3 * kSecond);
  board.tell(PauseRequested{7, "a"});
  board.run_for(2 * kSecond);
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kPaused);
  const std::uint64_t samples = board.task("a")->samples;
  TEST_ASSERT_TRUE(samples > 0);
  board.run_for(10 * kSecond);
  TEST_ASSERT_EQUAL_UINT64(samples, board.task("a")->samples);
  board.tell(ResumeRequested{8, "a"});
  board.run_for(5 * kSecond);
  TEST_ASSERT_TRUE(board.task("a")->samples > samples);
  board.tell(CancelRequested{9, "a"});
  board.run_for(kSecond);
  assert_outcome(board, "a", Outcome::kCancelled);
  board.tell(CancelRequested{10, "a"});
  TEST_ASSERT_TRUE(last_answer(board).ok);
  board.tell(CancelRequested{11, "nobody"});
  TEST_ASSERT_TRUE(last_answer(board).code == Code::kNotFound);
}

TEST(more_tasks_than_memory_take_turns_through_eviction) {
  CoreConfig config = small_board();
  config.memory_bytes = 250'000'000;  // two of four fit
  FakeBoard board(config);
  for (const char* name : {"a", "b", "c", "d"}) {
    board.submit(small_task(name, 10 * kMinute, 0.05));
  }
  std::int64_t most = 0;
  board.after_step = [&](const Event&, const Effects&) {
    most = std::max(most, board.state.memory_used_bytes());
  };
  board.run_for(2 * kMinute);
  for (const char* name : {"a", "b", "c", "d"}) {
    TEST_ASSERT_TRUE_MESSAGE(board.task(name)->busy_ns > 10 * kSecond, name);
  }
  TEST_ASSERT_TRUE(most <= config.memory_bytes);
  TEST_ASSERT_TRUE(board.state.counters.evictions > 0);
}

TEST(uniform_divides_a_lane_into_equal_shares) {
  FakeBoard board(small_board("uniform"));
  for (const char* name : {"a", "b", "c", "d"}) board.submit(small_task(name, kHour, 0.0001));
  board.run_for(10 * kSecond);
  std::uint32_t shares = 0;
  for (const char* name : {"a", "b", "c", "d"}) shares += board.task(name)->share_ppm;
  TEST_ASSERT_EQUAL_UINT32(1'000'000, shares);
}

TEST(shortest_task_first_serves_the_next_deadline) {
  FakeBoard board(small_board("shortest-task-first"));
  board.submit(small_task("late", 60 * kSecond, 0.0001));
  board.submit(small_task("soon", 20 * kSecond, 0.0001));
  board.run_for(19 * kSecond);
  TEST_ASSERT_TRUE(board.task("soon")->busy_ns > 15 * kSecond);
  board.run_for(20 * kSecond);
  TEST_ASSERT_TRUE(board.task("late")->busy_ns > 15 * kSecond);
}

TEST(shutdown_checkpoints_and_a_restart_goes_on_from_there) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kHour, 0.0001));
  board.run_for(5 * kSecond);
  board.tell(ShutdownRequested{});
  board.run_for(kSecond);
  TEST_ASSERT_TRUE(board.exited);
  const std::uint64_t kept = board.task("a")->checkpoint_samples;
  TEST_ASSERT_TRUE(kept > 3000);
  board.restart();
  board.run_for(kSecond);
  TEST_ASSERT_TRUE(board.task("a")->samples >= kept);
  TEST_ASSERT_TRUE(board.task("a")->attempt == 2);
}

TEST(an_outcome_decided_before_a_crash_stays_decided) {
  FakeBoard board(small_board());
  FakeTrainer slow;
  slow.ignore_stop = true;
  board.submit(small_task("a", kMinute, 0.5), slow);
  while (board.task("a")->outcome == Outcome::kNone) board.run_for(10 * kMillisecond);
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kFinishing);
  board.restart();
  assert_outcome(board, "a", Outcome::kSucceeded);
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kEnded);
  board.run_for(10 * kSecond);
  TEST_ASSERT_EQUAL_INT(1, board.count("start-trainer"));
}

// The agent is killed a moment after each start, by the trainer or by somebody else.
void let_the_agent_die(FakeBoard& board, DurationNs after) {
  board.run_for(after);
  board.restart();
}

TEST(a_task_whose_trainer_ends_the_agent_fails_after_three_tries) {
  FakeBoard board(small_board());
  board.submit(small_task("poison", kHour, 0.0001));
  for (int tries = 0; tries < 3; ++tries) {
    TEST_ASSERT_EQUAL_INT(tries + 1, board.count("start-trainer"));
    assert_outcome(board, "poison", Outcome::kNone);
    let_the_agent_die(board, 10 * kMillisecond);
  }
  assert_outcome(board, "poison", Outcome::kFailed);
  TEST_ASSERT_NOT_NULL(std::strstr(board.task("poison")->reason.c_str(), "ended 3 times in a row"));
  board.run_for(kMinute);
  TEST_ASSERT_EQUAL_INT(3, board.count("start-trainer"));
}

TEST(a_trainer_that_wrote_a_checkpoint_or_lived_long_has_not_ended_the_agent) {
  FakeBoard board(small_board());
  board.submit(small_task("innocent", kHour, 0.0001));
  for (int tries = 0; tries < 10; ++tries) let_the_agent_die(board, 40 * kSecond);
  assert_outcome(board, "innocent", Outcome::kNone);
  // Neither is a machine that goes down the trainer's doing.
  for (int tries = 0; tries < 10; ++tries) {
    ++board.machine_boot;
    let_the_agent_die(board, 10 * kMillisecond);
  }
  assert_outcome(board, "innocent", Outcome::kNone);
}

TEST(who_was_there_when_the_agent_died_twice_is_tried_alone) {
  FakeBoard board(small_board());
  board.submit(small_task("innocent", kHour, 0.0001));
  board.submit(small_task("poison", kHour, 0.0001));
  for (int tries = 0; tries < 2; ++tries) let_the_agent_die(board, 10 * kMillisecond);
  // The first is alone until it has proven itself, then the next.
  board.run_for(20 * kSecond);
  TEST_ASSERT_TRUE(has_process(board.task("innocent")->state));
  TEST_ASSERT_FALSE(has_process(board.task("poison")->state));
  board.submit(small_task("later", kHour, 0.0001));
  while (!has_process(board.task("poison")->state)) board.run_for(10 * kMillisecond);
  let_the_agent_die(board, 0);
  assert_outcome(board, "poison", Outcome::kFailed);
  board.run_for(kMinute);
  assert_outcome(board, "innocent", Outcome::kNone);
  TEST_ASSERT_TRUE(board.task("later")->samples > 0);
}

TEST(words_out_of_turn_fail_the_trainer_and_not_the_agent) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kHour, 0.0001));
  const TaskKey key = board.task("a")->key;
  board.tell(TrainerProgressed{{key, 1}, 5, 0.1});  // before it is ready
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kBackoff);
  board.run_for(5 * kSecond);
  board.tell(TrainerProgressed{{key, 2}, 1, 0.9});  // backwards
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kBackoff);
  board.tell(TrainerProgressed{{key, 1}, 9, 0.0});  // an earlier process
  board.tell(TrainerReady{{key + 100, 1}, 0, 0});   // nobody
  board.tell(TrainerExited{{key, 1}, 0});
  TEST_ASSERT_TRUE(board.task("a")->outcome == Outcome::kNone);
  TEST_ASSERT_EQUAL_UINT64(2, board.state.counters.breaches);
}

TEST(a_wall_clock_deadline_follows_the_wall_clock) {
  FakeBoard board(small_board());
  TaskSpec spec = small_task("a", 0, 0.0001);
  spec.deadline_wall = board.now() + 100 * kSecond;
  board.submit(spec);
  board.run_for(10 * kSecond);
  board.tell(ClockStepped{board.now() + 80 * kSecond});  // the clock was 80 s slow
  board.run_for(11 * kSecond);
  assert_outcome(board, "a", Outcome::kMissed);
}

TEST(energy_is_attributed_to_what_ran) {
  CoreConfig config = small_board();
  config.meter.idle_mw = 1000;
  FakeBoard board(config);
  board.submit(small_task("a", kHour, 0.2));
  for (int i = 0; i < 60; ++i) {
    power::PowerReading reading;
    reading.source = power::Source::kModelled;
    reading.total_mw = 5000;
    board.tell(PowerSampled{reading});
    board.run_for(kSecond);
  }
  assert_outcome(board, "a", Outcome::kSucceeded);
  const double joules = static_cast<double>(board.task("a")->energy_uj) * 1e-6;
  const double ran_s = static_cast<double>(board.task("a")->busy_ns) * 1e-9;
  TEST_ASSERT_DOUBLE_WITHIN(5.1, 5.0 * ran_s, joules);
}

TEST(an_event_that_cannot_follow_is_refused_not_asserted) {
  FakeBoard board(small_board());
  TEST_ASSERT_FALSE(admissible(board.state, Event{board.now() - 1, Ticked{}}).has_value());
  CoreConfig odd = small_board("no-such-policy");
  TEST_ASSERT_FALSE(admissible(board.state, Event{board.now(), Booted{0, odd}}).has_value());
  TEST_ASSERT_FALSE(admissible(State{}, Event{0, Ticked{}}).has_value());
}

// Found by fuzzing: a journal may hold any number.
TEST(an_exit_by_a_signal_no_system_has_is_told_as_it_came) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kMinute, 0.01));
  board.run_for(2 * kSecond);
  board.tell(TrainerExited{board.task("a")->process(), std::numeric_limits<std::int32_t>::min()});
  TEST_ASSERT_TRUE(board.task("a")->reason.find("signal 2147483648") != std::string::npos);
}

TEST(a_trainer_that_waits_for_other_boards_gives_its_lane_to_the_next_task) {
  FakeBoard board(small_board());
  board.submit(small_task("waits", kHour, 0.001));
  board.run_for(2 * kSecond);
  const auto running = [&board](const char* name) {
    return board.task(name)->state == TaskState::kRunning;
  };
  while (!running("waits")) board.run_for(kMillisecond);
  const std::uint32_t grants = board.task("waits")->grants;
  board.tell(TrainerYielded{board.task("waits")->process(), 300 * kMillisecond});
  TEST_ASSERT_TRUE(board.task("waits")->state == TaskState::kReady);
  TEST_ASSERT_EQUAL_UINT32(grants, board.task("waits")->grants);
  board.submit(small_task("next", kHour, 0.001));
  board.run_for(250 * kMillisecond);
  TEST_ASSERT_EQUAL_UINT32(grants, board.task("waits")->grants);
  TEST_ASSERT_TRUE(board.task("next")->grants > 0);
  board.run_for(2 * kSecond);
  TEST_ASSERT_TRUE(board.task("waits")->grants > grants);
}

TEST(a_yield_wakes_the_board_again_though_nothing_else_happens) {
  FakeBoard board(small_board());
  board.submit(small_task("waits", kHour, 0.001));
  while (board.task("waits")->state != TaskState::kRunning) board.run_for(kMillisecond);
  const std::uint32_t grants = board.task("waits")->grants;
  // However long it asks for, it is asked again after a second.
  board.tell(TrainerYielded{board.task("waits")->process(), kHour});
  board.run_for(kSecond - kMillisecond);
  TEST_ASSERT_EQUAL_UINT32(grants, board.task("waits")->grants);
  board.run_for(2 * kMillisecond);
  TEST_ASSERT_EQUAL_UINT32(grants + 1, board.task("waits")->grants);
}

TEST(a_yield_out_of_turn_changes_nothing) {
  FakeBoard board(small_board());
  board.submit(small_task("a", kHour, 0.001));
  board.tell(TrainerYielded{{board.task("a")->key, 99}, kSecond});
  board.tell(TrainerYielded{{12345, 1}, kSecond});
  while (board.task("a")->state != TaskState::kRunning) board.run_for(kMillisecond);
  board.tell(TrainerYielded{board.task("a")->process(), -kHour});
  board.tell(TrainerYielded{board.task("a")->process(), kSecond});
  board.run_for(5 * kMillisecond);
  TEST_ASSERT_TRUE(board.task("a")->state == TaskState::kRunning);
}
