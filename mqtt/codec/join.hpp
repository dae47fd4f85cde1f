// How a board asks for its place in a fleet, and what it is answered (docs/mqtt-api.md).
//
//   laird/v1/<fleet>/join/ask                   from boards that have no identity yet, not retained
//   laird/v1/<fleet>/join/answer/<fingerprint>  to the board with that key, retained
//
//   {"s":"laird.join-ask/1.0","signed":"{\"fleet\":...}","key":"<base64>","sig":"<base64>"}
//   {"s":"laird.join-answer/1.0","signed":"{\"fleet\":...}","sig":"<base64>"}
//
// A board signs with the key that it has made (and whose certificate it asks for), an answer is
// signed by the fleet's authority. Pure: the signatures are checked by mqtt/sign/join_keys.hpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::mqtt {

// The user name of every join certificate, by which the broker's ACL knows them. No board is called
// so.
inline constexpr std::string_view kJoinUser = "join";
inline constexpr std::string_view kAskPrefix = "laird-join-ask-v1\n";
inline constexpr std::string_view kAnswerPrefix = "laird-join-answer-v1\n";
inline constexpr std::size_t kAskBytesMax = 4 * 1024;
inline constexpr std::size_t kFingerprintDigits = 32;

// Both travel as a text byte for byte as it was signed.
struct SignedText {
  std::string text;
  std::string key;        // of an ask: the public key, DER; empty in an answer
  std::string signature;  // DER
};

struct JoinAsk {
  std::string fleet;
  std::string serial;   // what the board calls its own: 1 to 64 of A-Z a-z 0-9 . _ : -
  std::string module;   // a file of board_configs, "orin-nano-8gb"; empty: unknown
  std::string model;    // for people
  std::string version;  // of laird
};

struct JoinAnswer {
  std::string fleet;
  std::string to;  // the fingerprint of the key that asked
  bool admitted = false;
  std::string why;     // of a denial
  std::string node;    // the board's name from now on
  std::string cert;    // PEM
  json::Value config;  // its laird.json
};

[[nodiscard]] std::string join_ask_topic(std::string_view fleet);
// `fingerprint` may be a wildcard.
[[nodiscard]] std::string join_answer_topic(std::string_view fleet, std::string_view fingerprint);

// The first 32 hexadecimal digits of the SHA-256 of a public key (DER).
[[nodiscard]] std::string fingerprint_of(std::string_view public_key);
[[nodiscard]] bool is_serial(std::string_view text);

[[nodiscard]] std::string to_signed_text(const JoinAsk& ask);
[[nodiscard]] std::string to_signed_text(const JoinAnswer& answer);
// The message around a signed text.
[[nodiscard]] std::string ask_message(const SignedText& ask);
[[nodiscard]] std::string answer_message(const SignedText& answer);

// These check the form only; nobody's signature has been checked.
[[nodiscard]] Result<SignedText> parse_ask_message(std::string_view payload);
[[nodiscard]] Result<SignedText> parse_answer_message(std::string_view payload);
[[nodiscard]] Result<JoinAsk> parse_ask(std::string_view signed_text);
[[nodiscard]] Result<JoinAnswer> parse_answer(std::string_view signed_text);

}  // namespace laird::mqtt
