// Where the remote settings are kept, and the settings that the board's file and the remote
// settings make together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/settings/settings.hpp"
#include "agent/settings/trial.hpp"

namespace laird::agent {

class SettingsStore {
 public:
  explicit SettingsStore(const std::string& state_dir)
      : path_(state_dir + "/settings/fleet.json") {}

  // One that is not there is empty.
  [[nodiscard]] Result<RemoteSettings> read() const;
  // The old or the new one, never a part.
  [[nodiscard]] Status write(const RemoteSettings& remote) const;
  // Keeps the file under another name, for people to look at; returns that name.
  [[nodiscard]] Result<std::string> set_aside() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What the agent runs with.
struct LayeredSettings {
  Settings settings;
  std::string config_path;
  json::Value base;  // the file
  RemoteSettings remote;
  std::vector<std::string> notes;  // for the log: remote settings that could not be used, and why
};

// A board never fails to start for its remote settings: one that cannot be read or does not fit the
// file is left aside, one on trial is reverted, and one with locked settings in it, which another
// must have written, is refused and set aside. `base` and `own` are the file and its settings.
[[nodiscard]] LayeredSettings with_remote_settings(const std::string& config_path, json::Value base,
                                                   Settings own, const SettingsStore& store);

}  // namespace laird::agent
