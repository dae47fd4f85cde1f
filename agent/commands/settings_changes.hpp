// Settings over the network: judges what operators ask for, keeps it, has the agent restart with it
// and goes back if nobody confirms it. What is allowed is in remote.hpp, when it reverts in
// trial.hpp; signatures and rights are the command commands's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/settings/remote_settings.hpp"
#include "agent/settings/settings_store.hpp"
#include "mqtt/codec/envelope.hpp"

namespace laird::agent {

// What a request comes to. With `next` it changes something.
struct ConfigJudgement {
  mqtt::ReplyCode code = mqtt::ReplyCode::kOk;
  std::string text;
  json::Value data;
  std::optional<RemoteSettings> next;
  std::string what;  // for the journal
};

// Everything a request is judged by; reads only (programs and boards named in the file are looked
// for).
[[nodiscard]] ConfigJudgement judge_config(const mqtt::Command& command, const json::Value& base,
                                           const std::string& config_path,
                                           const RemoteSettings& now);

class SettingsChanges {
 public:
  using Restart = std::function<void()>;

  SettingsChanges(Loop& loop, Agent& agent, const LayeredSettings& settings, SettingsStore store,
                  Restart restart, Agent::Log log);
  ~SettingsChanges();
  SettingsChanges(const SettingsChanges&) = delete;
  SettingsChanges& operator=(const SettingsChanges&) = delete;

  [[nodiscard]] ConfigJudgement judge(const mqtt::Command& command) const;
  // Puts a judged change on disk; one on trial restarts the agent a moment later.
  [[nodiscard]] Status keep(const RemoteSettings& next);
  // The settings in force, or the one of `key`; for "get".
  [[nodiscard]] Result<json::Value> answer_get(const std::string& key) const;
  // Whether there is a link, for the reason of a revert.
  void set_link(std::function<bool()> connected) { connected_ = std::move(connected); }

  // The agent could not even start with what is on trial. True when it goes back and is to be
  // started again.
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
  Agent::Log log_;
  std::function<bool()> connected_;
  Loop::TimerId trial_timer_ = 0;
  Loop::TimerId restart_timer_ = 0;
};

}  // namespace laird::agent
