// Engines by the board's trtexec, which every JetPack has, as a process of its own.
#pragma once

#include <memory>
#include <string>

#include "base/time.hpp"
#include "promote/backend.hpp"

namespace laird::promote {

inline constexpr std::string_view kTrtexecPath = "/usr/src/tensorrt/bin/trtexec";

// nullptr in the result: there is none at `path`. An error: there is one that does not work.
// `work` is a folder for its files.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_trtexec(const std::string& path,
                                                            const std::string& work,
                                                            DurationNs most);

}  // namespace laird::promote
