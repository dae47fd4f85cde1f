// A task's folder: made for its trainer, given to the trainer's user, and measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "os/fd.hpp"

namespace laird::cell {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// What stays in a task's folder when another task takes its name: the models that stand ready.
inline constexpr const char* kModelsKept = "promoted";
// What trainers have told other boards of the rows, of all tasks of the name (docs/cotraining.md).
inline constexpr const char* kToldKept = "privacy-spent.json";

// The folder `task` in `tasks_folder`, with all it holds, as `to`'s, and open to nobody else but
// the agent, which may look into it. Only what belongs to `from` changes hands, links are not
// followed, and a file that has a second name is left alone: nobody gets another's file in this
// way. Waits a little for a trainer that has the folder still; the lock ends with the descriptor.
[[nodiscard]] Result<Fd> take_folder(const std::string& tasks_folder, const std::string& task,
                                     Owner from, Owner to);

// What a run left, for the next one to begin with.
inline constexpr const char* kWarmFolder = "warm";

// Removes all that the folder holds, links not followed, but for the folders `kept`.
[[nodiscard]] Status empty_folder(int folder, const std::vector<std::string>& kept);
// Empties the folder for another run, but for the models and for what the run `from` left: that is
// in the folder "warm" then. Asked for again, also after it was interrupted, it does what is left
// to do: which run "warm" is of stands in it.
[[nodiscard]] Status keep_warm(int folder, std::uint64_t from);

struct Used {
  std::uint64_t bytes = 0;
  bool all_seen = true;  // false: there are more files than anybody counts
};
// What the folder takes on the disk; a file counts as 1 kB at least.
[[nodiscard]] Used folder_used(const std::string& folder);
// What files take that have no name any more and are held open by a process in `proc`.
[[nodiscard]] std::uint64_t nameless_used(const std::string& proc);

}  // namespace laird::cell
