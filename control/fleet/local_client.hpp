// A request to the agent on this machine, over its control socket.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "json/value.hpp"

namespace laird::control {

// Sends one request and waits for its answer. An answer with "ok": false comes back as its Error.
[[nodiscard]] Result<json::Value> ask(const std::string& socket_path, const json::Value& request,
                                      DurationNs timeout);

}  // namespace laird::control
