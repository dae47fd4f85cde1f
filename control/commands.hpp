// The subcommands that live in files of their own. Each adds itself to the app; `code` becomes what
// lairctl exits with.
#pragma once

namespace CLI {
class App;
}

namespace laird::control {

void add_views(CLI::App& app, int& code);                  // status, get, describe
void add_events(CLI::App& get, CLI::App& app, int& code);  // get events, logs
void add_submit(CLI::App& app, int& code);
void add_steering(CLI::App& app, int& code);  // cancel, pause, resume, explain, drain, undrain
void add_cap(CLI::App& app, int& code);
void add_config(CLI::App& app, int& code);
void add_fleet(CLI::App& app, int& code);
void add_enroll(CLI::App& app, int& code);
void add_purge(CLI::App& app, int& code);
void add_top(CLI::App& app, int& code);
void add_doctor(CLI::App& app, int& code);
void add_completion(CLI::App& app, int& code);
void add_version(CLI::App& app, int& code);
void add_replay(CLI::App& app, int& code);
void add_pki(CLI::App& app, int& code);
void add_broker(CLI::App& app, int& code);

}  // namespace laird::control
