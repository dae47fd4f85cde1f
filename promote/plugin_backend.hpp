// Engines by TensorRT in this process, through the plugin that was built for it.
#pragma once

#include <memory>
#include <string>

#include "promote/backend.hpp"

namespace laird::promote {

// nullptr in the result: there is no plugin at `path`, or no TensorRT or device for it; `why` says
// which. An error: there is one that does not work.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_plugin(const std::string& path,
                                                           std::string& why);

}  // namespace laird::promote
