// Landlock, where the kernel has it (Linux 5.13): which files this process and all it starts may
// open, whoever they run as. By raw system calls: older headers and C libraries know nothing of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/spec.hpp"

namespace laird::cell {

struct OpenPaths {
  std::vector<std::string> readable;
  std::vector<std::string> writable;  // and readable
  std::vector<std::string>
      devices;  // readable, writable and to be controlled; nothing is made there
};

// 0: the kernel has none, or it is switched off.
[[nodiscard]] int landlock_version();
// Needs no_new_privs. Adds the guards that hold from now on.
void confine_paths(const OpenPaths& open, Guards& guards);

// Everything below "/" but the hidden paths, as few paths as it takes. `entries` lists a folder's.
using Entries = std::function<std::vector<std::string>(const std::string& folder)>;
[[nodiscard]] std::vector<std::string> all_but(const std::vector<std::string>& hidden,
                                               const Entries& entries);
[[nodiscard]] std::vector<std::string> entries_of(const std::string& folder);

}  // namespace laird::cell
