// The agent's configuration and tasks: their schemas, and the values they become. Pure: files are
// read by settings_loader.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/journal/limits.hpp"
#include "agent/settings/trainer_program.hpp"
#include "config/schema.hpp"
#include "power/model/board.hpp"
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
  bool share_runs = true;
  std::vector<Operator> operators;
};

// How trainers are kept apart from the agent and the board (docs/cell.md).
struct CellSettings {
  std::string helper;  // a socket (.sock) or a program; empty: as it is found at the start
  std::string user;
  std::string containers;  // where containers keep their files
  DurationNs check_for = 0;  // a submission waits for its trainer's own check
  bool namespaces = true;
  std::uint64_t processes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t tmp_bytes = 0;
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
  CellSettings cell;
  std::vector<std::string> data_roots;  // where the built-in trainers may read data
  std::string push_folder;              // what operators may push goes there; empty: nothing may
  std::int64_t push_bytes_max = 0;
  FleetSettings fleet;
  std::vector<core::TaskSpec> tasks;  // submitted at every start; known ones are left alone
  bool use_cgroups = true;
  std::string log_level = "info";
  std::string metrics_listen;             // an address; empty: nowhere
  std::string estimator_device = "auto";  // or cpu, gpu

  // Another state folder than the config's, as an absolute path; the default control socket moves
  // along.
  void move_state_to(const std::string& folder);
};

[[nodiscard]] const config::Schema& settings_schema();
[[nodiscard]] const config::Schema& task_schema();

struct ChosenBoard {
  power::Board board;
  std::vector<std::string> notes;  // how it was found, what is uncertain
};

// What a config needs to know of the machine it is for; settings_loader.hpp has the real one.
struct Surroundings {
  // The absolute path of one that may be relative to the config's folder.
  std::function<std::string(const std::string& path)> resolve;
  // Where a program is that is named by absolute path or by its bare name.
  std::function<Result<std::string>(const std::string& program)> find_program;
  // The board of that name or file; for "auto" the board that this machine is.
  std::function<Result<ChosenBoard>(const std::string& wish)> choose_board;
  std::int64_t memory_bytes = 0;  // of the machine
  int cpu_cores = 0;
};

// Checks all of a config and makes settings of it. Problems name `source`, line and path.
[[nodiscard]] Settings parse_settings(const json::Value& raw, const std::string& source,
                                      const Surroundings& around,
                                      std::vector<config::Problem>& problems);
// A task that came as JSON over a socket or inside a config.
// "2027-01-31T18:00:00Z" as Unix nanoseconds.
[[nodiscard]] Result<TimeNs> parse_wall_time(const std::string& text);
[[nodiscard]] core::TaskSpec parse_task(const json::Value& value, std::string_view source,
                                        std::vector<config::Problem>& problems);

// What a file is, by its keys: "config", "board", "task", or "" when none fits.
[[nodiscard]] std::string kind_of_file(const json::Value& value);

// The reference page docs/configuration.md.
[[nodiscard]] std::string settings_reference();

}  // namespace laird::agent
