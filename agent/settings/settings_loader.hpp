// Configs and tasks from files, for the machine this runs on.
#pragma once

#include <string>
#include <vector>

#include "agent/settings/settings.hpp"

namespace laird::agent {

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

// This machine, for a config at `config_path`.
[[nodiscard]] Surroundings surroundings_of(const std::string& config_path);
// Where `program` is: an absolute path as it is, a bare name beside this program or in
// /usr/lib/laird; never through PATH.
[[nodiscard]] Result<std::string> find_program(const std::string& program);
// A folder given on the command line, seen from where the program was started.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace laird::agent
