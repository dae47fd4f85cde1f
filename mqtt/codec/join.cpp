#include "mqtt/codec/join.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::mqtt {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t kSerialMax = 64;
constexpr std::size_t kModelMax = 128;
constexpr std::size_t kVersionMax = 64;
constexpr std::size_t kWhyMax = 512;
constexpr std::size_t kKeyBytesMax = 128;
constexpr std::size_t kSignatureMax = 128;
constexpr std::size_t kCertificateMax = 8 * 1024;
constexpr std::size_t kAskValuesMax = 16;

std::string stem(std::string_view fleet) {
  return std::string(kTopicRoot) + std::string(fleet) + "/join/";
}

Result<std::string> text_of(const Value& from, const char* key, std::size_t most) {
  const Value* value = from.find(key, Kind::kString);
  if (value == nullptr || value->as_string().size() > most) {
    return fail(Code::kInvalid, std::string("/") + key + ": expected a text of at most " +
                                    std::to_string(most) + " bytes");
  }
  return value->as_string();
}

Result<std::string> bytes_of(const Value& from, const char* key, std::size_t most) {
  const auto text = text_of(from, key, 2 * most);
  LAIRD_TRY(text);
  auto bytes = from_base64(*text);
  LAIRD_TRY(bytes);
  if (bytes->empty() || bytes->size() > most) {
    return fail(Code::kInvalid, std::string("/") + key + " has the wrong size");
  }
  return bytes;
}

Result<Value> parse_text(std::string_view text, std::size_t bytes_max, std::size_t values_max) {
  json::ParseLimits limits;
  limits.bytes_max = bytes_max;
  limits.depth_max = 16;
  limits.values_max = values_max;
  return json::parse(text, "join", limits);
}

bool is_fingerprint(std::string_view text) {
  return text.size() == kFingerprintDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> fleet_of(const Value& from) {
  auto fleet = text_of(from, "fleet", kTopicBytesMax);
  LAIRD_TRY(fleet);
  if (!config::is_name(*fleet)) return fail(Code::kInvalid, "/fleet is no fleet's name");
  return fleet;
}

}  // namespace

std::string join_ask_topic(std::string_view fleet) { return stem(fleet) + "ask"; }

std::string join_answer_topic(std::string_view fleet, std::string_view fingerprint) {
  return stem(fleet) + "answer/" + std::string(fingerprint);
}

std::string fingerprint_of(std::string_view public_key) {
  return sha256_of(public_key).substr(0, kFingerprintDigits);
}

bool is_serial(std::string_view text) {
  return !text.empty() && text.size() <= kSerialMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == ':' || c == '-';
         });
}

std::string to_signed_text(const JoinAsk& ask) {
  return json::to_text(Value::object()
                           .set("fleet", ask.fleet)
                           .set("serial", ask.serial)
                           .set("module", ask.module)
                           .set("model", ask.model.substr(0, kModelMax))
                           .set("version", ask.version.substr(0, kVersionMax)));
}

std::string to_signed_text(const JoinAnswer& answer) {
  Value out = Value::object()
                  .set("fleet", answer.fleet)
                  .set("to", answer.to)
                  .set("admitted", answer.admitted);
  if (!answer.admitted) return json::to_text(out.set("why", answer.why));
  return json::to_text(
      out.set("node", answer.node).set("cert", answer.cert).set("config", answer.config));
}

std::string ask_message(const SignedText& ask) {
  return json::to_text(Value::object()
                           .set("s", "laird.join-ask/1.0")
                           .set("signed", ask.text)
                           .set("key", to_base64(ask.key))
                           .set("sig", to_base64(ask.signature)));
}

std::string answer_message(const SignedText& answer) {
  return json::to_text(Value::object()
                           .set("s", "laird.join-answer/1.0")
                           .set("signed", answer.text)
                           .set("sig", to_base64(answer.signature)));
}

Result<SignedText> parse_ask_message(std::string_view payload) {
  if (payload.size() > kAskBytesMax) return fail(Code::kInvalid, "the message is too long");
  const auto value = parse_message(payload, "laird.join-ask", kAskValuesMax);
  LAIRD_TRY(value);
  auto text = text_of(*value, "signed", kAskBytesMax);
  LAIRD_TRY(text);
  auto key = bytes_of(*value, "key", kKeyBytesMax);
  LAIRD_TRY(key);
  auto signature = bytes_of(*value, "sig", kSignatureMax);
  LAIRD_TRY(signature);
  return SignedText{std::move(*text), std::move(*key), std::move(*signature)};
}

Result<SignedText> parse_answer_message(std::string_view payload) {
  if (payload.size() > kPayloadBytesMax) return fail(Code::kInvalid, "the message is too long");
  const auto value = parse_message(payload, "laird.join-answer", kAskValuesMax);
  LAIRD_TRY(value);
  auto text = text_of(*value, "signed", kPayloadBytesMax);
  LAIRD_TRY(text);
  auto signature = bytes_of(*value, "sig", kSignatureMax);
  LAIRD_TRY(signature);
  return SignedText{std::move(*text), {}, std::move(*signature)};
}

Result<JoinAsk> parse_ask(std::string_view signed_text) {
  const auto value = parse_text(signed_text, kAskBytesMax, kAskValuesMax);
  LAIRD_TRY(value);
  JoinAsk out;
  for (const auto& [key, place, most] :
       {std::tuple("serial", &out.serial, kSerialMax),
        std::tuple("module", &out.module, kSerialMax), std::tuple("model", &out.model, kModelMax),
        std::tuple("version", &out.version, kVersionMax)}) {
    auto text = text_of(*value, key, most);
    LAIRD_TRY(text);
    *place = std::move(*text);
  }
  auto fleet = fleet_of(*value);
  LAIRD_TRY(fleet);
  out.fleet = std::move(*fleet);
  if (!is_serial(out.serial)) {
    return fail(Code::kInvalid, "/serial: 1 to 64 of A-Z, a-z, 0-9, '.', '_', ':' and '-'");
  }
  if (!out.module.empty() && !config::is_name(out.module)) {
    return fail(Code::kInvalid, "/module is no name of a board file");
  }
  return out;
}

Result<JoinAnswer> parse_answer(std::string_view signed_text) {
  const auto value = parse_text(signed_text, kPayloadBytesMax, kMessageValuesMax);
  LAIRD_TRY(value);
  JoinAnswer out;
  auto fleet = fleet_of(*value);
  LAIRD_TRY(fleet);
  out.fleet = std::move(*fleet);
  auto to = text_of(*value, "to", kFingerprintDigits);
  LAIRD_TRY(to);
  if (!is_fingerprint(*to)) return fail(Code::kInvalid, "/to is no fingerprint");
  out.to = std::move(*to);
  const Value* admitted = value->find("admitted", Kind::kBool);
  if (admitted == nullptr) return fail(Code::kInvalid, "/admitted: expected true or false");
  out.admitted = admitted->as_bool();
  if (!out.admitted) {
    auto why = text_of(*value, "why", kWhyMax);
    LAIRD_TRY(why);
    out.why = std::move(*why);
    return out;
  }
  auto node = text_of(*value, "node", kFingerprintDigits);
  LAIRD_TRY(node);
  auto cert = text_of(*value, "cert", kCertificateMax);
  LAIRD_TRY(cert);
  const Value* config = value->find("config", Kind::kObject);
  if (!is_node_id(*node) || config == nullptr) {
    return fail(Code::kInvalid, "an answer that admits has a node's name and a config");
  }
  out.node = std::move(*node);
  out.cert = std::move(*cert);
  out.config = *config;
  return out;
}

}  // namespace laird::mqtt
