// A request to the agent on this machine, over its control socket.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "control/fleet/access.hpp"
#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"

namespace laird::control {

// Sends one request and waits for its answer. An answer with "ok": false comes back as its Error.
[[nodiscard]] Result<json::Value> ask(const std::string& socket_path, const json::Value& request,
                                      DurationNs timeout);

// A request of that verb, without a body yet.
[[nodiscard]] json::Value local_request(const char* verb);
// The tasks of this machine's board.
[[nodiscard]] Result<std::vector<TaskView>> local_tasks(const Where& where);

}  // namespace laird::control
