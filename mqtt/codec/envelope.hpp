// Signed commands. The signed text travels byte for byte as it was signed, inside a JSON string, so
// that two JSON writers need not agree on a canonical form:
//
//   {"s":"laird.cmd/1.0","signed":"{\"id\":...}","op":"op-alice","sig":"<base64>"}
//   sig = Ed25519(key of op, "laird-cmd-v1\n" + signed)
//
// Pure: the clock, the operators and the signature check come in as arguments. Two checks are left
// to the caller: a command whose id was seen before must do nothing, and a budget counts only when
// its revision is newer.
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
// The reply code that fits an error code.
[[nodiscard]] ReplyCode reply_code(Code code);

struct Command {
  std::string id;  // 1 to 64 of A-Z a-z 0-9 _ -
  std::string fleet;
  std::string to;  // a node's id or "all"
  std::string verb;
  std::int64_t issued_ms = 0;   // Unix time
  std::int64_t expires_ms = 0;  // Unix time; a budget may say 0: it never expires
  json::Value body;             // an object
  std::string op;               // who signed, from the envelope
};

struct Envelope {
  std::string signed_text;
  std::string op;
  std::string signature;  // kSignatureBytes raw bytes
};

[[nodiscard]] std::string signing_input(std::string_view signed_text);
// The text to sign. It does not hold `op`.
[[nodiscard]] std::string to_signed_text(const Command& command);
[[nodiscard]] std::string to_text(const Envelope& envelope);

// These check the form only. Neither the signature nor the sender has been checked.
[[nodiscard]] Result<Envelope> parse_envelope(std::string_view payload);
[[nodiscard]] Result<Command> parse_signed_text(std::string_view text);

struct Operator {
  std::string name;
  std::string key;               // kPublicKeyBytes raw bytes
  std::vector<std::string> may;  // verbs, or "*" for every one
};

[[nodiscard]] bool may(const Operator& who, std::string_view verb);

// Checks an Ed25519 signature; mqtt/sign implements it.
using Verify = bool (*)(std::string_view key, std::string_view message, std::string_view signature);

struct Circumstances {
  std::string_view fleet;
  std::string_view node;
  std::int64_t now_ms = 0;  // Unix time
  bool retained = false;    // the broker delivered a message that it had kept
  const std::vector<Operator>* operators = nullptr;
  Verify verify = nullptr;
};

struct Refusal {
  ReplyCode code = ReplyCode::kRefused;
  std::string text;
  std::string op;       // who claims to have sent it
  std::string id;       // empty unless `proven`
  bool proven = false;  // the signature is that of `op`
};

// All checks that a message on a command or config topic must pass before it may do anything: its
// form, its size, that the operator is known, the signature, that fleet, addressee and verb are
// those of the topic, its freshness, that the broker did not retain it, and the operator's right.
[[nodiscard]] tl::expected<Command, Refusal> accept(std::string_view payload, const Topic& topic,
                                                    const Circumstances& now);

}  // namespace laird::mqtt
