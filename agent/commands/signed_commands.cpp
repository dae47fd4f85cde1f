#include "agent/commands/signed_commands.hpp"

#include "agent/placement/bid.hpp"
#include "agent/settings/fleet_budget_json.hpp"
#include "agent/view/status.hpp"
#include "base/require.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/ed25519.hpp"

namespace laird::agent {
namespace {

using json::Kind;
using json::Value;
using mqtt::ReplyCode;

constexpr int kNotesPerMinute = 30;
constexpr std::uint32_t kReplyExpiryS = 60;

std::string all_problems(const std::vector<config::Problem>& problems) {
  std::string out;
  for (const config::Problem& p : problems)
    out += (out.empty() ? "" : "; ") + p.path + ": " + p.what;
  return out;
}

// {"power_w": 12.5, "for_s": 3600}; without power_w, or with null, the cap is taken back.
Result<core::OperatorRequest> cap_of(const Value& body) {
  core::CapRequested cap;
  if (const Value* watts = body.find("power_w"); watts != nullptr && !watts->is(Kind::kNull)) {
    const double mw = watts->is_number() ? watts->as_double() * 1e3 : 0.0;
    if (!(mw >= 1.0) || mw > static_cast<double>(core::kCapMwMax)) {
      return fail(Code::kInvalid, "cap needs \"power_w\", a number above 0, or null for none");
    }
    cap.cap_mw = static_cast<std::int64_t>(mw);
  }
  if (const Value* seconds = body.find("for_s"); seconds != nullptr && !seconds->is(Kind::kNull)) {
    const double ns = seconds->is_number() ? seconds->as_double() * 1e9 : 0.0;
    if (!(ns >= 1e9) || ns > static_cast<double>(core::kCapForMax)) {
      return fail(Code::kInvalid, "\"for_s\" is a number of seconds from 1 to a year");
    }
    cap.for_ns = static_cast<DurationNs>(ns);
  }
  return core::OperatorRequest(cap);
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
      send_(std::move(send)) {
  Result<std::vector<mqtt::Operator>> operators = operators_of(settings.fleet);
  LAIRD_REQUIRE(operators.has_value(), "operators are checked before the door opens");
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

void SignedCommands::on_message(const mqtt::Incoming& message, const mqtt::Topic& topic) {
  // A retained topic that was cleared.
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
  mqtt::Circumstances now;
  now.fleet = fleet_;
  now.node = node_;
  now.now_ms = clock_.wall_ns() / kMillisecond;
  now.retained = message.retained;
  now.operators = &operators_;
  now.verify = &mqtt::verify;
  const tl::expected<mqtt::Command, mqtt::Refusal> command =
      mqtt::accept(message.payload, topic, now);
  if (!command) {
    refuse(asker, command.error(), is_config ? "config" : std::string_view(topic.name));
    return;
  }
  asker.id = command->id;
  if (topic.kind == mqtt::TopicKind::kFleetConfig) {
    take_plan(*command, asker);
  } else if (is_config) {
    answer(
        asker, ReplyCode::kInvalid,
        "settings are not retained: send them as the command `config`, as `lairctl config` does");
  } else {
    carry_out(*command, asker);
  }
}

void SignedCommands::take_plan(const mqtt::Command& command, const Asker& asker) {
  Result<core::FleetBudget> budget = parse_fleet_budget(command.body);
  if (!budget) {
    refuse(asker, {ReplyCode::kInvalid, budget.error().context, command.op, command.id, true},
           "config");
    return;
  }
  // It is retained, so it comes again with every connect.
  if (*budget == agent_.state().fleet.budget) {
    answer(asker, ReplyCode::kOk, "in force already");
    return;
  }
  agent_.change_budget(std::move(*budget), [this, asker](const core::Answer& a) {
    answer(asker, a.ok ? ReplyCode::kOk : mqtt::reply_code(a.code), a.text);
  });
}

void SignedCommands::answer_get(const Value& body, const Asker& asker) {
  const Value* given = body.find("what", Kind::kString);
  const std::string what = given == nullptr ? "" : given->as_string();
  if (what == "tasks") {
    Value tasks = Value::array();
    for (const TaskRow& row : task_rows(agent_.state(), agent_.now())) tasks.add(task_json(row));
    answer(asker, ReplyCode::kOk, what, Value::object().set("tasks", std::move(tasks)));
  } else if (what == "plan") {
    answer(asker, ReplyCode::kOk, what, fleet_budget_json(agent_.state().fleet.budget));
  } else if (what == "config" || what == "events") {
    const Value* key = body.find("key", Kind::kString);
    Result<Value> data = what == "events"
                             ? event_page(events_.events(), body)
                             : config_.answer_get(key == nullptr ? "" : key->as_string());
    if (data) {
      answer(asker, ReplyCode::kOk, what, std::move(*data));
    } else {
      answer(asker, mqtt::reply_code(data.error().code), data.error().context);
    }
  } else {
    answer(asker, ReplyCode::kInvalid, "get needs \"what\": tasks, plan, config or events");
  }
}

// What only reads needs no place in the journal.
bool SignedCommands::answer_question(const mqtt::Command& command, const Asker& asker) {
  const core::State& state = agent_.state();
  if (command.verb == "ping") {
    answer(asker, ReplyCode::kOk, "here");
    return true;
  }
  if (command.verb == "explain") {
    const Value* task = command.body.find("task", Kind::kString);
    const Result<std::string> why = core::explain(state, task == nullptr ? "" : task->as_string());
    if (!why) {
      answer(asker, mqtt::reply_code(why.error().code), why.error().context);
    } else {
      answer(asker, ReplyCode::kOk, *why, Value::object().set("text", Value::string(*why)));
    }
    return true;
  }
  if (command.verb == "get") {
    answer_get(command.body, asker);
    return true;
  }
  if (command.verb != "bid") return false;
  std::vector<config::Problem> problems;
  const Value* task = command.body.find("task", Kind::kObject);
  const core::TaskSpec spec =
      task == nullptr ? core::TaskSpec{} : parse_task(*task, "task", problems);
  if (task == nullptr || !problems.empty()) {
    answer(asker, ReplyCode::kInvalid,
           task == nullptr ? "bid needs \"task\"" : all_problems(problems));
    return true;
  }
  answer(asker, ReplyCode::kOk, "bid", bid_json(bid_for(state, spec, agent_.now())));
  return true;
}

Result<core::OperatorRequest> SignedCommands::on_task(const mqtt::Command& command) const {
  if (command.verb == "drain") return core::OperatorRequest(core::DrainRequested{0, true});
  if (command.verb == "undrain") return core::OperatorRequest(core::DrainRequested{0, false});
  if (command.verb == "cap") return cap_of(command.body);
  const Value* task = command.body.find("task", Kind::kString);
  const bool named = task != nullptr && task->as_string().size() <= core::kNameBytesMax;
  if (command.verb == "cancel" || command.verb == "pause" || command.verb == "resume") {
    if (!named) return fail(Code::kInvalid, command.verb + " needs \"task\", a name");
    if (command.verb == "cancel") {
      return core::OperatorRequest(core::CancelRequested{0, task->as_string()});
    }
    if (command.verb == "pause") {
      return core::OperatorRequest(core::PauseRequested{0, task->as_string()});
    }
    return core::OperatorRequest(core::ResumeRequested{0, task->as_string()});
  }
  if (command.verb != "submit") {
    return fail(Code::kInvalid,
                "no command '" + command.verb +
                    "'; there are submit, cancel, pause, resume, drain, undrain, cap, "
                    "config, explain, get, bid and ping");
  }
  const Value* given = command.body.find("task", Kind::kObject);
  if (given == nullptr) return fail(Code::kInvalid, "submit needs \"task\", an object");
  std::vector<config::Problem> problems;
  core::TaskSpec spec = parse_task(*given, "task", problems);
  if (!problems.empty()) return fail(Code::kInvalid, all_problems(problems));
  if (std::string problem = agent_.cotrain_problem(spec); !problem.empty()) {
    return fail(Code::kRefused, std::move(problem));
  }
  return core::OperatorRequest(core::Submitted{0, std::move(spec)});
}

void SignedCommands::hand_in(const mqtt::Command& command, const Asker& asker,
                             core::OperatorRequest body) {
  core::OperatorCommand event;
  event.by = command.op;
  event.id = command.id;
  event.expires_wall = command.expires_ms * kMillisecond;
  event.body = std::move(body);
  agent_.command(std::move(event), [this, asker](const core::Answer& a) {
    ReplyCode code = a.ok ? ReplyCode::kOk : mqtt::reply_code(a.code);
    if (a.ok && a.text == core::kDoneBefore) code = ReplyCode::kReplayed;
    answer(asker, code, a.text);
  });
}

// In the journal first, then on disk, then answered.
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
    if (!a.ok || a.text == core::kDoneBefore) {
      answer(asker, a.ok ? ReplyCode::kReplayed : mqtt::reply_code(a.code), a.text);
      return;
    }
    const Status kept = config_.keep(*judged.next);
    if (!kept) agent_.note_config("not kept: " + kept.error().context);
    answer(asker, kept ? ReplyCode::kOk : mqtt::reply_code(kept.error().code),
           kept ? judged.text : kept.error().context, judged.data);
  });
}

void SignedCommands::carry_out(const mqtt::Command& command, const Asker& asker) {
  if (answer_question(command, asker)) return;
  if (command.verb == "config") {
    configure(command, asker);
    return;
  }
  Result<core::OperatorRequest> body = on_task(command);
  if (!body) {
    refuse(
        asker,
        {mqtt::reply_code(body.error().code), body.error().context, command.op, command.id, true},
        command.verb);
    return;
  }
  hand_in(command, asker, std::move(*body));
}

}  // namespace laird::agent
