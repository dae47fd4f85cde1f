// Whatever comes on a command topic is refused with a reason or is a command for this board and
// this moment; a command written again parses to the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"

namespace {

using laird::mqtt::Command;

constexpr std::int64_t kNow = 1'800'000'000'000;

// The fuzzer cannot sign: every signature is good, and the rest of the checks is reached.
bool verify_all(std::string_view, std::string_view, std::string_view) { return true; }

void check_round_trip(const Command& command) {
  const std::string text = laird::mqtt::to_signed_text(command);
  const auto again = laird::mqtt::parse_signed_text(text);
  // Escapes may make the text longer than a payload; nothing else may differ.
  if (!again && text.size() <= laird::mqtt::kPayloadBytesMax) std::abort();
  if (again && laird::mqtt::to_signed_text(*again) != text) std::abort();
}

void check_accepted(std::string_view payload, const char* topic, bool retained) {
  static const std::vector<laird::mqtt::Operator> operators = {
      {"op-alice", std::string(32, 'k'), {"ping", "submit", "config"}}};
  laird::mqtt::Circumstances now;
  now.fleet = "lab";
  now.node = "n-1";
  now.now_ms = kNow;
  now.retained = retained;
  now.operators = &operators;
  now.verify = &verify_all;
  const auto got = laird::mqtt::accept(payload, *laird::mqtt::parse_topic(topic), now);
  if (!got) {
    if (got.error().text.empty()) std::abort();
    return;
  }
  if (got->fleet != "lab" || got->op != "op-alice") std::abort();
  if (got->to != "n-1" && got->to != "all") std::abort();
  if (got->verb != "ping" && got->verb != "config") std::abort();
  if (retained && got->verb != "config") std::abort();
  if (got->issued_ms > kNow + 30'000) std::abort();
  if (got->expires_ms < kNow && !(got->verb == "config" && got->expires_ms == 0)) std::abort();
  check_round_trip(*got);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool retained : {false, true}) {
    check_accepted(bytes, "laird/v1/lab/ctl/n-1/cmd/ping", retained);
    check_accepted(bytes, "laird/v1/lab/ctl/all/config", retained);
  }
  // The inner text on its own, inside a sound envelope.
  if (const auto command = laird::mqtt::parse_signed_text(bytes)) check_round_trip(*command);
  const std::string sealed =
      to_text(laird::mqtt::Envelope{std::string(bytes), "op-alice", std::string(64, 's')});
  check_accepted(sealed, "laird/v1/lab/ctl/n-1/cmd/ping", false);
  check_accepted(sealed, "laird/v1/lab/ctl/all/config", true);
  if (const auto status = laird::mqtt::parse_status(bytes)) {
    if (!laird::mqtt::parse_status(to_text(*status))) std::abort();
  }
  if (const auto reply = laird::mqtt::parse_reply(bytes)) {
    const std::string text = to_text(*reply);
    if (text.size() <= laird::mqtt::kPayloadBytesMax && !laird::mqtt::parse_reply(text))
      std::abort();
  }
  return 0;
}
