// Recordings that begin in the middle of a life, as those of journals do whose oldest files were
// dropped, and agents that stood still.
#include "agent/whatif/compare.hpp"
#include "agent/whatif/recorder.hpp"
#include "agent/whatif/rerun.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::whatif;
using test::FakeBoard;
using test::FakeTrainer;
using test::small_board;
using test::small_task;

namespace {

Rerun again(const Recording& recording) {
  auto out = run_again(recording, {});
  TEST_ASSERT_TRUE_MESSAGE(out.has_value(), out ? "" : out.error().context.c_str());
  return std::move(*out);
}

// Two tasks share a lane; the recording begins so long after their submission.
Recording begun_after(DurationNs begin, core::TaskState& found) {
  FakeBoard board(small_board("round-robin"));
  FakeTrainer slow;
  slow.rate = 60.0;
  board.submit(small_task("a", kMinute, 0.62), slow);
  board.submit(small_task("b", kMinute, 0.7), slow);
  board.run_for(begin);
  found = board.state.live.at(0).state;
  Recorder recorder;
  recorder.begin(board.state);
  board.after_step = [&](const core::Event& event, const core::Effects& effects) {
    recorder.see(event, board.state, effects);
  };
  board.run_for(2 * kMinute);
  return recorder.finish(board.state);
}

}  // namespace

TEST(a_recording_may_begin_in_the_middle_of_a_grant_a_start_or_a_pause) {
  std::uint64_t running = 0;
  std::uint64_t starting = 0;
  for (DurationNs begin = 20 * kMillisecond; begin < 12 * kSecond; begin += 333 * kMillisecond) {
    core::TaskState found{};
    const Recording recording = begun_after(begin, found);
    running += found == core::TaskState::kRunning ? 1 : 0;
    starting += found == core::TaskState::kStarting ? 1 : 0;
    TEST_ASSERT_EQUAL_UINT64(2, recording.was.succeeded());
    const Fidelity f = fidelity_of(recording.was, again(recording).tally);
    TEST_ASSERT_EQUAL_UINT64(2, f.same_end);
    TEST_ASSERT_TRUE_MESSAGE(f.end_moved_most <= kEndWithin, std::to_string(begin).c_str());
  }
  TEST_ASSERT_TRUE(running > 5 && starting > 0);
}

TEST(an_agent_that_stood_still_does_so_again) {
  FakeBoard board(small_board());
  Recorder recorder;
  core::State nothing;
  recorder.begin(nothing);
  board.after_step = [&](const core::Event& event, const core::Effects& effects) {
    recorder.see(event, board.state, effects);
  };
  FakeTrainer slow;
  slow.rate = 50.0;
  board.submit(small_task("a", kMinute, 0.6), slow);
  board.run_for(5 * kSecond);
  board.skip(10 * kSecond);
  board.run_for(kMinute);
  const Recording recording = recorder.finish(board.state);
  TEST_ASSERT_EQUAL_UINT64(1, recording.stalls.size());
  const Stall& stall = recording.stalls.front();
  TEST_ASSERT_TRUE(stall.to - stall.from > 8 * kSecond);
  const Rerun rerun = again(recording);
  TEST_ASSERT_TRUE(fidelity_of(recording.was, rerun.tally).good());
}
