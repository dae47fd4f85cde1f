#include "agent/settings/trial.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;

namespace {

Value cap(const char* text) {
  return Value::object().set("power", Value::object().set("cap", text));
}

RemoteSettings on_trial() {
  RemoteSettings old;
  old.rev = 4;
  old.settings = cap("10W");
  old.by = "op-bob";
  old.id = "c-0";
  return proposed(old, cap("15W"), "op-alice", "c-1", 30);
}

std::string text(const Value& v) { return json::to_text(v); }

}  // namespace

TEST(a_change_goes_on_trial_with_the_way_back) {
  const RemoteSettings trial = on_trial();
  TEST_ASSERT_EQUAL_UINT64(5, trial.rev);
  TEST_ASSERT_EQUAL_STRING(text(cap("15W")).c_str(), text(trial.settings).c_str());
  TEST_ASSERT_EQUAL_STRING(text(cap("10W")).c_str(), text(trial.trial->before).c_str());
  TEST_ASSERT_FALSE(trial.trial->begun);
}

TEST(the_first_start_uses_it_and_the_second_reverts) {
  const RemoteSettings first = at_start(on_trial());
  TEST_ASSERT_TRUE(first.trial->begun);
  TEST_ASSERT_EQUAL_STRING(text(cap("15W")).c_str(), text(first.settings).c_str());
  const RemoteSettings second = at_start(first);
  TEST_ASSERT_FALSE(second.trial.has_value());
  TEST_ASSERT_EQUAL_STRING(text(cap("10W")).c_str(), text(second.settings).c_str());
  TEST_ASSERT_EQUAL_UINT64(6, second.rev);
  TEST_ASSERT_EQUAL_STRING(
      "reverted the change by op-alice: the agent ended before anybody confirmed it",
      second.news.c_str());
  TEST_ASSERT_EQUAL_STRING(text(to_json(second)).c_str(), text(to_json(at_start(second))).c_str());
}

TEST(a_confirmation_ends_the_trial_once) {
  const RemoteSettings running = at_start(on_trial());
  const auto held = confirmed(running, "c-1", "op-alice");
  TEST_ASSERT_TRUE(held.has_value());
  TEST_ASSERT_FALSE(held->trial.has_value());
  TEST_ASSERT_EQUAL_STRING(text(cap("15W")).c_str(), text(at_start(*held).settings).c_str());
  const auto again = confirmed(*held, "c-1", "op-alice");
  TEST_ASSERT_EQUAL_INT(static_cast<int>(Code::kExists), static_cast<int>(again.error().code));
}

TEST(a_confirmation_before_the_restart_or_of_something_else_does_not_count) {
  TEST_ASSERT_EQUAL_INT(static_cast<int>(Code::kRefused),
                        static_cast<int>(confirmed(on_trial(), "c-1", "op").error().code));
  TEST_ASSERT_EQUAL_INT(
      static_cast<int>(Code::kNotFound),
      static_cast<int>(confirmed(at_start(on_trial()), "c-9", "op").error().code));
}

TEST(a_confirmation_after_the_revert_hears_why) {
  const RemoteSettings back = reverted(at_start(on_trial()), "no link");
  const auto late = confirmed(back, "c-1", "op-alice");
  TEST_ASSERT_EQUAL_STRING("reverted: no link", late.error().context.c_str());
}

TEST(it_survives_its_file) {
  RemoteSettings trial = at_start(on_trial());
  trial.news = "n";
  trial.reverted_id = "c-0";
  const auto back = remote_settings_from(to_json(trial));
  TEST_ASSERT_TRUE(back.has_value());
  TEST_ASSERT_EQUAL_STRING(text(to_json(trial)).c_str(), text(to_json(*back)).c_str());
  TEST_ASSERT_FALSE(remote_settings_from(Value::object()).has_value());
  TEST_ASSERT_FALSE(remote_settings_from(to_json(trial).set("s", "laird.overlay/2.0")));
  // A trial whose marks are lost counts as used: it reverts rather than runs again.
  const auto torn = remote_settings_from(to_json(trial).set("trial", Value::object()));
  TEST_ASSERT_FALSE(at_start(*torn).trial.has_value());
}
