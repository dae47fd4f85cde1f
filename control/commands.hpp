// The subcommands that live in files of their own. Each adds itself to the app; `code` becomes what
// lairctl exits with.
#pragma once

namespace CLI {
class App;
}

namespace laird::control {

void add_pki(CLI::App& app, int& code);
void add_broker(CLI::App& app, int& code);

}  // namespace laird::control
