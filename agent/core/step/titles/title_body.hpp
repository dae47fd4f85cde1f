// What travels with the title of a task that may move: all that another board needs to run it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/task.hpp"
#include "base/error.hpp"

namespace laird::core {

// The journal's format that a task's definition is written in here (agent/journal/reader.hpp); a
// board reads those of its own and earlier ones.
inline constexpr std::int64_t kTitleBodyFormat = 7;
inline constexpr std::int64_t kTitleBodyFormatOldest = 7;

struct TitleBody {
  TaskSpec spec;
  std::uint64_t submitted_digest = 0;
  TimeNs accepted_wall = 0;  // when the first board accepted it, by its wall clock
  std::uint32_t moves = 0;   // how many boards had it before
  std::string from;          // the board that wrote this
  std::uint64_t planned_samples = 0;
  std::uint64_t samples = 0;  // that the copied checkpoint holds
  std::vector<CopiedFile> files;
  bool too_large = false;  // there is a checkpoint, and it does not travel
  void archive(Archive& ar);
};

// Without the files if with them it would be too long for a message.
[[nodiscard]] std::string encode_title_body(TitleBody body);
// Checks all that a peer could have written into it.
[[nodiscard]] Result<TitleBody> decode_title_body(std::string_view bytes);
// A file of a task's own folder: no path, nothing hidden.
[[nodiscard]] bool is_checkpoint_file_name(std::string_view name);

}  // namespace laird::core
