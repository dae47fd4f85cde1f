// The agent's configuration and task files: their schemas, and the values they become.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/journal/limits.hpp"
#include "agent/settings/trainer_program.hpp"
#include "config/schema.hpp"
#include "power/boards/catalogue.hpp"
#include "power/readers/open_reader.hpp"

namespace laird::agent {

struct Operator {
  std::string name;
  std::string key;  // base64 of the public Ed25519 key
  std::vector<std::string> may;
  [[nodiscard]] bool may_do(std::string_view verb) const;
};

// How the board reaches its fleet; what it agrees on there is in core::FleetConfig.
struct FleetSettings {
  std::string name;  // empty: the board is alone
  std::vector<std::string> brokers;
  std::string ca;
  std::string cert;
  std::string key;
  bool insecure_lab = false;
  DurationNs publish_every = kSecond;
  std::vector<Operator> operators;
};

struct Settings {
  std::string state_dir;
  std::string control_socket;
  core::CoreConfig core;
  power::Board board;
  std::vector<std::string> board_notes;  // how it was found, what is uncertain
  power::ReaderOptions power;
  std::vector<std::string> power_helper;  // program and arguments, or a socket; empty: none
  journal::Limits journal;
  std::map<std::string, TrainerProgram> trainers;
  FleetSettings fleet;
  std::vector<core::TaskSpec> tasks;  // submitted at every start; known ones are left alone
  bool use_cgroups = true;
  std::string log_level = "info";
  std::string metrics_listen;  // an address; empty: nowhere

  // Another state folder than the config's; the default control socket moves along.
  void move_state_to(const std::string& folder);
};

[[nodiscard]] const config::Schema& settings_schema();
[[nodiscard]] const config::Schema& task_schema();

// Reads a file of JSON with comments and checks all of it; problems name file, line and path.
// Relative paths in it are relative to its folder.
[[nodiscard]] Settings load_settings(const std::string& path,
                                     std::vector<config::Problem>& problems);
// The two halves of it: the file as it is, and the settings it (or a change of it) makes.
[[nodiscard]] json::Value read_config(const std::string& path,
                                      std::vector<config::Problem>& problems);
[[nodiscard]] Settings settings_of(const json::Value& raw, const std::string& path,
                                   std::vector<config::Problem>& problems);
[[nodiscard]] core::TaskSpec load_task(const std::string& path,
                                       std::vector<config::Problem>& problems);
// A task that came as JSON over a socket or inside a config.
[[nodiscard]] core::TaskSpec parse_task(const json::Value& value, std::string_view source,
                                        std::vector<config::Problem>& problems);

// What a file is, by its keys: "config", "board", "task", or "" when none fits.
[[nodiscard]] std::string kind_of_file(const json::Value& value);

// The reference page docs/configuration.md.
[[nodiscard]] std::string settings_reference();

// Where `program` is: an absolute path as it is, a bare name beside this program or in
// /usr/lib/laird; never through PATH.
[[nodiscard]] Result<std::string> find_program(const std::string& program);

}  // namespace laird::agent
