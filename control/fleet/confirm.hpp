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

// One command `config` for `boards`, to its end: asked, restarted, confirmed or reverted. What is
// returned are the last words of the boards; one that fell silent has a word of ours.
class ConfigChange {
 public:
  ConfigChange(FleetClient& client, DurationNs timeout, DurationNs within)
      : client_(client), timeout_(timeout), within_(within) {}

  [[nodiscard]] Result<std::map<std::string, mqtt::Reply>> run(const json::Value& body,
                                                               const std::set<std::string>& boards);

 private:
  struct Waiting {
    std::string id;          // of the change
    std::int64_t epoch = 0;  // of the agent that took it: the next one has a higher
    std::string asked;       // id of the last confirmation
    SteadyTime ask_again;
  };

  void look(FleetClient& over);
  void open_new_link();

  FleetClient& client_;
  DurationNs timeout_;
  DurationNs within_;
  // Where the boards are told to be from now on, when that is another broker.
  std::vector<std::string> brokers_;
  std::unique_ptr<FleetClient> there_;
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, mqtt::Reply> settled_;
};

}  // namespace laird::control
