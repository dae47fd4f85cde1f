#include "agent/commands/signed_commands.hpp"

#include "agent/commands/queries.hpp"
#include "agent/settings/fleet_budget_json.hpp"
#include "base/require.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "os/whole_file.hpp"

namespace laird::agent {
namespace {

using json::Value;
using mqtt::ReplyCode;

constexpr int kNotesPerMinute = 30;
constexpr std::uint32_t kReplyExpiryS = 60;

ReplyCode reply_code_of(const core::Answer& answer) {
  if (!answer.ok) return mqtt::reply_code(answer.code);
  return answer.done_before ? ReplyCode::kReplayed : ReplyCode::kOk;
}

}  // namespace

Result<std::vector<mqtt::Operator>> operators_of(const FleetSettings& settings) {
  std::vector<mqtt::Operator> out;
  for (const Operator& who : settings.operators) {
    const Result<std::string> key = mqtt::from_base64(who.key);
    if (!key || key->size() != mqtt::kPublicKeyBytes) {
      return fail(Code::kInvalid, "the key of operator '" + who.name +
                                      "' is not the base64 of an Ed25519 public key");
    }
    out.push_back({who.name, *key, who.may});
  }
  return out;
}

SignedCommands::SignedCommands(Agent& agent, Clock& clock, const Settings& settings,
                               SettingsChanges& config, const EventLog& events, Send send)
    : agent_(agent),
      clock_(clock),
      config_(config),
      events_(events),
      fleet_(settings.fleet.name),
      node_(settings.core.node),
      state_dir_(settings.state_dir),
      send_(std::move(send)) {
  Result<std::vector<mqtt::Operator>> operators = operators_of(settings.fleet);
  LAIRD_REQUIRE(operators.has_value(), "operators_of() has accepted the settings");
  operators_ = std::move(*operators);
}

bool SignedCommands::may_note() {
  const TimeNs now = agent_.now();
  if (now - notes_since_ >= kMinute) {
    notes_since_ = now;
    notes_ = 0;
  }
  return notes_++ < kNotesPerMinute;
}

void SignedCommands::answer(const Asker& asker, ReplyCode code, std::string text, Value data) {
  if (asker.topic.empty()) return;
  mqtt::Outgoing out;
  out.topic = asker.topic;
  out.payload = mqtt::to_text(
      mqtt::Reply{asker.id, node_, code, core::clipped(std::move(text)), std::move(data)});
  out.kind = mqtt::Class::kReply;
  out.qos = 1;
  out.expiry_s = kReplyExpiryS;
  out.correlation = asker.correlation;
  send_(std::move(out));
}

void SignedCommands::refuse(const Asker& asker, const mqtt::Refusal& refusal, std::string_view verb,
                            Value data) {
  if (!may_note()) return;
  core::CommandRefused event;
  event.by = core::clipped(refusal.op).substr(0, core::kNameBytesMax);
  event.id = core::clipped(refusal.id).substr(0, core::kCommandIdBytesMax);
  event.verb = std::string(verb.substr(0, core::kNameBytesMax));
  event.why = core::clipped(refusal.text);
  agent_.note_refused(std::move(event));
  Asker to = asker;
  to.id = refusal.id;
  answer(to, refusal.code, refusal.text, std::move(data));
}

tl::expected<mqtt::Command, mqtt::Refusal> SignedCommands::judge(const mqtt::Incoming& message,
                                                                 const mqtt::Topic& topic) const {
  mqtt::Circumstances now;
  now.fleet = fleet_;
  now.node = node_;
  now.now_ms = clock_.wall_ns() / kMillisecond;
  now.retained = message.retained;
  now.operators = &operators_;
  now.verify = &mqtt::verify;
  return mqtt::accept(message.payload, topic, now);
}

void SignedCommands::look_again() {
  if (!deferred_ || agent_.journal_blocked()) return;
  if (!judge(deferred_->first, deferred_->second)) return;
  const auto [message, topic] = std::move(*deferred_);
  deferred_.reset();
  on_message(message, topic);
}

void SignedCommands::on_message(const mqtt::Incoming& message, const mqtt::Topic& topic) {
  // An empty message means that somebody cleared a retained topic.
  if (message.payload.empty()) return;
  const bool is_config = topic.kind != mqtt::TopicKind::kCommand;
  Asker asker;
  if (!message.response_topic.empty()) {
    const Result<std::string> place =
        mqtt::reply_topic_for(message.response_topic, fleet_, node_, topic.node == mqtt::kEveryone);
    if (!place) {
      refuse({}, {ReplyCode::kRefused, place.error().context, "?", "", false}, topic.name);
      return;
    }
    asker.topic = *place;
    asker.correlation = message.correlation.substr(0, mqtt::kCorrelationBytesMax);
  }
  const tl::expected<mqtt::Command, mqtt::Refusal> command = judge(message, topic);
  if (topic.kind == mqtt::TopicKind::kFleetConfig) deferred_.reset();
  if (!command) {
    const bool untimely = command.error().proven && command.error().code == ReplyCode::kExpired;
    if (untimely && topic.kind == mqtt::TopicKind::kFleetConfig) deferred_ = {message, topic};
    refuse(asker, command.error(), is_config ? "config" : std::string_view(topic.name));
    return;
  }
  asker.id = command->id;
  if (topic.kind == mqtt::TopicKind::kFleetConfig) {
    take_budget(*command, asker, message, topic);
  } else if (is_config) {
    answer(
        asker, ReplyCode::kInvalid,
        "settings are not retained: send them as the command `config`, as `lairctl config` does");
  } else {
    carry_out(*command, asker, message.payload);
  }
}

void SignedCommands::take_budget(const mqtt::Command& command, const Asker& asker,
                                 const mqtt::Incoming& message, const mqtt::Topic& topic) {
  Result<core::FleetBudget> budget = parse_fleet_budget(command.body);
  if (!budget) {
    refuse(asker, {ReplyCode::kInvalid, budget.error().context, command.op, command.id, true},
           "config");
    return;
  }
  // The broker retains the budget, so the board hears it again at every connect.
  if (*budget == agent_.state().fleet.budget) {
    answer(asker, ReplyCode::kOk, "in force already");
    return;
  }
  agent_.change_budget(std::move(*budget), [this, asker, message, topic](const core::Answer& a) {
    if (!a.ok && (a.code == Code::kFull || a.code == Code::kUnavailable)) {
      deferred_ = {message, topic};
    }
    answer(asker, reply_code_of(a), a.text);
  });
}

void SignedCommands::answer_question(const Query& query, const Asker& asker) {
  Result<QueryAnswer> found = answer_query(query, {&agent_, &config_, &events_});
  if (found) {
    answer(asker, ReplyCode::kOk, std::move(found->text), std::move(found->data));
  } else {
    answer(asker, mqtt::reply_code(found.error().code), found.error().context);
  }
}

void SignedCommands::hand_in(const mqtt::Command& command, const Asker& asker,
                             core::OperatorRequest body) {
  core::OperatorCommand event;
  event.by = command.op;
  event.id = command.id;
  event.expires_wall = command.expires_ms * kMillisecond;
  event.body = std::move(body);
  const auto* task = std::get_if<core::Submitted>(&event.body);
  if (task == nullptr) return hand_on(std::move(event), asker);
  // A copy that comes while its trainer looks at the task is answered with the first.
  if (!checked_now_.insert(command.id).second) return;
  const core::TaskSpec spec = task->spec;
  agent_.check_task(
      spec, task->replace,
      [this, event = std::move(event), asker, command](std::string problem) mutable {
        checked_now_.erase(command.id);
        if (problem.empty()) return hand_on(std::move(event), asker);
        refuse(asker, {ReplyCode::kRefused, std::move(problem), command.op, command.id, true},
               command.verb);
      });
}

void SignedCommands::hand_on(core::OperatorCommand event, const Asker& asker) {
  agent_.command(std::move(event),
                 [this, asker](const core::Answer& a) { answer(asker, reply_code_of(a), a.text); });
}

// The change is in the journal before it is on the disk, and on the disk before it is answered.
void SignedCommands::configure(const mqtt::Command& command, const Asker& asker) {
  ConfigJudgement judged = config_.judge(command);
  if (judged.code != ReplyCode::kOk) {
    refuse(asker, {judged.code, judged.text, command.op, command.id, true}, command.verb,
           std::move(judged.data));
    return;
  }
  if (!judged.next) {
    answer(asker, ReplyCode::kOk, judged.text, std::move(judged.data));
    return;
  }
  core::OperatorCommand event;
  event.by = command.op;
  event.id = command.id;
  event.expires_wall = command.expires_ms * kMillisecond;
  event.body = core::ConfigRequested{0, core::clipped(judged.what)};
  agent_.command(std::move(event), [this, asker, judged](const core::Answer& a) {
    if (!a.ok || a.done_before) {
      answer(asker, reply_code_of(a), a.text);
      return;
    }
    const Status kept = config_.keep(*judged.next);
    if (!kept) agent_.note_config("not kept: " + kept.error().context);
    answer(asker, kept ? ReplyCode::kOk : mqtt::reply_code(kept.error().code),
           kept ? judged.text : kept.error().context, judged.data);
  });
}

// Root judges the envelope again, does nothing twice, and cares for the rest.
void SignedCommands::hand_on(const UpgradeRequest& wanted, const std::string& envelope,
                             const Asker& asker) {
  const Status put = replace_file(state_dir_ + "/upgrade/request.json", envelope);
  answer(asker, put ? ReplyCode::kOk : mqtt::reply_code(put.error().code),
         put ? "asked root for " + wanted.version : put.error().context);
}

void SignedCommands::carry_out(const mqtt::Command& command, const Asker& asker,
                               const std::string& envelope) {
  Result<Request> wanted = parse_request(Way::kSigned, command.verb, command.body);
  if (!wanted) {
    const ReplyCode code = mqtt::reply_code(wanted.error().code);
    const Verb* verb = find_verb(command.verb);
    if (verb != nullptr && !verb->changes) {
      // A question that makes no sense could not have changed anything: no note is made of it.
      answer(asker, code, wanted.error().context);
    } else {
      refuse(asker, {code, wanted.error().context, command.op, command.id, true}, command.verb);
    }
  } else if (const Query* query = std::get_if<Query>(&*wanted)) {
    answer_question(*query, asker);
  } else if (auto* request = std::get_if<core::OperatorRequest>(&*wanted)) {
    hand_in(command, asker, std::move(*request));
  } else if (const UpgradeRequest* upgrade = std::get_if<UpgradeRequest>(&*wanted)) {
    hand_on(*upgrade, envelope, asker);
  } else {
    configure(command, asker);
  }
}

}  // namespace laird::agent
