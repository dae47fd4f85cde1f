// Any bytes as a snapshot, and edits to a good one: refused or whole, and events go on from it
// without an assertion, because a journal's snapshot is input like any other.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/core/state/state.hpp"
#include "agent/why/why.hpp"
#include "base/require.hpp"
#include "tests/fuzz/events/board_events.hpp"

namespace {

using namespace laird;

std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A board with a few tasks in several states.
Bytes good_snapshot() {
  core::State state;
  core::Effects commands;
  core::CoreConfig config;
  config.lanes = {{"gpu0", core::LaneKind::kGpu, 1000}, {"cpu0", core::LaneKind::kCpu, 1000}};
  config.memory_bytes = 1'000'000'000;
  config.trainers = {"fake"};
  TimeNs now = kDay;
  core::step(state, {now, core::Booted{now, config}}, commands);
  for (int i = 0; i < 4; ++i) {
    core::TaskSpec spec;
    spec.name = std::string("t") + static_cast<char>('a' + i);
    spec.trainer = "fake";
    spec.lane = i % 2 == 0 ? core::LaneKind::kGpu : core::LaneKind::kCpu;
    spec.deadline_after = kHour;
    spec.memory_bytes = 100'000'000;
    spec.report_every = 10;
    core::step(state, {now += kSecond, core::Submitted{1, spec}}, commands);
  }
  for (core::TaskKey key = 1; key <= 3; ++key) {
    core::step(state, {now += kSecond, core::TrainerReady{{key, 1}, 0, 0}}, commands);
  }
  core::step(state, {now += kSecond, core::TrainerProgressed{{1, 1}, 10, 0.5}}, commands);
  core::step(state, {now += kSecond, core::CancelRequested{2, "tc"}}, commands);
  // One that recurs, in its window, and one whose window is to come.
  for (const char* window : {"00:00-06:00 daily", "22:00-06:00 sat,sun"}) {
    core::TaskSpec spec;
    spec.name = window[0] == '0' ? "night" : "weekend";
    spec.trainer = "fake";
    spec.memory_bytes = 100'000'000;
    spec.report_every = 10;
    spec.every = {*core::parse_weekly_window(window), true};
    core::step(state, {now += kSecond, core::Submitted{3, spec}}, commands);
  }
  LAIRD_REQUIRE(state.recurring.size() == 2 && state.recurring.front().runs == 1,
                "the good snapshot has a schedule and a run");
  return core::encode(state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes good = good_snapshot();
  fuzz::Feed feed(data, size);
  Bytes bytes = good;
  if (feed.byte() % 4 == 0) {
    const std::string_view rest = feed.rest();
    bytes.assign(rest.begin(), rest.end());
  } else {
    for (std::uint32_t edits = feed.below(8); edits > 0; --edits) {
      const std::size_t where = (std::size_t{feed.byte()} << 8 | feed.byte()) % bytes.size();
      bytes[where] = feed.byte();
    }
  }
  Result<core::State> state = core::decode_state(view(bytes));
  if (!state) return 0;
  // Not the same bytes: limits that are out of range come in as the nearest that is in it.
  const Bytes written = core::encode(*state);
  Result<core::State> again = core::decode_state(view(written));
  LAIRD_REQUIRE(again.has_value(), "what was taken is taken again");
  LAIRD_REQUIRE(again->digest() == state->digest(), "and is the same");
  for (const core::Task& task : state->live) {
    static_cast<void>(core::explain(*state, task.spec.name));
    static_cast<void>(why::text_of(why::finding_of(*state, task, state->now)));
  }
  for (const core::Recurring& recurring : state->recurring) {
    static_cast<void>(core::explain(*state, recurring));
  }
  core::Effects commands;
  while (!feed.empty()) {
    const core::Event event = fuzz::next_event(feed, *state);
    if (!core::admissible(*state, event)) continue;
    commands.clear();
    core::step(*state, event, commands);
  }
  return 0;
}
