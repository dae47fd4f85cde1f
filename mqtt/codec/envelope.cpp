#include "mqtt/codec/envelope.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/require.hpp"
#include "config/schema.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::mqtt {
namespace {

using json::Kind;
using json::Value;

constexpr std::array<std::pair<ReplyCode, std::string_view>, 10> kReplyNames = {{
    {ReplyCode::kOk, "ok"},
    {ReplyCode::kRefused, "refused"},
    {ReplyCode::kNotFound, "not-found"},
    {ReplyCode::kInvalid, "invalid"},
    {ReplyCode::kExists, "exists"},
    {ReplyCode::kFull, "full"},
    {ReplyCode::kUnauthorised, "unauthorised"},
    {ReplyCode::kExpired, "expired"},
    {ReplyCode::kReplayed, "replayed"},
    {ReplyCode::kUnavailable, "unavailable"},
}};

// An envelope has four. It is read before anybody knows who sent it, so it must be cheap to refuse.
constexpr std::size_t kEnvelopeValuesMax = 32;

json::ParseLimits limits() {
  json::ParseLimits out;
  out.bytes_max = kPayloadBytesMax;
  out.depth_max = 16;
  out.values_max = 10'000;
  return out;
}

bool is_command_id(std::string_view text) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kCommandIdBytesMax &&
         std::all_of(text.begin(), text.end(), fine);
}

Result<std::string> text_member(const Value& from, std::string_view key, std::string_view where) {
  const Value* found = from.find(key, Kind::kString);
  if (found == nullptr) {
    return fail(Code::kInvalid, std::string(where) + " has no text \"" + std::string(key) + "\"");
  }
  return found->as_string();
}

Result<std::int64_t> time_member(const Value& from, std::string_view key) {
  const Value* found = from.find(key, Kind::kInteger);
  if (found == nullptr || found->as_integer() < 0 || found->as_integer() > kUnixMsMax) {
    return fail(Code::kInvalid, "the signed text needs a whole number \"" + std::string(key) +
                                    "\": milliseconds since 1970");
  }
  return found->as_integer();
}

bool is_config(const Topic& topic) {
  return topic.kind == TopicKind::kFleetConfig || topic.kind == TopicKind::kNodeConfig;
}

std::string_view verb_of(const Topic& topic) {
  if (topic.kind == TopicKind::kFleetConfig) return "config";
  if (topic.kind == TopicKind::kNodeConfig) return "node-config";
  return topic.name;
}

std::string seconds(std::int64_t ms) { return std::to_string(ms / 1000) + " s"; }

// Why a command with a good signature is not meant for this topic and board; empty when it is.
std::string misaddressed(const Command& command, const Topic& topic, const Circumstances& now) {
  if (command.fleet != now.fleet || topic.fleet != now.fleet) {
    return "it is for the fleet '" + command.fleet + "', this is '" + std::string(now.fleet) + "'";
  }
  if (command.to != topic.node) {
    return "it is signed for '" + command.to + "' and came on the topic of '" + topic.node + "'";
  }
  if (command.to != now.node && command.to != kEveryone) {
    return "it is for the board '" + command.to + "', this is '" + std::string(now.node) + "'";
  }
  if (command.verb != verb_of(topic)) {
    return "it is signed as '" + command.verb + "' and came on the topic of '" +
           std::string(verb_of(topic)) + "'";
  }
  return {};
}

// Why a command is too old, too early or valid for too long; empty when it is none of these.
std::string stale(const Command& command, bool config, std::int64_t now_ms) {
  if (command.issued_ms > now_ms + kClockSkewMaxMs) {
    return "it was issued " + seconds(command.issued_ms - now_ms) +
           " in the future: set the clocks of the operator and the board";
  }
  if (config && command.expires_ms == 0) return {};
  if (now_ms > command.expires_ms) {
    return "it expired " + seconds(now_ms - command.expires_ms) +
           " ago: send it again, or set the clocks";
  }
  if (!config && command.expires_ms - command.issued_ms > kCommandLifeMaxMs) {
    return "it is good for more than " + seconds(kCommandLifeMaxMs) + ": sign it for less";
  }
  return {};
}

}  // namespace

std::string_view name(ReplyCode code) {
  for (const auto& [known, text] : kReplyNames) {
    if (known == code) return text;
  }
  LAIRD_REQUIRE(false, "every reply code has a name");
  return {};
}

Result<ReplyCode> reply_code(std::string_view text) {
  for (const auto& [code, known] : kReplyNames) {
    if (known == text) return code;
  }
  return fail(Code::kInvalid, "an unknown reply code");
}

ReplyCode reply_code(Code code) {
  switch (code) {
    case Code::kInvalid: return ReplyCode::kInvalid;
    case Code::kNotFound: return ReplyCode::kNotFound;
    case Code::kExists: return ReplyCode::kExists;
    case Code::kFull: return ReplyCode::kFull;
    case Code::kRefused:
    case Code::kPermission: return ReplyCode::kRefused;
    default: return ReplyCode::kUnavailable;
  }
}

std::string signing_input(std::string_view signed_text) {
  return std::string(kSigningPrefix).append(signed_text);
}

std::string to_signed_text(const Command& command) {
  Value out = Value::object();
  out.set("id", command.id);
  out.set("fleet", command.fleet);
  out.set("to", command.to);
  out.set("verb", command.verb);
  out.set("issued_ms", command.issued_ms);
  out.set("expires_ms", command.expires_ms);
  out.set("body", command.body.is(Kind::kObject) ? command.body : Value::object());
  return json::to_text(out);
}

std::string to_text(const Envelope& envelope) {
  Value out = Value::object();
  out.set("s", "laird.cmd/1.0");
  out.set("signed", envelope.signed_text);
  out.set("op", envelope.op);
  out.set("sig", to_base64(envelope.signature));
  return json::to_text(out);
}

Result<Envelope> parse_envelope(std::string_view payload) {
  auto value = parse_message(payload, "laird.cmd", kEnvelopeValuesMax);
  LAIRD_TRY(value);
  Envelope out;
  auto signed_text = text_member(*value, "signed", "the envelope");
  LAIRD_TRY(signed_text);
  auto op = text_member(*value, "op", "the envelope");
  LAIRD_TRY(op);
  if (!config::is_name(*op)) return fail(Code::kInvalid, "\"op\" is no operator's name");
  const auto sig = text_member(*value, "sig", "the envelope");
  LAIRD_TRY(sig);
  auto signature = from_base64(*sig);
  if (!signature || signature->size() != kSignatureBytes) {
    return fail(Code::kInvalid, "\"sig\" is not the base64 of an Ed25519 signature (64 bytes)");
  }
  return Envelope{std::move(*signed_text), std::move(*op), std::move(*signature)};
}

Result<Command> parse_signed_text(std::string_view text) {
  auto value = json::parse(text, "signed text", limits());
  LAIRD_TRY(value);
  if (!value->is(Kind::kObject)) return fail(Code::kInvalid, "the signed text is not an object");
  Command out;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"id", &out.id}, {"fleet", &out.fleet}, {"to", &out.to}, {"verb", &out.verb}};
  for (const auto& [key, place] : texts) {
    auto found = text_member(*value, key, "the signed text");
    LAIRD_TRY(found);
    *place = std::move(*found);
  }
  if (!is_command_id(out.id)) {
    return fail(Code::kInvalid, "\"id\" must be 1 to 64 of A-Z, a-z, 0-9, _ and -");
  }
  if (!config::is_name(out.fleet) || !config::is_name(out.to) || !config::is_name(out.verb)) {
    return fail(Code::kInvalid, "\"fleet\", \"to\" and \"verb\" must be names: a-z, 0-9 and -");
  }
  const auto issued = time_member(*value, "issued_ms");
  LAIRD_TRY(issued);
  const auto expires = time_member(*value, "expires_ms");
  LAIRD_TRY(expires);
  out.issued_ms = *issued;
  out.expires_ms = *expires;
  const Value* body = value->find("body", Kind::kObject);
  if (body == nullptr) return fail(Code::kInvalid, "the signed text has no object \"body\"");
  out.body = *body;
  return out;
}

bool may(const Operator& who, std::string_view verb) {
  return std::any_of(who.may.begin(), who.may.end(), [verb](const std::string& allowed) {
    return allowed == "*" || allowed == verb;
  });
}

tl::expected<Command, Refusal> accept(std::string_view payload, const Topic& topic,
                                      const Circumstances& now) {
  LAIRD_REQUIRE(now.operators != nullptr && now.verify != nullptr,
                "accept needs the operators and a signature check");
  Refusal why;
  const auto refuse = [&why](ReplyCode code, std::string text) {
    why.code = code;
    why.text = std::move(text);
    return tl::make_unexpected(why);
  };
  const bool config = is_config(topic);
  if (!config && topic.kind != TopicKind::kCommand) {
    return refuse(ReplyCode::kInvalid, "not a topic for commands");
  }
  if (now.retained && !config) {
    return refuse(ReplyCode::kRefused,
                  "it was retained by the broker: commands are never retained; clear the topic");
  }
  auto envelope = parse_envelope(payload);
  if (!envelope) return refuse(ReplyCode::kInvalid, envelope.error().context);
  why.op = envelope->op;
  const auto& known = *now.operators;
  const auto who = std::find_if(known.begin(), known.end(),
                                [&](const Operator& o) { return o.name == envelope->op; });
  if (who == known.end()) {
    return refuse(ReplyCode::kUnauthorised,
                  "no operator '" + envelope->op + "' in this board's config");
  }
  if (!now.verify(who->key, signing_input(envelope->signed_text), envelope->signature)) {
    return refuse(ReplyCode::kUnauthorised, "the signature is not that of '" + who->name + "'");
  }
  auto command = parse_signed_text(envelope->signed_text);
  if (!command) return refuse(ReplyCode::kInvalid, command.error().context);
  command->op = envelope->op;
  why.id = command->id;
  why.proven = true;
  std::string problem = misaddressed(*command, topic, now);
  if (!problem.empty()) return refuse(ReplyCode::kRefused, std::move(problem));
  problem = stale(*command, config, now.now_ms);
  if (!problem.empty()) return refuse(ReplyCode::kExpired, std::move(problem));
  if (!may(*who, command->verb)) {
    return refuse(ReplyCode::kUnauthorised,
                  "'" + who->name + "' may not '" + command->verb + "' on this board");
  }
  return std::move(*command);
}

}  // namespace laird::mqtt
