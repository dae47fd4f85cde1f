// Any sequence of admissible events: the core asserts on nothing and keeps its promises after each.
#include <map>

#include "base/require.hpp"
#include "tests/fuzz/events/board_events.hpp"

namespace {

using namespace laird;

constexpr int kEventsMax = 2000;

void check_lanes(const core::State& state) {
  std::map<core::TaskKey, int> seen;
  for (const core::Lane& lane : state.lanes) {
    std::uint64_t shares = 0;
    for (const core::TaskKey key : lane.running) {
      const core::Task* task = state.find_live(key);
      LAIRD_REQUIRE(task != nullptr, "a lane runs only live tasks");
      LAIRD_REQUIRE(++seen[key] == 1, "a task runs on one lane");
      LAIRD_REQUIRE(
          task->state == core::TaskState::kRunning || task->state == core::TaskState::kPreempting,
          "what a lane runs is running");
      LAIRD_REQUIRE(state.now < task->deadline_at, "no task past its deadline holds a grant");
      shares += task->share_ppm;
    }
    LAIRD_REQUIRE(shares <= core::kShareWholePpm, "shares sum to at most the whole lane");
  }
}

void check(const core::State& state, const core::Effects& commands) {
  check_lanes(state);
  LAIRD_REQUIRE(state.memory_used_bytes() <= state.config.memory_bytes, "trainers fit in memory");
  LAIRD_REQUIRE(state.live.size() <= core::kTasksLiveMax, "the live tasks are bounded");
  LAIRD_REQUIRE(state.ended.size() <= core::kTasksEndedKept, "the ended tasks are bounded");
  for (const core::Task& task : state.live) {
    LAIRD_REQUIRE(task.state != core::TaskState::kEnded, "an ended task is not live");
    LAIRD_REQUIRE(task.samples <= core::kSamplesMax, "samples stay exact");
    LAIRD_REQUIRE(core::explain(state, task.spec.name).has_value(), "a live task is explained");
  }
  for (const core::Effect& command : commands) {
    LAIRD_REQUIRE(!core::describe(command.body).empty(), "a command has words");
  }
}

// A state must come back from its snapshot as it was, at any moment.
void check_snapshot(core::State& state) {
  const Bytes bytes = core::encode(state);
  Result<core::State> again =
      core::decode_state({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  LAIRD_REQUIRE(again.has_value(), "a snapshot decodes");
  LAIRD_REQUIRE(again->digest() == state.digest(), "a snapshot is the whole state");
  state = std::move(*again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Feed feed(data, size);
  core::State state;
  core::Effects commands;
  core::Event first;
  first.at = kDay;
  first.body = core::Booted{kDay, fuzz::board_config(feed)};
  if (core::admissible(state, first)) core::step(state, first, commands);
  for (int i = 0; i < kEventsMax && !feed.empty(); ++i) {
    const core::Event event = fuzz::next_event(feed, state);
    LAIRD_REQUIRE(!core::describe(event.body).empty(), "an event has words");
    if (!core::admissible(state, event)) continue;
    commands.clear();
    core::step(state, event, commands);
    check(state, commands);
    if (i % 64 == 63) check_snapshot(state);
  }
  check_snapshot(state);
  return 0;
}
