// Looking at /proc: who is whose child, how many threads a user has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace laird::cell {

// The processes below this one, whoever their parents are by now: it must be their reaper.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t ancestor);
[[nodiscard]] std::uint64_t threads_of(uid_t user);
// Whether the kernel counts a user's processes in each user namespace by itself (Linux 5.14).
[[nodiscard]] bool counts_apart(bool own_user_namespace);

}  // namespace laird::cell
