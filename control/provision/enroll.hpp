// A new board's files: its config and its certificate, ready to be copied to it.
#pragma once

#include <string>
#include <vector>

#include "agent/core/state/fleet.hpp"
#include "base/error.hpp"
#include "control/provision/secure_files.hpp"
#include "json/value.hpp"

namespace laird::control {

struct KnownOperator {
  std::string name;
  std::string key;  // base64 of the public key
};

struct Enrolment {
  std::string id;
  std::string fleet;
  std::vector<std::string> brokers;
  std::vector<KnownOperator> operators;
  // The fleet's budget. Its founders go into the config as they are: the boards of a fleet must
  // name the same founders, or they refuse the budgets that the others take.
  core::FleetBudget budget;
};

// laird.json of the board, checked against the agent's own schema. Pure.
[[nodiscard]] Result<json::Value> board_config(const Enrolment& board);

// The operators of the fleet whose certificates are good, with their public signing keys.
[[nodiscard]] Result<std::vector<KnownOperator>> known_operators(const std::string& pki);

// Writes a folder with laird.json and tls/, the keys with mode 0600: the whole folder or nothing.
[[nodiscard]] Status write_bundle(const std::string& folder, const json::Value& config,
                                  const std::string& identity, IfThere if_there);

// What a board does with the folder laird-ID that was copied to it, for its shell: the files go to
// /etc/laird, are checked, and the agent starts. Nothing of it comes from outside but the id.
[[nodiscard]] std::string install_script(const std::string& id);
// The commands that bring a bundle to its board.
[[nodiscard]] std::string install_commands(const std::string& folder, const std::string& id);

}  // namespace laird::control
