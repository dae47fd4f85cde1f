// The operator's half of commit-confirm: boards that took a change restart, and a change holds only
// when it is confirmed over the link that they have brought back (agent/settings/trial.hpp).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/fleet/fleet_client.hpp"

namespace laird::control {

// Takes one command `config` for several boards to its end: each board is asked, restarts, and is
// confirmed or reverts. Returns each board's last reply; for a board that fell silent it makes one
// up that says so.
class ConfigChange {
 public:
  ConfigChange(FleetClient& client, DurationNs timeout, DurationNs within)
      : client_(client), timeout_(timeout), within_(within) {}

  [[nodiscard]] Result<Replies> run(const json::Value& body, const std::set<std::string>& boards);

 private:
  struct Waiting {
    std::string id;          // of the change
    std::int64_t epoch = 0;  // of the agent that took the change; its next start has a higher one
    std::string asked;       // id of the last confirmation
    SteadyTime ask_again;
  };

  void look(FleetClient& over);
  void open_new_link();

  FleetClient& client_;
  DurationNs timeout_;
  DurationNs within_;
  // The broker that the new settings name, when it is another one.
  std::vector<std::string> brokers_;
  std::unique_ptr<FleetClient> there_;
  std::map<std::string, Waiting> waiting_;
  Replies settled_;
};

}  // namespace laird::control
