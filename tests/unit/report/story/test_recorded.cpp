// The story of the journal that the replay baseline is.
#include <algorithm>

#include "agent/replay/replay.hpp"
#include "report/story/teller.hpp"
#include "report/story/verdict.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::story;

TEST(the_recorded_board_is_told_as_its_journal_has_it) {
  Teller teller;
  const Result<lab::ReplayResult> replayed =
      lab::replay(LAIRD_REPLAY_DIR "/one_board.db", {},
                  [&](const core::Event& event, const core::State& state,
                      const core::Effects& commands) { teller.see(event, state, commands); });
  TEST_ASSERT_TRUE(replayed.has_value());
  const BoardStory story = teller.finish(replayed->state);
  TEST_ASSERT_EQUAL_STRING(replayed->state.config.node.c_str(), story.node.c_str());
  TEST_ASSERT_EQUAL_UINT64(replayed->state.ended.size() + replayed->state.live.size(),
                           story.tasks.size());
  TEST_ASSERT_EQUAL_INT64(replayed->state.now, story.to);
  for (const TaskStory& task : story.tasks) {
    const core::Task* known = replayed->state.find_any(task.key);
    TEST_ASSERT_NOT_NULL(known);
    TEST_ASSERT_EQUAL_STRING(known->spec.name.c_str(), task.name.c_str());
    TEST_ASSERT_TRUE(known->outcome == task.outcome);
    TEST_ASSERT_EQUAL_INT64(known->ended_at, task.ended_at);
    TEST_ASSERT_TRUE(task.reports > 0);
    TEST_ASSERT_FALSE(task.why.empty());
    // What the track has of running is what the core counted as busy.
    DurationNs ran = 0;
    for (const Cell& cell : task.track.cells()) ran += cell.ns[0];
    TEST_ASSERT_TRUE(std::abs(ran - known->busy_ns) < 100 * kMillisecond);
  }
  TEST_ASSERT_TRUE(std::is_sorted(story.happenings.begin(), story.happenings.end(),
                                  [](const auto& a, const auto& b) { return a.at < b.at; }));
  TEST_ASSERT_EQUAL_UINT64(story.tasks.size(), judge({&story, 1}).tasks.all);
}
