// Who lairctl is and where it goes: the one place that decides between this machine's agent and the
// fleet.
//
//   1. --local or --socket          this machine's agent, over its socket
//   2. --config, --fleet, --broker, --credentials, or a board named by the command: the fleet
//   3. LAIRD_SOCKET                 this machine's agent
//   4. LAIRCTL_CONFIG, LAIRD_FLEET, or a file ~/.config/laird/lairctl.json: the fleet
//   5. otherwise                    this machine's agent
//
// Each setting of the fleet comes from its flag, else its variable, else the file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "config/schema.hpp"

namespace laird::control {

struct Access {
  std::string fleet;
  std::vector<std::string> brokers;
  std::string ca;
  std::string cert;
  std::string key;
  bool insecure_lab = false;
  std::string op;           // the operator's name
  std::string signing_key;  // a file
  std::string config_path;  // where it came from; empty when from flags and variables alone
};

struct Where {
  bool local = true;
  std::string socket;
  Access fleet;
  DurationNs timeout = 10 * kSecond;
};

// What was given on the command line. A text is empty when its flag was not given.
struct AccessFlags {
  bool local = false;
  std::string socket;
  std::string config;
  std::string fleet;
  std::string broker;
  std::string credentials;
  std::string timeout = "10s";
};

inline constexpr const char* kSocketDefault = "/var/lib/laird/laird.sock";

// Reads a variable of the environment; tests read from a map.
using Environment = std::function<std::optional<std::string>(const char*)>;
[[nodiscard]] Environment process_environment();

// ~/.config/laird/lairctl.json, or where the environment has it; empty without a home folder.
[[nodiscard]] std::string usual_access_path(const Environment& environment);

// `board_named`: the command says --node, --all or --any, which only a fleet has.
[[nodiscard]] Result<Where> decide(const AccessFlags& flags, const Environment& environment,
                                   bool board_named);

// Refuses what can never work, before anything is sent. Fills in the operator's name from the
// certificate where it was not given.
[[nodiscard]] Status complete(Access& access);

[[nodiscard]] const config::Schema& access_schema();

}  // namespace laird::control
