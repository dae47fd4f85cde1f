#include <string>
#include <vector>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/limits.hpp"
#include "tests/harness/unit.hpp"

using laird::json::Value;
using laird::mqtt::accept;
using laird::mqtt::Circumstances;
using laird::mqtt::Command;
using laird::mqtt::Envelope;
using laird::mqtt::Operator;
using laird::mqtt::parse_topic;
using laird::mqtt::ReplyCode;

namespace {

constexpr std::int64_t kNow = 1'800'000'000'000;
const std::string kKey(32, 'k');

// A signature in these tests is 64 times the key's first byte, over any text but "forged".
bool verify_in_test(std::string_view key, std::string_view message, std::string_view signature) {
  return message.substr(0, 13) == "laird-cmd-v1\n" &&
         message.find("forged") == std::string_view::npos &&
         signature == std::string(64, key.at(0));
}

Command ping() {
  Command out;
  out.id = "c-1";
  out.fleet = "lab";
  out.to = "n-1";
  out.verb = "ping";
  out.issued_ms = kNow - 1000;
  out.expires_ms = kNow + 30'000;
  out.body = Value::object();
  return out;
}

std::string sealed(const Command& command, const std::string& op = "op-alice", char by = 'k') {
  return to_text(Envelope{to_signed_text(command), op, std::string(64, by)});
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = {{"op-alice", kKey, {"*"}},
                                            {"op-bob", std::string(32, 'b'), {"ping", "explain"}}};
  return all;
}

Circumstances here() {
  Circumstances out;
  out.fleet = "lab";
  out.node = "n-1";
  out.now_ms = kNow;
  out.operators = &operators();
  out.verify = &verify_in_test;
  return out;
}

void assert_refused(ReplyCode code, const char* word, const std::string& payload,
                    const char* topic = "laird/v1/lab/ctl/n-1/cmd/ping",
                    const Circumstances& now = here()) {
  const auto got = accept(payload, *parse_topic(topic), now);
  TEST_ASSERT_FALSE_MESSAGE(got.has_value(), word);
  TEST_ASSERT_EQUAL_STRING(std::string(name(code)).c_str(),
                           std::string(name(got.error().code)).c_str());
  TEST_ASSERT_TRUE_MESSAGE(got.error().text.find(word) != std::string::npos,
                           got.error().text.c_str());
}

}  // namespace

TEST(a_good_command_is_accepted_as_it_was_signed) {
  Command command = ping();
  command.body.set("task", "night \"run\"\n");
  const auto got = accept(sealed(command), *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping"), here());
  TEST_ASSERT_TRUE(got.has_value());
  TEST_ASSERT_EQUAL_STRING("c-1", got->id.c_str());
  TEST_ASSERT_EQUAL_STRING("op-alice", got->op.c_str());
  TEST_ASSERT_EQUAL_STRING("night \"run\"\n", got->body.find("task")->as_string().c_str());
  TEST_ASSERT_EQUAL_INT64(kNow + 30'000, got->expires_ms);
}

TEST(a_broadcast_is_accepted_by_everyone_and_only_on_its_topic) {
  Command command = ping();
  command.to = "all";
  TEST_ASSERT_TRUE(
      accept(sealed(command), *parse_topic("laird/v1/lab/ctl/all/cmd/ping"), here()).has_value());
  assert_refused(ReplyCode::kRefused, "topic of 'n-1'", sealed(command));
  assert_refused(ReplyCode::kRefused, "topic of 'all'", sealed(ping()),
                 "laird/v1/lab/ctl/all/cmd/ping");
}

TEST(an_unsigned_forged_or_foreign_command_is_refused) {
  assert_refused(ReplyCode::kUnauthorised, "no operator 'op-eve'", sealed(ping(), "op-eve"));
  assert_refused(ReplyCode::kUnauthorised, "signature", sealed(ping(), "op-alice", 'x'));
  assert_refused(ReplyCode::kUnauthorised, "signature", sealed(ping(), "op-bob", 'k'));
  Command forged = ping();
  forged.body.set("forged", true);
  assert_refused(ReplyCode::kUnauthorised, "signature", sealed(forged));
  assert_refused(ReplyCode::kInvalid, "\"sig\"",
                 R"({"s":"laird.cmd/1.0","signed":"{}","op":"op-alice","sig":""})");
  assert_refused(ReplyCode::kInvalid, "\"signed\"", R"({"s":"laird.cmd/1.0","op":"op-alice"})");
}

TEST(what_an_operator_may_not_is_refused) {
  TEST_ASSERT_TRUE(
      accept(sealed(ping(), "op-bob", 'b'), *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping"), here())
          .has_value());
  Command drain = ping();
  drain.verb = "drain";
  assert_refused(ReplyCode::kUnauthorised, "may not 'drain'", sealed(drain, "op-bob", 'b'),
                 "laird/v1/lab/ctl/n-1/cmd/drain");
}

TEST(a_command_for_another_place_is_refused) {
  Command command = ping();
  command.fleet = "other";
  assert_refused(ReplyCode::kRefused, "fleet 'other'", sealed(command));
  command = ping();
  command.to = "n-2";
  assert_refused(ReplyCode::kRefused, "signed for 'n-2'", sealed(command));
  assert_refused(ReplyCode::kRefused, "board 'n-2'", sealed(command),
                 "laird/v1/lab/ctl/n-2/cmd/ping");
  command = ping();
  command.verb = "drain";
  assert_refused(ReplyCode::kRefused, "signed as 'drain'", sealed(command));
  assert_refused(ReplyCode::kInvalid, "not a topic for commands", sealed(ping()),
                 "laird/v1/lab/node/n-1/status");
}

TEST(a_stale_early_or_long_lived_command_is_refused) {
  Command command = ping();
  command.issued_ms = kNow + 30'001;
  command.expires_ms = kNow + 40'000;
  assert_refused(ReplyCode::kExpired, "future", sealed(command));
  command.issued_ms = kNow + 30'000;
  TEST_ASSERT_TRUE(
      accept(sealed(command), *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping"), here()).has_value());
  command = ping();
  command.expires_ms = kNow - 1;
  assert_refused(ReplyCode::kExpired, "expired", sealed(command));
  command.expires_ms = kNow;
  TEST_ASSERT_TRUE(
      accept(sealed(command), *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping"), here()).has_value());
  command.expires_ms = command.issued_ms + 600'001;
  assert_refused(ReplyCode::kExpired, "sign it for less", sealed(command));
  command.expires_ms = command.issued_ms + 600'000;
  TEST_ASSERT_TRUE(
      accept(sealed(command), *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping"), here()).has_value());
}

TEST(a_retained_command_is_refused_and_a_retained_config_is_not) {
  Circumstances retained = here();
  retained.retained = true;
  assert_refused(ReplyCode::kRefused, "retained", sealed(ping()), "laird/v1/lab/ctl/n-1/cmd/ping",
                 retained);
  Command config = ping();
  config.to = "all";
  config.verb = "config";
  config.issued_ms = 1'700'000'000'000;
  config.expires_ms = 0;
  TEST_ASSERT_TRUE(
      accept(sealed(config), *parse_topic("laird/v1/lab/ctl/all/config"), retained).has_value());
  config.expires_ms = kNow - 1;
  assert_refused(ReplyCode::kExpired, "expired", sealed(config), "laird/v1/lab/ctl/all/config",
                 retained);
  config.verb = "node-config";
  config.to = "n-1";
  config.expires_ms = 0;
  TEST_ASSERT_TRUE(
      accept(sealed(config), *parse_topic("laird/v1/lab/ctl/n-1/config"), retained).has_value());
  // What may be retained forever on a config topic must not pass as a command.
  assert_refused(ReplyCode::kExpired, "expired", sealed(config),
                 "laird/v1/lab/ctl/n-1/cmd/node-config");
}

TEST(malformed_and_unknown_versions_are_refused_with_a_reason) {
  const char* const texts[] = {"", "{", "[]", "null", "\"x\"", "\xff\xfe"};
  for (const char* text : texts) assert_refused(ReplyCode::kInvalid, "", text);
  assert_refused(ReplyCode::kInvalid, "laird.cmd/2.0",
                 R"({"s":"laird.cmd/2.0","signed":"{}","op":"op-alice","sig":""})");
  assert_refused(ReplyCode::kInvalid, "laird.cmd/1.x", R"({"s":"laird.cmd/1.","signed":"{}"})");
  assert_refused(ReplyCode::kInvalid, "no schema", R"({"signed":"{}"})");
  assert_refused(ReplyCode::kInvalid, "65537 bytes", std::string(65'537, ' '));
  const auto later = laird::mqtt::parse_envelope(
      R"({"s":"laird.cmd/1.7","new":1,"signed":"{}","op":"op-alice","sig":")" +
      laird::mqtt::to_base64(std::string(64, 'k')) + "\"}");
  TEST_ASSERT_TRUE(later.has_value());
}

// Whoever may write to a board's command topic could otherwise keep it busy.
TEST(an_envelope_with_thousands_of_keys_is_refused_before_it_is_read) {
  std::string many = R"({"s":"laird.cmd/1.0")";
  for (int i = 0; i < 4'000; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  const auto refused = laird::mqtt::parse_envelope(many + "}");
  TEST_ASSERT_FALSE(refused.has_value());
  TEST_ASSERT_TRUE(refused.error().context.find("more than 32 values") != std::string::npos);
}

TEST(the_signed_text_must_be_complete) {
  const std::string good = to_signed_text(ping());
  TEST_ASSERT_TRUE(laird::mqtt::parse_signed_text(good).has_value());
  for (const char* key : {"id", "fleet", "to", "verb", "issued_ms", "expires_ms", "body"}) {
    auto value = *laird::json::parse(good, "t");
    auto& members = value.members();
    for (auto at = members.begin(); at != members.end(); ++at) {
      if (at->first == key) {
        members.erase(at);
        break;
      }
    }
    TEST_ASSERT_FALSE_MESSAGE(
        laird::mqtt::parse_signed_text(laird::json::to_text(value)).has_value(), key);
  }
  for (const char* id : {"", "a b", "a/b", "\\u0000"}) {
    Command command = ping();
    command.id = id;
    TEST_ASSERT_FALSE_MESSAGE(laird::mqtt::parse_signed_text(to_signed_text(command)).has_value(),
                              id);
  }
  Command command = ping();
  command.id = std::string(65, 'a');
  TEST_ASSERT_FALSE(laird::mqtt::parse_signed_text(to_signed_text(command)).has_value());
  command.id = std::string(64, 'a');
  TEST_ASSERT_TRUE(laird::mqtt::parse_signed_text(to_signed_text(command)).has_value());
}

TEST(a_refusal_names_its_sender_and_trusts_an_id_only_when_it_is_signed) {
  const auto topic = *parse_topic("laird/v1/lab/ctl/n-1/cmd/ping");
  auto got = accept(sealed(ping(), "op-alice", 'x'), topic, here());
  TEST_ASSERT_EQUAL_STRING("op-alice", got.error().op.c_str());
  TEST_ASSERT_FALSE(got.error().proven);
  TEST_ASSERT_EQUAL_STRING("", got.error().id.c_str());
  Command old = ping();
  old.expires_ms = kNow - 1;
  got = accept(sealed(old), topic, here());
  TEST_ASSERT_TRUE(got.error().proven);
  TEST_ASSERT_EQUAL_STRING("c-1", got.error().id.c_str());
}

TEST(reply_codes_have_names_and_errors_have_reply_codes) {
  for (const char* text : {"ok", "refused", "not-found", "invalid", "exists", "full",
                           "unauthorised", "expired", "replayed", "unavailable"}) {
    const auto code = laird::mqtt::reply_code(std::string_view(text));
    TEST_ASSERT_TRUE(code.has_value());
    TEST_ASSERT_EQUAL_STRING(text, std::string(name(*code)).c_str());
  }
  TEST_ASSERT_FALSE(laird::mqtt::reply_code(std::string_view("fine")).has_value());
  TEST_ASSERT_TRUE(laird::mqtt::reply_code(laird::Code::kNotFound) == ReplyCode::kNotFound);
  TEST_ASSERT_TRUE(laird::mqtt::reply_code(laird::Code::kIo) == ReplyCode::kUnavailable);
}
