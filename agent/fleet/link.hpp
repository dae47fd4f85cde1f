// The board's side of the fleet: one MQTT connection that carries its states, events and ledger
// messages out, and peers' messages and operators' commands in.
//
// Owns the link, decides nothing: what peers say becomes events of the core at its next tick, what
// operators say goes through SignedCommands, what is published is read from the state.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/commands/signed_commands.hpp"
#include "agent/fleet/cotrain.hpp"
#include "agent/fleet/peer_traffic.hpp"
#include "agent/fleet/report.hpp"
#include "agent/fleet/revocation_store.hpp"
#include "agent/fleet/share_history.hpp"
#include "agent/settings/settings.hpp"
#include "agent/view/event_log.hpp"
#include "mqtt/client/connection.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::agent {

class FleetLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<FleetLink>> open(Loop& loop, Agent& agent,
                                                               Machine& machine,
                                                               const Settings& settings,
                                                               SettingsChanges& config,
                                                               std::string version, Log log);
  ~FleetLink();
  FleetLink(const FleetLink&) = delete;
  FleetLink& operator=(const FleetLink&) = delete;

  void task_changed(const core::Task& task, const core::TaskChanged& change);
  // Sends the ledger messages of the last steps; call after Agent::process().
  void flush();
  [[nodiscard]] bool connected() const { return client_->connected(); }
  [[nodiscard]] const EventLog& events() const { return events_; }
  [[nodiscard]] mqtt::Counters counters() const { return client_->counters(); }
  // How the group of that co-training task is; none when it does not take part.
  [[nodiscard]] const trainer_protocol::GroupStatus* group(const std::string& task) const;
  // What became of peers' packets.
  [[nodiscard]] const PeerGuard& peers() const { return peers_->guard(); }

 private:
  struct PublishedTask {
    std::string state;
    TimeNs at = 0;
    TimeNs clear_at = kNever;
    bool known = false;  // to the state, as of the round under way
  };

  FleetLink(Loop& loop, Agent& agent, Machine& machine, const Settings& settings,
            std::string version, Log log);
  void on_ready();
  // Works off a few messages; true when there may be more.
  bool take_some();
  void on_message(mqtt::Incoming& message);
  void on_status(const std::string& node, std::string_view payload);
  void on_revocations(std::string_view payload);
  void open_peers(const Settings& settings, std::optional<mqtt::PeerIdentity> identity);
  void on_connected();
  void note_lost_link();
  void on_taken_over(const std::string& why);
  void join();
  void publish_all();
  void publish_status();
  void publish_info();
  void publish_report();
  void publish_task(const std::string& name, json::Value text);
  void publish_tasks();
  void open_groups();
  void refresh_groups();
  void hear_others(bool wanted);
  void publish_word(const std::string& tasks);
  void publish_telemetry();
  void send_to(const std::string& peer, std::string packet, mqtt::Class kind);
  void publish_shares();
  void publish_event(std::string kind, std::string text, json::Value more = {});
  void publish_state(mqtt::TopicKind kind, std::string_view name, std::string payload);
  [[nodiscard]] std::string topic(mqtt::TopicKind kind, std::string_view name = {}) const;
  [[nodiscard]] std::int64_t wall_ms() { return clock_.wall_ns() / kMillisecond; }

  Loop& loop_;
  Agent& agent_;
  Clock& clock_;
  const std::function<Footprint()> footprint_;
  const std::string fleet_;
  const std::string node_;
  const std::string state_dir_;
  const std::string version_;
  const std::string model_;
  const mqtt::BoardFacts about_;
  const std::uint32_t coop_expiry_s_;
  const DurationNs publish_every_;
  Log log_;
  EventLog events_;
  std::unique_ptr<mqtt::Connection> client_;
  std::unique_ptr<SignedCommands> commands_;
  std::unique_ptr<GroupTracker> groups_;
  std::unique_ptr<PeerTraffic> peers_;
  std::unique_ptr<RevocationStore> revocations_;  // none without certificates
  std::map<std::string, PublishedTask> tasks_;
  EnergyWindow energy_;
  ShareHistory shares_;
  std::uint64_t noted_steps_ = 0;  // Agent::steps() when the shares were last noted
  TimeNs shares_at_ = 0;
  std::uint64_t epoch_ = 0;  // of this run of the agent
  std::uint64_t seq_ = 0;
  bool info_due_ = false;  // a task has ended, so the board may have learned of a work
  bool seen_before_ = false;
  bool was_connected_ = false;
  bool joined_ = false;
  bool join_planned_ = false;
  bool hears_others_ = false;   // subscribed to all boards' states and co-training
  std::deque<TimeNs> lost_at_;  // when the link was lost, of the last minute
  TimeNs told_unsteady_at_ = -kHour;
  std::string last_status_;
  std::string last_report_;
  TimeNs report_at_ = 0;
  Loop::TimerId timer_ = 0;
};

}  // namespace laird::agent
