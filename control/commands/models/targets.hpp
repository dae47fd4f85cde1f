// Which boards a file or a model goes to, and how they are asked: several of a fleet, or this
// machine's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "control/fleet/reach.hpp"
#include "json/value.hpp"

namespace laird::control {

struct TargetOptions {
  Reach reach;
  std::string kind;  // of module: all live boards that have it
};

void add_targets(cli::Command& command, TargetOptions& options);

// A board that can be asked. It may answer kRefused with the board's own words.
struct Target {
  std::string name;  // empty: this machine's board
  std::function<Result<json::Value>(const std::string& verb, const json::Value& body)> ask;

  [[nodiscard]] std::string shown() const { return name.empty() ? "this board" : name; }
};

// They stay good as long as the client does.
struct Targets {
  std::unique_ptr<FleetClient> client;  // null: this machine's agent
  std::vector<Target> boards;
};

[[nodiscard]] Result<Targets> open_targets(const TargetOptions& options);

}  // namespace laird::control
