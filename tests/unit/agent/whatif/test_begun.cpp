// Recordings that begin in the middle of a life, as those of journals do whose oldest files were
// dropped, and agents that stood still.
#include <string>

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
  slow.rate = 40.0;
  board.submit(small_task("a", kMinute, 0.75), slow);
  board.submit(small_task("b", kMinute, 0.8), slow);
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

TEST(a_recording_may_begin_in_the_middle_of_a_grant_or_a_start) {
  // While a speed is not known yet, a grant is long and this trainer reports at its end alone: a
  // recording that begins in it cannot know that. So begins are before the first one, or later.
  std::vector<DurationNs> begins = {20 * kMillisecond};
  for (DurationNs at = 10'200 * kMillisecond; at < 22 * kSecond; at += 333 * kMillisecond) {
    begins.push_back(at);
  }
  std::uint64_t running = 0;
  std::uint64_t starting = 0;
  for (const DurationNs begin : begins) {
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
  recorder.begin(board.state);
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
  const Fidelity f = fidelity_of(recording.was, rerun.tally);
  const std::string text = std::to_string(f.same_end) + " of " + std::to_string(f.tasks) +
                           " end alike, moved by " + std::to_string(f.end_moved_most);
  TEST_ASSERT_TRUE_MESSAGE(f.good(), text.c_str());
}
