// Commands that come over the network: each is checked, authorised, carried out once and answered.
//
// The broker is not trusted. mqtt::accept checks a message's form, size, signature, freshness and
// the operator's right; requests.hpp says what the command asks for; the core remembers which
// commands it has carried out (agent/core/state/fleet.hpp). A refused command changes nothing but a
// counter. It leaves a line in the journal and an event, both at a bounded rate.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "agent/commands/requests.hpp"
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

  // operators_of() must have accepted the settings before.
  SignedCommands(Agent& agent, Clock& clock, const Settings& settings, SettingsChanges& config,
                 const EventLog& events, Send send);

  // Takes a message that came on a topic for commands or for the budget.
  void on_message(const mqtt::Incoming& message, const mqtt::Topic& topic);
  // A board whose clock is behind refuses a budget as signed in the future, and the broker does not
  // say it again when the clock is set. Call now and then: such a budget is taken once its time has
  // come.
  void look_again();

 private:
  [[nodiscard]] tl::expected<mqtt::Command, mqtt::Refusal> judge(const mqtt::Incoming& message,
                                                                 const mqtt::Topic& topic) const;
  // Where the answer goes. With an empty topic nobody waits for one.
  struct Asker {
    std::string topic;
    std::string correlation;
    std::string id;
  };

  void refuse(const Asker& asker, const mqtt::Refusal& refusal, std::string_view verb,
              json::Value data = {});
  void answer(const Asker& asker, mqtt::ReplyCode code, std::string text, json::Value data = {});
  void configure(const mqtt::Command& command, const Asker& asker);
  void take_budget(const mqtt::Command& command, const Asker& asker, const mqtt::Incoming& message,
                   const mqtt::Topic& topic);
  void carry_out(const mqtt::Command& command, const Asker& asker, const std::string& envelope);
  void hand_on(const UpgradeRequest& wanted, const std::string& envelope, const Asker& asker);
  void answer_question(const Query& query, const Asker& asker);
  void hand_in(const mqtt::Command& command, const Asker& asker, core::OperatorRequest body);
  void hand_on(core::OperatorCommand event, const Asker& asker);
  [[nodiscard]] bool may_note();

  Agent& agent_;
  Clock& clock_;
  SettingsChanges& config_;
  const EventLog& events_;
  std::string fleet_;
  std::string node_;
  std::string state_dir_;
  std::vector<mqtt::Operator> operators_;
  Send send_;
  std::set<std::string> checked_now_;  // commands whose task a trainer looks at
  // The last budget that could not be taken yet, and the topic it came on.
  std::optional<std::pair<mqtt::Incoming, mqtt::Topic>> deferred_;
  // How many refusals were noted in the journal in the minute that began at notes_since_.
  TimeNs notes_since_ = 0;
  int notes_ = 0;
};

// The operators of the config with their keys as raw bytes. The error names the operator whose key
// is none.
[[nodiscard]] Result<std::vector<mqtt::Operator>> operators_of(const FleetSettings& settings);

}  // namespace laird::agent
