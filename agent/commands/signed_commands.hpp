// Commands that come over the network: checked, authorised, carried out once, answered, audited.
//
// Nothing here trusts the broker: mqtt::accept checks form, size, signature, freshness and right;
// the core remembers what was done (agent/core/state/fleet.hpp). Whatever is refused changes
// nothing but a counter, a line in the journal and, at a bounded rate, an event.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/commands/settings_changes.hpp"
#include "agent/settings/settings.hpp"
#include "agent/view/event_log.hpp"
#include "mqtt/client/message.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::agent {

class SignedCommands {
 public:
  using Send = std::function<void(mqtt::Outgoing)>;

  // operators_of() must have accepted the settings.
  SignedCommands(Agent& agent, Clock& clock, const Settings& settings, SettingsChanges& config,
                 const EventLog& events, Send send);

  // A message on a command or config topic.
  void on_message(const mqtt::Incoming& message, const mqtt::Topic& topic);

 private:
  // Where an answer goes; nobody waits for one when the topic is empty.
  struct Asker {
    std::string topic;
    std::string correlation;
    std::string id;
  };

  void refuse(const Asker& asker, const mqtt::Refusal& refusal, std::string_view verb,
              json::Value data = {});
  void answer(const Asker& asker, mqtt::ReplyCode code, std::string text, json::Value data = {});
  void configure(const mqtt::Command& command, const Asker& asker);
  void take_plan(const mqtt::Command& command, const Asker& asker);
  void carry_out(const mqtt::Command& command, const Asker& asker);
  void answer_get(const json::Value& body, const Asker& asker);
  [[nodiscard]] bool answer_question(const mqtt::Command& command, const Asker& asker);
  [[nodiscard]] Result<core::OperatorRequest> on_task(const mqtt::Command& command) const;
  void hand_in(const mqtt::Command& command, const Asker& asker, core::OperatorRequest body);
  [[nodiscard]] bool may_note();

  Agent& agent_;
  Clock& clock_;
  SettingsChanges& config_;
  const EventLog& events_;
  std::string fleet_;
  std::string node_;
  std::vector<mqtt::Operator> operators_;
  Send send_;
  // Refusals told to the journal and the fleet, at most so many a minute.
  TimeNs notes_since_ = 0;
  int notes_ = 0;
};

// The keys of the config as bytes; says which one is no key.
[[nodiscard]] Result<std::vector<mqtt::Operator>> operators_of(const FleetSettings& settings);

}  // namespace laird::agent
