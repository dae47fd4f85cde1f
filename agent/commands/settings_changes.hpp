// Changes of the settings over the network: judges what an operator asks for, writes it to the
// disk, has the agent restart with it, and reverts it when nobody confirms it.
//
// remote_settings.hpp says which settings may be changed this way, trial.hpp when a change reverts.
// Signatures and rights were checked before, by signed_commands.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/settings/remote_settings.hpp"
#include "agent/settings/settings_store.hpp"
#include "mqtt/codec/envelope.hpp"

namespace laird::agent {

// What becomes of a request. It changes something only when it has `next`.
struct ConfigJudgement {
  mqtt::ReplyCode code = mqtt::ReplyCode::kOk;
  std::string text;
  json::Value data;
  std::optional<RemoteSettings> next;
  std::string what;  // who changes which settings, for the journal
};

// Judges a request against the board's file and the settings in force. It changes nothing, but it
// looks on the disk for the programs and boards that the file names.
[[nodiscard]] ConfigJudgement judge_config(const mqtt::Command& command, const json::Value& base,
                                           const std::string& config_path,
                                           const RemoteSettings& now);

class SettingsChanges {
 public:
  using Restart = std::function<void()>;

  SettingsChanges(Loop& loop, Agent& agent, const LayeredSettings& settings, SettingsStore store,
                  Restart restart, Log log);
  ~SettingsChanges();
  SettingsChanges(const SettingsChanges&) = delete;
  SettingsChanges& operator=(const SettingsChanges&) = delete;

  [[nodiscard]] ConfigJudgement judge(const mqtt::Command& command) const;
  // Writes a judged change to the disk. For a change that goes on trial, the agent restarts a
  // moment later.
  [[nodiscard]] Status keep(const RemoteSettings& next);
  // The settings in force, all of them or only those below `key`.
  [[nodiscard]] Result<json::Value> answer_get(const std::string& key) const;
  // A revert says whether the link was there; `connected` tells.
  void set_link(std::function<bool()> connected) { connected_ = std::move(connected); }

  // For an agent that could not start with the settings on trial: reverts them. True when that was
  // done and the agent should be started again.
  [[nodiscard]] static bool revert_failed_start(const LayeredSettings& settings,
                                                const SettingsStore& store, const Error& why);

 private:
  void revert();
  void tell_news();

  Loop& loop_;
  Agent& agent_;
  const std::string config_path_;
  const json::Value base_;
  RemoteSettings remote_;
  SettingsStore store_;
  Restart restart_;
  Log log_;
  std::function<bool()> connected_;
  Loop::TimerId trial_timer_ = 0;
  Loop::TimerId restart_timer_ = 0;
};

}  // namespace laird::agent
