// The subcommands that live in files of their own. Each adds itself to the app; `code` becomes what
// lairctl exits with.
#pragma once

#include <string>

#include "base/time.hpp"

namespace laird::cli {
class Command;
}

namespace laird::control {

class FleetClient;

void add_status(cli::Command& app, int& code);
void add_get(cli::Command& app, int& code);
void add_describe(cli::Command& app, int& code);
void add_events(cli::Command& get, cli::Command& app, int& code);  // get events, logs
void add_submit(cli::Command& app, int& code);
void add_task_verbs(cli::Command& app, int& code);  // cancel, pause, resume, explain
void add_why(cli::Command& app, int& code);
void add_drain(cli::Command& app, int& code);  // drain, undrain
void add_cap(cli::Command& app, int& code);
void add_config(cli::Command& app, int& code);
void add_fleet(cli::Command& app, int& code);
void add_enroll(cli::Command& app, int& code);
void add_purge(cli::Command& app, int& code);
void add_top(cli::Command& app, int& code);
void add_doctor(cli::Command& app, int& code);
void add_completion(cli::Command& app, int& code);
void add_version(cli::Command& app, int& code);
void add_replay(cli::Command& app, int& code);
void add_pki(cli::Command& app, int& code);
void add_broker(cli::Command& app, int& code);

// Tells the boards which certificates are revoked, by the list in the folder of certificates, and
// waits until those that are there say that it is in force. The code to exit with.
[[nodiscard]] int publish_revocations(FleetClient& client, const std::string& pki,
                                      DurationNs timeout);

}  // namespace laird::control
