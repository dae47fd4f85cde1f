// Signed commands. The text that is signed travels as it was signed, inside a JSON string, so that
// no two JSON writers need to agree on a canonical form:
//
//   {"s":"laird.cmd/1.0","signed":"{\"id\":...}","op":"op-alice","sig":"<base64>"}
//   sig = Ed25519(key of op, "laird-cmd-v1\n" + signed)
//
// Pure: the clock, the operators and the signature check come in as arguments. What the caller
// still owes: an id seen before must do nothing again, and a config counts only by its rev.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::mqtt {

inline constexpr std::string_view kSigningPrefix = "laird-cmd-v1\n";

// The answer to a command, in the words of the wire.
enum class ReplyCode : std::uint8_t {
  kOk,
  kRefused,
  kNotFound,
  kInvalid,
  kExists,
  kFull,
  kUnauthorised,
  kExpired,
  kReplayed,
  kUnavailable,
};

[[nodiscard]] std::string_view name(ReplyCode code);
[[nodiscard]] Result<ReplyCode> reply_code(std::string_view text);
// The reply that fits an error of ours.
[[nodiscard]] ReplyCode reply_code(Code code);

struct Command {
  std::string id;  // 1 to 64 of A-Z a-z 0-9 _ -
  std::string fleet;
  std::string to;  // a node's id or "all"
  std::string verb;
  std::int64_t issued_ms = 0;   // Unix time
  std::int64_t expires_ms = 0;  // Unix time; a config may say 0, never
  json::Value body;             // an object
  std::string op;               // who signed, from the envelope
};

struct Envelope {
  std::string signed_text;
  std::string op;
  std::string signature;  // kSignatureBytes raw bytes
};

[[nodiscard]] std::string signing_input(std::string_view signed_text);
// The text to sign; `op` is not part of it.
[[nodiscard]] std::string to_signed_text(const Command& command);
[[nodiscard]] std::string to_text(const Envelope& envelope);

// Form only: nothing is believed yet.
[[nodiscard]] Result<Envelope> parse_envelope(std::string_view payload);
[[nodiscard]] Result<Command> parse_signed_text(std::string_view text);

struct Operator {
  std::string name;
  std::string key;               // kPublicKeyBytes raw bytes
  std::vector<std::string> may;  // verbs, or "*" for every one
};

[[nodiscard]] bool may(const Operator& who, std::string_view verb);

// Checks an Ed25519 signature: mqtt/sign has it.
using Verify = bool (*)(std::string_view key, std::string_view message, std::string_view signature);

struct Circumstances {
  std::string_view fleet;
  std::string_view node;
  std::int64_t now_ms = 0;  // Unix time
  bool retained = false;    // the broker kept the message
  const std::vector<Operator>* operators = nullptr;
  Verify verify = nullptr;
};

struct Refusal {
  ReplyCode code = ReplyCode::kRefused;
  std::string text;
  std::string op;  // who claims to have sent it; not proven unless `proven`
  std::string id;  // empty unless `proven`
  bool proven = false;
};

// Everything a message on a command or config topic must pass before it may do anything: form,
// size, operator, signature, fleet, addressee, verb, freshness, not retained, authorisation.
[[nodiscard]] tl::expected<Command, Refusal> accept(std::string_view payload, const Topic& topic,
                                                    const Circumstances& now);

}  // namespace laird::mqtt
