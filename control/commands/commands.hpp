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
void add_task_verbs(cli::Command& app, int& code);  // cancel, pause, resume, explain, rm, edit
void add_move(cli::Command& app, int& code);
void add_models(cli::Command& app, int& code);
void add_pull(cli::Command& app, int& code);
void add_push(cli::Command& app, int& code);
void add_promote(cli::Command& models, int& code);  // models promote, models roll-out
void add_why(cli::Command& app, int& code);
void add_drain(cli::Command& app, int& code);  // drain, undrain
void add_cap(cli::Command& app, int& code);
void add_config(cli::Command& app, int& code);
void add_fleet(cli::Command& app, int& code);
void add_fleet_create(cli::Command& fleet, int& code);
void add_fleet_push(cli::Command& fleet, int& code);
void add_enroll(cli::Command& app, int& code);
void add_upgrade(cli::Command& app, int& code);
void add_purge(cli::Command& app, int& code);
void add_top(cli::Command& app, int& code);
void add_serve(cli::Command& app, int& code);
void add_doctor(cli::Command& app, int& code);
void add_completion(cli::Command& app, int& code);
void add_version(cli::Command& app, int& code);
void add_replay(cli::Command& app, int& code);
void add_report(cli::Command& app, int& code);
void add_pki(cli::Command& app, int& code);
void add_broker(cli::Command& app, int& code);
void add_join(cli::Command& app, int& code);
void add_provision(cli::Command& app, int& code);

// What happened in the last hour, at most so much of it, from the boards' memories: the view's
// events begin with it. Without a key to ask with they begin with what happens next.
void bring_past_events(FleetClient& client, std::size_t most);

// Tells the boards which certificates are revoked, by the list in the folder of certificates, and
// waits until those that are there say that it is in force. The code to exit with.
[[nodiscard]] int publish_revocations(FleetClient& client, const std::string& pki,
                                      DurationNs timeout);

}  // namespace laird::control
