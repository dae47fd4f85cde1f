#include "agent/upgrade/upgrade_request.hpp"

#include "agent/commands/requests.hpp"
#include "agent/commands/signed_commands.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/sign/ed25519.hpp"

namespace laird::agent {

std::string upgrade_request_path(const std::string& state_dir) {
  return state_dir + "/upgrade/request.json";
}

Result<UpgradeRequested> judged_upgrade(std::string_view envelope, const Settings& settings,
                                        TimeNs wall_ns) {
  const auto form = mqtt::parse_envelope(envelope);
  LAIRD_TRY(form);
  const auto said = mqtt::parse_signed_text(form->signed_text);
  LAIRD_TRY(said);
  const auto operators = operators_of(settings.fleet);
  LAIRD_TRY(operators);
  mqtt::Topic topic;
  topic.kind = mqtt::TopicKind::kCommand;
  topic.fleet = settings.fleet.name;
  topic.node = said->to == mqtt::kEveryone ? std::string(mqtt::kEveryone) : settings.core.node;
  topic.name = "upgrade";
  mqtt::Circumstances now;
  now.fleet = settings.fleet.name;
  now.node = settings.core.node;
  now.now_ms = wall_ns / kMillisecond;
  now.operators = &*operators;
  now.verify = &mqtt::verify;
  const auto command = mqtt::accept(envelope, topic, now);
  if (!command) return fail(Code::kRefused, command.error().text);
  const auto wanted = parse_request(Way::kSigned, command->verb, command->body);
  LAIRD_TRY(wanted);
  const auto* upgrade = std::get_if<UpgradeRequest>(&*wanted);
  if (upgrade == nullptr) return fail(Code::kInvalid, "this is no upgrade");
  return UpgradeRequested{command->id, command->op, upgrade->version};
}

}  // namespace laird::agent
