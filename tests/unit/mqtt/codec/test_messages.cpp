#include <string>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/limits.hpp"
#include "mqtt/codec/messages.hpp"
#include "tests/harness/unit.hpp"

using laird::json::Value;
using laird::mqtt::from_base64;
using laird::mqtt::NodeState;
using laird::mqtt::parse_time_ms;
using laird::mqtt::time_text;
using laird::mqtt::to_base64;

TEST(base64_has_the_vectors_of_rfc_4648_and_no_second_way_to_say_a_thing) {
  const struct {
    const char* bytes;
    const char* text;
  } vectors[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    TEST_ASSERT_EQUAL_STRING(text, to_base64(bytes).c_str());
    TEST_ASSERT_EQUAL_STRING(bytes, from_base64(text)->c_str());
  }
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zm9v====", "Z===", "Zm-_",
                            "Zm9v\n", "=Zm9", "Z=m9", " Zg=", "Zg==Zg=="}) {
    TEST_ASSERT_FALSE_MESSAGE(from_base64(wrong).has_value(), wrong);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (std::size_t n = 0; n <= all.size(); ++n) {
    TEST_ASSERT_TRUE(*from_base64(to_base64(all.substr(0, n))) == all.substr(0, n));
  }
}

TEST(times_are_written_as_people_read_them) {
  TEST_ASSERT_EQUAL_STRING("1970-01-01T00:00:00.000Z", time_text(0).c_str());
  TEST_ASSERT_EQUAL_STRING("2000-02-29T12:34:56.789Z", time_text(951'827'696'789).c_str());
  TEST_ASSERT_EQUAL_STRING("2026-11-16T05:56:45.007Z", time_text(1'794'808'605'007).c_str());
  TEST_ASSERT_EQUAL_STRING("2100-02-28T23:59:59.999Z", time_text(4'107'542'399'999).c_str());
  TEST_ASSERT_EQUAL_STRING("2100-03-01T00:00:00.000Z", time_text(4'107'542'400'000).c_str());
  TEST_ASSERT_EQUAL_STRING("1970-01-01T00:00:00.000Z", time_text(-5).c_str());
  TEST_ASSERT_EQUAL_STRING("9999-12-31T23:59:59.999Z", time_text(INT64_MAX).c_str());
}

TEST(a_status_says_state_and_epoch_and_comes_back) {
  const std::string text =
      laird::mqtt::to_text(laird::mqtt::NodeStatus{NodeState::kDraining, 7, 1'794'808'605'007});
  TEST_ASSERT_EQUAL_STRING(
      R"({"s":"laird.status/1.0","state":"draining","epoch":7,"ts":"2026-11-16T05:56:45.007Z"})",
      text.c_str());
  const auto parsed = laird::mqtt::parse_status(text);
  TEST_ASSERT_TRUE(parsed.has_value());
  TEST_ASSERT_TRUE(parsed->state == NodeState::kDraining);
  TEST_ASSERT_EQUAL_UINT64(7, parsed->epoch);
  for (const char* wrong : {R"({"s":"laird.status/1.0","state":"fine","epoch":7})",
                            R"({"s":"laird.status/1.0","state":"ready","epoch":-7})",
                            R"({"s":"laird.status/1.0","state":"ready"})",
                            R"({"s":"laird.status/2.0","state":"ready","epoch":7})",
                            R"({"s":"laird.info/1.0","state":"ready","epoch":7})"}) {
    TEST_ASSERT_FALSE_MESSAGE(laird::mqtt::parse_status(wrong).has_value(), wrong);
  }
}

TEST(a_reply_comes_back_with_its_data) {
  laird::mqtt::Reply reply;
  reply.id = "c-1";
  reply.node = "n-1";
  reply.code = laird::mqtt::ReplyCode::kFull;
  reply.text = "the queue is full";
  reply.data = Value::object().set("tasks", 1024);
  const std::string text = laird::mqtt::to_text(reply);
  TEST_ASSERT_EQUAL_STRING(
      R"({"s":"laird.reply/1.0","id":"c-1","node":"n-1","ok":false,"code":"full","text":"the queue is full","data":{"tasks":1024}})",
      text.c_str());
  const auto parsed = laird::mqtt::parse_reply(text);
  TEST_ASSERT_TRUE(parsed.has_value());
  TEST_ASSERT_TRUE(parsed->code == laird::mqtt::ReplyCode::kFull);
  TEST_ASSERT_EQUAL_INT64(1024, parsed->data.find("tasks")->as_integer());
  TEST_ASSERT_FALSE(laird::mqtt::parse_reply(R"({"s":"laird.reply/1.0","id":"c"})").has_value());
}

TEST(an_event_keeps_its_own_fields_whatever_is_added) {
  laird::mqtt::NodeEvent event;
  event.epoch = 3;
  event.seq = 9;
  event.unix_ms = 1'794'808'605'007;
  event.kind = "task";
  event.text = "night-run succeeded";
  event.historical = true;
  event.more = Value::object().set("task", "night-run").set("epoch", 99);
  TEST_ASSERT_EQUAL_STRING(
      R"({"s":"laird.event/1.0","epoch":3,"seq":9,"ts":"2026-11-16T05:56:45.007Z","kind":"task","text":"night-run succeeded","hist":true,"task":"night-run"})",
      laird::mqtt::to_text(event).c_str());
}

TEST(a_report_speaks_in_watts_cores_and_joules) {
  laird::mqtt::NodeReport report;
  report.power_mw.enforced = 12'500;
  report.cpu_milli.enforced = 1'500;
  report.gpu_ppm.parts = 250'000'000'000;
  report.power_mw_now = 9'000;
  report.energy_mj = 123'456;
  report.fence_in_ms = 14'250;
  report.gpu_ppm.enforced = -1;
  const auto value = laird::mqtt::to_json(report);
  const auto* shares = value.find("shares");
  TEST_ASSERT_EQUAL_DOUBLE(12.5, shares->find("power")->find("enforced_w")->as_double());
  TEST_ASSERT_EQUAL_INT64(1'500, shares->find("cpu")->find("enforced_milli")->as_integer());
  TEST_ASSERT_EQUAL_INT64(250'000'000'000, shares->find("gpu")->find("parts")->as_integer());
  TEST_ASSERT_EQUAL_DOUBLE(9.0, value.find("power_w")->as_double());
  report.power_mw_now.reset();
  TEST_ASSERT_TRUE(laird::mqtt::to_json(report).find("power_w")->is(laird::json::Kind::kNull));
  TEST_ASSERT_EQUAL_DOUBLE(123.456, value.find("energy_j")->as_double());
  TEST_ASSERT_EQUAL_DOUBLE(14.25, value.find("fence_in_s")->as_double());
  TEST_ASSERT_TRUE(value.find("cap_w")->is(laird::json::Kind::kNull));
  TEST_ASSERT_TRUE(shares->find("gpu")->find("enforced_ppm")->is(laird::json::Kind::kNull));
  TEST_ASSERT_TRUE(shares->find("power")->find("demand_w")->is(laird::json::Kind::kNull));
  report.power_mw.demand = 17'250;
  report.tasks_throttled = 2;
  const auto asked = laird::mqtt::to_json(report);
  TEST_ASSERT_EQUAL_DOUBLE(17.25,
                           asked.find("shares")->find("power")->find("demand_w")->as_double());
  TEST_ASSERT_EQUAL_INT64(2, asked.find("tasks")->find("throttled")->as_integer());
}

TEST(times_are_read_back_as_they_are_written) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{951'782'400'123},
                                std::int64_t{1'794'811'802'417}, laird::mqtt::kUnixMsMax}) {
    TEST_ASSERT_TRUE(parse_time_ms(time_text(ms)) == ms);
  }
  for (const char* bad : {"", "2026-11-16T05:56:45Z", "2026-13-16T05:56:45.123Z",
                          "2026-11-16 05:56:45.123Z", "abcd-11-16T05:56:45.123Z"}) {
    TEST_ASSERT_FALSE(parse_time_ms(bad).has_value());
  }
}
