// A journal as a trace that Perfetto and Chrome's tracing page open: a process for each board, in
// it a track for each lane and each task, and counters for power, caps, clocks and rails.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "report/story/grants.hpp"
#include "report/story/story.hpp"

namespace laird::report {

using TraceSink = std::function<void(std::string_view text)>;

[[nodiscard]] std::string_view trace_begin();
[[nodiscard]] std::string_view trace_end();

// Writes the events of one board while its journal is stepped.
class TraceWriter {
 public:
  // `number` tells boards apart, from 1 on; `first`: nothing was written before.
  TraceWriter(int number, bool first, TraceSink sink)
      : number_(number), first_(first), sink_(std::move(sink)) {}

  void see(const core::Event& event, const core::State& state);
  void see_stretch(const story::TaskStory& task, story::Doing doing, int lane, TimeNs from,
                   TimeNs to);
  [[nodiscard]] bool wrote_nothing() const { return first_; }

 private:
  void put(std::string_view phase, std::string_view name, std::int64_t thread, TimeNs at,
           std::string_view more);
  void name_board(const core::State& state);
  void name_thread(std::int64_t thread, const std::string& name);

  int number_;
  bool first_;
  TraceSink sink_;
  std::string node_;
  DurationNs wall_minus_agent_ = 0;
  story::GrantWatch grants_;
  std::set<std::int64_t> named_;
};

}  // namespace laird::report
