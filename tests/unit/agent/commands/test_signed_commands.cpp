// One by one what must be refused, with its reason, and that nothing else changes by it.
#include <signal.h>
#include <sys/resource.h>

#include "mqtt/codec/limits.hpp"
#include "tests/unit/agent/commands/commanded_board.hpp"

using namespace laird;
using json::Value;
using mqtt::Command;
using mqtt::SigningKey;
using test::CommandedBoard;
using test::kReplyTo;

namespace {

// What a refused command must leave as it was.
struct Before {
  explicit Before(const core::State& s)
      : tasks(s.live.size()),
        draining(s.draining),
        budget(s.fleet.budget),
        seen(s.fleet.seen.size()) {}
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

void assert_refused(CommandedBoard& commands, const char* code, const char* word,
                    const std::string& payload,
                    const char* topic = "laird/v1/lab/ctl/n-1/cmd/drain", bool retained = false) {
  const Before before(commands.state());
  const std::uint64_t refused = commands.state().fleet.counters.commands_refused;
  assert_reply(commands.send(payload, topic, retained), code, word);
  TEST_ASSERT_EQUAL_UINT64(1, commands.answers.size());
  TEST_ASSERT_EQUAL_STRING("mark", commands.answers[0].correlation.c_str());
  TEST_ASSERT_EQUAL_UINT64_MESSAGE(refused + 1, commands.state().fleet.counters.commands_refused,
                                   "it is in the journal");
  TEST_ASSERT_TRUE_MESSAGE(before == Before(commands.state()), "and nothing else changed");
}

}  // namespace

TEST(a_signed_command_is_carried_out_once_and_answered) {
  CommandedBoard commands;
  const Command drain = commands.command("drain");
  assert_reply(commands.send(drain), "ok", "draining");
  TEST_ASSERT_TRUE(commands.state().draining);
  TEST_ASSERT_EQUAL_STRING(kReplyTo, commands.answers[0].topic.c_str());
  TEST_ASSERT_EQUAL_STRING("mark", commands.answers[0].correlation.c_str());
  TEST_ASSERT_FALSE(commands.answers[0].retained);
  // The same again is answered, and done no second time.
  const std::uint64_t done = commands.state().fleet.counters.commands;
  assert_reply(commands.send(drain), "replayed", "done before");
  TEST_ASSERT_EQUAL_UINT64(done, commands.state().fleet.counters.commands);
}

TEST(refuses_what_is_not_signed_by_the_operator) {
  CommandedBoard commands;
  const Command drain = commands.command("drain");
  assert_refused(commands, "invalid", "schema", to_signed_text(drain));
  assert_refused(commands, "invalid", "JSON", "{\"s\":");
  const SigningKey mallory = *SigningKey::generate();
  assert_refused(commands, "unauthorised", "signature", CommandedBoard::sealed(drain, mallory));
  std::string changed = CommandedBoard::sealed(drain);
  changed.replace(changed.find("c-1"), 3, "c-9");
  assert_refused(commands, "unauthorised", "signature", changed);
}

TEST(refuses_what_is_stale_from_the_future_or_good_for_too_long) {
  CommandedBoard commands;
  Command late = commands.command("drain");
  late.issued_ms -= 120'000;
  late.expires_ms -= 120'000;
  assert_refused(commands, "expired", "expired", CommandedBoard::sealed(late));
  Command early = commands.command("drain");
  early.issued_ms += 90'000;
  early.expires_ms += 90'000;
  assert_refused(commands, "expired", "future", CommandedBoard::sealed(early));
  Command lasting = commands.command("drain");
  lasting.expires_ms += 700'000;
  assert_refused(commands, "expired", "sign it for less", CommandedBoard::sealed(lasting));
}

TEST(a_command_of_long_ago_is_not_done_again_after_the_clock_went_back_over_a_power_cut) {
  CommandedBoard commands;
  const TimeNs first_use = commands.board.clock.wall;
  std::vector<Command> done;
  for (std::size_t i = 0; i < core::kCommandsKept + 6; ++i) {
    done.push_back(commands.command("cap", i % 2 == 0 ? R"({"power_w": 9})" : R"({"power_w": 8})"));
    assert_reply(commands.send(done.back()), "ok", "cap");
    commands.board.clock.pass(2 * kMinute);
  }
  const TimeNs at_last = commands.board.clock.wall;
  // A board without a battery for its clock: its time begins where it began before.
  commands.restart(first_use);
  const std::string cap = "laird/v1/lab/ctl/n-1/cmd/cap";
  const Command& forgotten = done[0];
  assert_reply(commands.send(forgotten), "refused", "this board's clock was set back");
  Command fresh = commands.command("cap", R"({"power_w": 7})");
  fresh.issued_ms = at_last / kMillisecond;
  fresh.expires_ms = fresh.issued_ms + 60'000;
  assert_refused(commands, "expired", "set the clocks of the operator and the board",
                 CommandedBoard::sealed(fresh), cap.c_str());
  commands.restart(at_last);
  assert_reply(commands.send(done.back()), "expired", "expired");
  assert_reply(commands.send(fresh), "ok", "cap");
  TEST_ASSERT_EQUAL_INT64(7'000, *commands.state().power.operator_cap_mw);
}

TEST(refuses_what_the_broker_kept) {
  CommandedBoard commands;
  assert_refused(commands, "refused", "retained", CommandedBoard::sealed(commands.command("drain")),
                 "laird/v1/lab/ctl/n-1/cmd/drain", true);
}

TEST(refuses_a_right_the_operator_does_not_have_and_a_verb_nobody_knows) {
  CommandedBoard commands;
  assert_refused(commands, "unauthorised", "may not 'cancel'",
                 CommandedBoard::sealed(commands.command("cancel", R"({"task": "a"})")),
                 "laird/v1/lab/ctl/n-1/cmd/cancel");
  assert_refused(commands, "invalid", "no command 'dance'",
                 CommandedBoard::sealed(commands.command("dance")),
                 "laird/v1/lab/ctl/n-1/cmd/dance");
}

TEST(refuses_what_is_meant_for_another_board_fleet_or_verb) {
  CommandedBoard commands;
  Command other = commands.command("drain");
  other.to = "n-2";
  assert_refused(commands, "refused", "n-2", CommandedBoard::sealed(other));
  other.to = "n-1";
  other.fleet = "field";
  assert_refused(commands, "refused", "field", CommandedBoard::sealed(other));
  assert_refused(commands, "refused", "signed as 'ping'",
                 CommandedBoard::sealed(commands.command("ping")));
}

TEST(refuses_what_is_longer_than_the_limit) {
  CommandedBoard commands;
  const Command ping = commands.command("ping");
  const std::string padded =
      CommandedBoard::sealed(ping) + std::string(mqtt::kPayloadBytesMax, ' ');
  assert_refused(commands, "invalid", "65536", padded, "laird/v1/lab/ctl/n-1/cmd/ping");
}

TEST(refuses_bodies_that_do_not_fit_their_verb) {
  CommandedBoard commands;
  const auto refused = [&commands](const char* verb, const char* body, const char* word) {
    const std::string topic = std::string("laird/v1/lab/ctl/n-1/cmd/") + verb;
    assert_refused(commands, "invalid", word, CommandedBoard::sealed(commands.command(verb, body)),
                   topic.c_str());
  };
  refused("submit", "{}", "submit: task: missing");
  refused("submit", R"({"task": {"name": "a"}})", "trainer");
  refused("cap", R"({"power_w": -3})", "above 0");
  refused("cap", R"({"power_w": "12"})", "above 0");
  refused("cap", R"({"power_w": 12, "for_s": 0.5})", "for_s");
}

TEST(an_answer_goes_only_where_the_client_may_read_it) {
  CommandedBoard commands;
  const Before before(commands.state());
  const std::uint64_t refused = commands.state().fleet.counters.commands_refused;
  const std::string ping = CommandedBoard::sealed(commands.command("drain"));
  for (const char* place : {"laird/v1/lab/node/n-1/status", "laird/v1/lab/res/op-alice/n-2",
                            "laird/v1/lab/ctl/n-1/cmd/x", "#"}) {
    commands.send(ping, "laird/v1/lab/ctl/n-1/cmd/drain", false, place);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, commands.answers.size(), place);
  }
  TEST_ASSERT_EQUAL_UINT64(refused + 4, commands.state().fleet.counters.commands_refused);
  TEST_ASSERT_TRUE(before == Before(commands.state()));
}

TEST(without_a_response_topic_a_command_is_done_in_silence) {
  CommandedBoard commands;
  commands.send(CommandedBoard::sealed(commands.command("drain")), "laird/v1/lab/ctl/n-1/cmd/drain",
                false, "");
  TEST_ASSERT_TRUE(commands.state().draining);
  TEST_ASSERT_EQUAL_UINT64(0, commands.answers.size());
}

TEST(a_flood_of_refusals_is_noted_thirty_times_a_minute) {
  CommandedBoard commands;
  const std::uint64_t before = commands.state().fleet.counters.commands_refused;
  for (int i = 0; i < 100; ++i) commands.send("{}", "laird/v1/lab/ctl/n-1/cmd/drain");
  TEST_ASSERT_EQUAL_UINT64(before + 30, commands.state().fleet.counters.commands_refused);
  commands.board.clock.pass(kMinute);
  commands.send("{}", "laird/v1/lab/ctl/n-1/cmd/drain");
  TEST_ASSERT_EQUAL_UINT64(before + 31, commands.state().fleet.counters.commands_refused);
}

TEST(a_plan_refused_by_a_clock_that_is_behind_is_taken_when_the_clock_is_set) {
  CommandedBoard commands;
  Command command = commands.command(
      "config", R"({"rev":2,"epoch":1,"founders":["n-1"],"members":{"n-1":{"power_w":2}},
                    "budget":{"power_w":30}})");
  command.to = "all";
  command.issued_ms += 60'000;
  command.expires_ms = 0;
  assert_reply(commands.send(CommandedBoard::sealed(command), "laird/v1/lab/ctl/all/config", true,
                             "laird/v1/lab/res/op-alice"),
               "expired", "in the future");
  commands.look_again();
  TEST_ASSERT_EQUAL_UINT64(0, commands.state().fleet.budget.rev);
  commands.board.clock.wall += 55 * kSecond;
  commands.look_again();
  TEST_ASSERT_EQUAL_UINT64(2, commands.state().fleet.budget.rev);
}

namespace {

// While it lives no file of this process grows or changes, as on a disk without room.
class FullDisk {
 public:
  FullDisk() : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    TEST_ASSERT_EQUAL_INT(0, ::getrlimit(RLIMIT_FSIZE, &before_));
    rlimit none = before_;
    none.rlim_cur = 0;
    TEST_ASSERT_EQUAL_INT(0, ::setrlimit(RLIMIT_FSIZE, &none));
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST(a_plan_that_came_while_the_disk_was_full_is_taken_when_there_is_room) {
  CommandedBoard commands;
  const auto send_plan = [&commands](int rev) {
    Command command = commands.command(
        "config", ("{\"rev\":" + std::to_string(rev) + R"(,"epoch":1,"founders":["n-1"],)" +
                   R"("members":{"n-1":{"power_w":2}},"budget":{"power_w":30}})")
                      .c_str());
    command.to = "all";
    command.expires_ms = 0;
    return commands.send(CommandedBoard::sealed(command), "laird/v1/lab/ctl/all/config", true,
                         "laird/v1/lab/res/op-alice");
  };
  Value met_full_disk;
  Value came_to_blocked_agent;
  {
    const FullDisk full;
    met_full_disk = send_plan(2);
    came_to_blocked_agent = send_plan(3);
    commands.look_again();
  }
  assert_reply(met_full_disk, "full", "journal cannot be written");
  assert_reply(came_to_blocked_agent, "full", "journal cannot be written");
  TEST_ASSERT_TRUE(commands.board.agent->journal_blocked());
  commands.look_again();
  TEST_ASSERT_EQUAL_UINT64(0, commands.state().fleet.budget.rev);
  // There is room again; the agent finds it at its next try, and the broker says nothing again.
  commands.board.clock.pass(2 * kSecond);
  TEST_ASSERT_TRUE(commands.board.loop->run_once(0).has_value());
  TEST_ASSERT_FALSE(commands.board.agent->journal_blocked());
  TEST_ASSERT_EQUAL_UINT64(0, commands.state().fleet.budget.rev);
  commands.look_again();
  TEST_ASSERT_EQUAL_UINT64(3, commands.state().fleet.budget.rev);
}

TEST(the_first_plan_that_met_a_full_disk_is_taken_when_there_is_room) {
  CommandedBoard commands;
  Command command = commands.command(
      "config", R"({"rev":2,"epoch":1,"founders":["n-1"],"members":{"n-1":{"power_w":2}},
                    "budget":{"power_w":30}})");
  command.to = "all";
  command.expires_ms = 0;
  {
    const FullDisk full;
    commands.send(CommandedBoard::sealed(command), "laird/v1/lab/ctl/all/config", true,
                  "laird/v1/lab/res/op-alice");
  }
  TEST_ASSERT_TRUE(commands.board.agent->journal_blocked());
  commands.board.clock.pass(2 * kSecond);
  TEST_ASSERT_TRUE(commands.board.loop->run_once(0).has_value());
  commands.look_again();
  TEST_ASSERT_EQUAL_UINT64(2, commands.state().fleet.budget.rev);
}

TEST(a_plan_may_be_retained_and_counts_by_its_revision) {
  CommandedBoard commands;
  const auto budget = [&commands](int rev, int watts) {
    Command command = commands.command("config", ("{\"rev\":" + std::to_string(rev) +
                                                  R"(,"epoch":1,"founders":["n-1"],"members":)"
                                                  R"({"n-1":{"power_w":2}},"budget":{"power_w":)" +
                                                  std::to_string(watts) + "}}")
                                                     .c_str());
    command.to = "all";
    command.expires_ms = 0;
    return commands.send(CommandedBoard::sealed(command), "laird/v1/lab/ctl/all/config", true,
                         "laird/v1/lab/res/op-alice");
  };
  assert_reply(budget(2, 30), "ok", "budget 2 in force");
  TEST_ASSERT_EQUAL_UINT64(2, commands.state().fleet.budget.rev);
  assert_reply(budget(2, 30), "ok", "in force already");
  assert_reply(budget(1, 99), "refused", "older than revision 2");
  assert_reply(budget(2, 99), "exists", "raise it");
  assert_reply(budget(3, 1), "invalid", "below the floors");
  TEST_ASSERT_EQUAL_INT64(30'000, commands.state().fleet.budget.total[2]);
}

TEST(retained_settings_are_refused) {
  CommandedBoard commands;
  const Command command = commands.command("node-config");
  const Before before(commands.state());
  assert_reply(commands.send(CommandedBoard::sealed(command), "laird/v1/lab/ctl/n-1/config"),
               "invalid", "settings are not retained");
  TEST_ASSERT_TRUE(before == Before(commands.state()));
}

TEST(questions_are_answered_without_a_trace) {
  CommandedBoard commands;
  const TimeNs stepped = commands.state().now;
  assert_reply(commands.send(commands.command("ping")), "ok", "here");
  const Value budget = commands.send(commands.command("get", R"({"what": "plan"})"));
  TEST_ASSERT_EQUAL_INT64(1, budget.find("data")->find("epoch")->as_integer());
  const Value bid = commands.send(
      commands.command("bid", R"({"task": {"name": "a", "trainer": "linear", "deadline": "5m",
                 "target_loss": 1, "memory": "20MB"}})"));
  TEST_ASSERT_TRUE(bid.find("data")->find("admits")->as_bool());
  assert_reply(commands.send(commands.command("get", R"({"what": "money"})")), "invalid",
               "\"events\"");
  assert_reply(commands.send(commands.command("bid")), "invalid", "bid: task: missing");
  TEST_ASSERT_EQUAL_INT64(stepped, commands.state().now);
  TEST_ASSERT_EQUAL_UINT64(0, commands.state().fleet.seen.size());
}
