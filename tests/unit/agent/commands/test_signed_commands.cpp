// One by one what must be refused, with its reason, and that nothing else changes by it.
#include "agent/commands/signed_commands.hpp"

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/sign/ed25519.hpp"
#include "tests/unit/agent/driver/one_board.hpp"

using namespace laird;
using json::Value;
using mqtt::Command;
using mqtt::SigningKey;

namespace {

constexpr const char* kReplyTo = "laird/v1/lab/res/op-alice/n-1";

const SigningKey& alice() {
  static const SigningKey key = *SigningKey::generate();
  return key;
}

std::string fleet_json() {
  return R"({"name": "lab", "brokers": ["mqtt://localhost:1"], "insecure_lab": true,
      "members": {"n-1": {"power": "2W"}}, "budget": {"power": "40W"},
      "operators": [{"name": "op-alice", "key": ")" +
         mqtt::to_base64(alice().public_key()) +
         R"(", "may": ["ping", "submit", "drain", "cap", "config", "get", "bid", "dance",
      "node-config"]}]})";
}

Value parsed(const std::string& text) { return *json::parse(text, "test"); }

// A board, its door, and what the door answered.
class Door {
 public:
  Door()
      : board(fleet_json()),
        events_(board.folder.path() + "/events"),
        door_(*board.agent, board.clock, board.settings, *board.config, events_,
              [this](auto out) { answers.push_back(std::move(out)); }) {}

  [[nodiscard]] Command command(const std::string& verb, const char* body = "{}") {
    Command out;
    out.id = "c-" + std::to_string(++id_);
    out.fleet = "lab";
    out.to = "n-1";
    out.verb = verb;
    out.issued_ms = board.clock.wall / kMillisecond;
    out.expires_ms = out.issued_ms + 60'000;
    out.body = parsed(body);
    return out;
  }

  [[nodiscard]] static std::string sealed(const Command& command, const SigningKey& key = alice()) {
    const std::string text = to_signed_text(command);
    return to_text(mqtt::Envelope{text, "op-alice", *key.sign(mqtt::signing_input(text))});
  }

  // The reply, parsed; null when there was none.
  Value send(const std::string& payload, const std::string& topic, bool retained = false,
             const std::string& reply_to = kReplyTo) {
    answers.clear();
    mqtt::Incoming message;
    message.topic = topic;
    message.payload = payload;
    message.retained = retained;
    message.qos = 1;
    message.response_topic = reply_to;
    message.correlation = "mark";
    door_.on_message(message, *mqtt::parse_topic(topic));
    board.agent->process();
    return answers.empty() ? Value() : parsed(answers.back().payload);
  }
  Value send(const Command& command) {
    return send(sealed(command), "laird/v1/lab/ctl/n-1/cmd/" + command.verb);
  }

  [[nodiscard]] const core::State& state() const { return board.agent->state(); }

  test::OneBoard board;
  std::vector<mqtt::Outgoing> answers;

 private:
  shell::EventLog events_;
  shell::CommandDoor door_;
  int id_ = 0;
};

// What a refused command must leave as it was.
struct Before {
  explicit Before(const core::State& s)
      : tasks(s.live.size()), draining(s.draining), budget(s.fleet.budget), seen(s.fleet.seen.size()) {}
  bool operator==(const Before&) const = default;
  std::size_t tasks;
  bool draining;
  core::FleetBudget budget;
  std::size_t seen;
};

std::string text(const Value& object, const char* key) {
  const Value* found = object.find(key, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

void assert_reply(const Value& reply, const char* code, const char* word) {
  TEST_ASSERT_EQUAL_STRING(code, text(reply, "code").c_str());
  TEST_ASSERT_TRUE_MESSAGE(text(reply, "text").find(word) != std::string::npos,
                           text(reply, "text").c_str());
}

void assert_refused(Door& door, const char* code, const char* word, const std::string& payload,
                    const char* topic = "laird/v1/lab/ctl/n-1/cmd/drain", bool retained = false) {
  const Before before(door.state());
  const std::uint64_t refused = door.state().fleet.counters.commands_refused;
  assert_reply(door.send(payload, topic, retained), code, word);
  TEST_ASSERT_EQUAL_UINT64(1, door.answers.size());
  TEST_ASSERT_EQUAL_STRING("mark", door.answers[0].correlation.c_str());
  TEST_ASSERT_EQUAL_UINT64_MESSAGE(refused + 1, door.state().fleet.counters.commands_refused,
                                   "it is in the journal");
  TEST_ASSERT_TRUE_MESSAGE(before == Before(door.state()), "and nothing else changed");
}

}  // namespace

TEST(a_signed_command_is_carried_out_once_and_answered) {
  Door door;
  const Command drain = door.command("drain");
  assert_reply(door.send(drain), "ok", "draining");
  TEST_ASSERT_TRUE(door.state().draining);
  TEST_ASSERT_EQUAL_STRING(kReplyTo, door.answers[0].topic.c_str());
  TEST_ASSERT_EQUAL_STRING("mark", door.answers[0].correlation.c_str());
  TEST_ASSERT_FALSE(door.answers[0].retained);
  // The same again is answered, and done no second time.
  const std::uint64_t done = door.state().fleet.counters.commands;
  assert_reply(door.send(drain), "replayed", "done before");
  TEST_ASSERT_EQUAL_UINT64(done, door.state().fleet.counters.commands);
}

TEST(refuses_what_is_not_signed_by_the_operator) {
  Door door;
  const Command drain = door.command("drain");
  assert_refused(door, "invalid", "schema", to_signed_text(drain));
  assert_refused(door, "invalid", "JSON", "{\"s\":");
  const SigningKey mallory = *SigningKey::generate();
  assert_refused(door, "unauthorised", "signature", Door::sealed(drain, mallory));
  std::string changed = Door::sealed(drain);
  changed.replace(changed.find("c-1"), 3, "c-9");
  assert_refused(door, "unauthorised", "signature", changed);
}

TEST(refuses_what_is_stale_from_the_future_or_good_for_too_long) {
  Door door;
  Command late = door.command("drain");
  late.issued_ms -= 120'000;
  late.expires_ms -= 120'000;
  assert_refused(door, "expired", "expired", Door::sealed(late));
  Command early = door.command("drain");
  early.issued_ms += 90'000;
  early.expires_ms += 90'000;
  assert_refused(door, "expired", "future", Door::sealed(early));
  Command lasting = door.command("drain");
  lasting.expires_ms += 700'000;
  assert_refused(door, "expired", "sign it for less", Door::sealed(lasting));
}

TEST(refuses_what_the_broker_kept) {
  Door door;
  assert_refused(door, "refused", "retained", Door::sealed(door.command("drain")),
                 "laird/v1/lab/ctl/n-1/cmd/drain", true);
}

TEST(refuses_a_right_the_operator_does_not_have_and_a_verb_nobody_knows) {
  Door door;
  assert_refused(door, "unauthorised", "may not 'cancel'",
                 Door::sealed(door.command("cancel", R"({"task": "a"})")),
                 "laird/v1/lab/ctl/n-1/cmd/cancel");
  assert_refused(door, "invalid", "no command 'dance'", Door::sealed(door.command("dance")),
                 "laird/v1/lab/ctl/n-1/cmd/dance");
}

TEST(refuses_what_is_meant_for_another_board_fleet_or_verb) {
  Door door;
  Command other = door.command("drain");
  other.to = "n-2";
  assert_refused(door, "refused", "n-2", Door::sealed(other));
  other.to = "n-1";
  other.fleet = "field";
  assert_refused(door, "refused", "field", Door::sealed(other));
  assert_refused(door, "refused", "signed as 'ping'", Door::sealed(door.command("ping")));
}

TEST(refuses_what_is_longer_than_the_limit) {
  Door door;
  const Command ping = door.command("ping");
  const std::string padded = Door::sealed(ping) + std::string(mqtt::kPayloadBytesMax, ' ');
  assert_refused(door, "invalid", "65536", padded, "laird/v1/lab/ctl/n-1/cmd/ping");
}

TEST(refuses_bodies_that_do_not_fit_their_verb) {
  Door door;
  const auto refused = [&door](const char* verb, const char* body, const char* word) {
    const std::string topic = std::string("laird/v1/lab/ctl/n-1/cmd/") + verb;
    assert_refused(door, "invalid", word, Door::sealed(door.command(verb, body)), topic.c_str());
  };
  refused("submit", "{}", "submit needs \"task\"");
  refused("submit", R"({"task": {"name": "a"}})", "trainer");
  refused("cap", R"({"power_w": -3})", "above 0");
  refused("cap", R"({"power_w": "12"})", "above 0");
  refused("cap", R"({"power_w": 12, "for_s": 0.5})", "for_s");
}

TEST(an_answer_goes_only_where_the_client_may_read_it) {
  Door door;
  const Before before(door.state());
  const std::uint64_t refused = door.state().fleet.counters.commands_refused;
  const std::string ping = Door::sealed(door.command("drain"));
  for (const char* place : {"laird/v1/lab/node/n-1/status", "laird/v1/lab/res/op-alice/n-2",
                            "laird/v1/lab/ctl/n-1/cmd/x", "#"}) {
    door.send(ping, "laird/v1/lab/ctl/n-1/cmd/drain", false, place);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, door.answers.size(), place);
  }
  TEST_ASSERT_EQUAL_UINT64(refused + 4, door.state().fleet.counters.commands_refused);
  TEST_ASSERT_TRUE(before == Before(door.state()));
}

TEST(without_a_response_topic_a_command_is_done_in_silence) {
  Door door;
  door.send(Door::sealed(door.command("drain")), "laird/v1/lab/ctl/n-1/cmd/drain", false, "");
  TEST_ASSERT_TRUE(door.state().draining);
  TEST_ASSERT_EQUAL_UINT64(0, door.answers.size());
}

TEST(a_flood_of_refusals_is_noted_thirty_times_a_minute) {
  Door door;
  const std::uint64_t before = door.state().fleet.counters.commands_refused;
  for (int i = 0; i < 100; ++i) door.send("{}", "laird/v1/lab/ctl/n-1/cmd/drain");
  TEST_ASSERT_EQUAL_UINT64(before + 30, door.state().fleet.counters.commands_refused);
  door.board.clock.pass(kMinute);
  door.send("{}", "laird/v1/lab/ctl/n-1/cmd/drain");
  TEST_ASSERT_EQUAL_UINT64(before + 31, door.state().fleet.counters.commands_refused);
}

TEST(a_plan_may_be_retained_and_counts_by_its_revision) {
  Door door;
  const auto budget = [&door](int rev, int watts) {
    Command command = door.command("config", ("{\"rev\":" + std::to_string(rev) +
                                              R"(,"epoch":1,"founders":["n-1"],"members":)"
                                              R"({"n-1":{"power_w":2}},"budget":{"power_w":)" +
                                              std::to_string(watts) + "}}")
                                                 .c_str());
    command.to = "all";
    command.expires_ms = 0;
    return door.send(Door::sealed(command), "laird/v1/lab/ctl/all/config", true,
                     "laird/v1/lab/res/op-alice");
  };
  assert_reply(budget(2, 30), "ok", "plan 2 in force");
  TEST_ASSERT_EQUAL_UINT64(2, door.state().fleet.budget.rev);
  assert_reply(budget(2, 30), "ok", "in force already");
  assert_reply(budget(1, 99), "refused", "older than revision 2");
  assert_reply(budget(2, 99), "exists", "raise it");
  assert_reply(budget(3, 1), "invalid", "below the floors");
  TEST_ASSERT_EQUAL_INT64(30'000, door.state().fleet.budget.total[2]);
}

TEST(retained_settings_are_refused) {
  Door door;
  const Command command = door.command("node-config");
  const Before before(door.state());
  assert_reply(door.send(Door::sealed(command), "laird/v1/lab/ctl/n-1/config"), "invalid",
               "settings are not retained");
  TEST_ASSERT_TRUE(before == Before(door.state()));
}

TEST(questions_are_answered_without_a_trace) {
  Door door;
  const TimeNs stepped = door.state().now;
  assert_reply(door.send(door.command("ping")), "ok", "here");
  const Value budget = door.send(door.command("get", R"({"what": "plan"})"));
  TEST_ASSERT_EQUAL_INT64(1, budget.find("data")->find("epoch")->as_integer());
  const Value bid =
      door.send(door.command("bid", R"({"task": {"name": "a", "trainer": "linear", "deadline": "5m",
                 "target_loss": 1, "memory": "20MB"}})"));
  TEST_ASSERT_TRUE(bid.find("data")->find("admits")->as_bool());
  assert_reply(door.send(door.command("get", R"({"what": "money"})")), "invalid",
               "tasks, plan, config or events");
  assert_reply(door.send(door.command("bid")), "invalid", "bid needs \"task\"");
  TEST_ASSERT_EQUAL_INT64(stepped, door.state().now);
  TEST_ASSERT_EQUAL_UINT64(0, door.state().fleet.seen.size());
}
