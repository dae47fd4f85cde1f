// What boards say to one another about earlier runs: one asks all of them who has run a task's
// work, whoever has tells the curve it kept.
//
// Source: ours. Nothing here is relied on: packets may be lost, and what a peer tells is let go by
// the forecaster itself as soon as the task's own reports leave it (estimators/model/trace.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "agent/core/state/task.hpp"
#include "base/error.hpp"

namespace laird::core {

struct RunAsked {
  TaskKey key = 0;  // of the task of the board that asks
  std::string work;
  std::string trainer;
  std::string name;    // a run of another work of the trainer counts if it had that name,
  std::string run_of;  // or was a run of that recurring task
  void archive(Archive& ar);
};

struct RunTold {
  TaskKey key = 0;
  std::string work;  // that was asked for
  std::string task;  // the name of the run that is told
  bool same_work = false;
  estimators::Trace trace;
  void archive(Archive& ar);
};

using RunWord = std::variant<RunAsked, RunTold>;

// A trainer with its parameters: tasks of one work learn alike.
[[nodiscard]] std::string work_of_run(const TaskSpec& spec);

[[nodiscard]] std::string encode(RunWord word);
// Checks all that a peer could have written into it.
[[nodiscard]] Result<RunWord> decode_run_word(std::string_view bytes);

}  // namespace laird::core
