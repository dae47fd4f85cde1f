#include "mqtt/codec/join.hpp"

#include <string>

#include "mqtt/codec/limits.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::mqtt;

namespace {

JoinAsk ask() { return {"lab", "1421023012345", "orin-nano-8gb", "A Jetson", "0.1.0"}; }

JoinAnswer admission() {
  JoinAnswer out;
  out.fleet = "lab";
  out.to = std::string(kFingerprintDigits, 'a');
  out.admitted = true;
  out.node = "n-7";
  out.cert = "PEM";
  out.config = json::Value::object().set("node", "n-7");
  return out;
}

bool refuses(JoinAsk changed) { return !parse_ask(to_signed_text(changed)).has_value(); }

}  // namespace

TEST(an_ask_and_an_answer_are_read_as_they_were_written) {
  const auto back = parse_ask(to_signed_text(ask()));
  TEST_ASSERT_TRUE_MESSAGE(back.has_value(), back ? "" : back.error().context.c_str());
  TEST_ASSERT_EQUAL_STRING("1421023012345", back->serial.c_str());
  TEST_ASSERT_EQUAL_STRING("orin-nano-8gb", back->module.c_str());
  const auto answer = parse_answer(to_signed_text(admission()));
  TEST_ASSERT_TRUE_MESSAGE(answer.has_value(), answer ? "" : answer.error().context.c_str());
  TEST_ASSERT_TRUE(answer->admitted);
  TEST_ASSERT_EQUAL_STRING("n-7", answer->node.c_str());
  TEST_ASSERT_EQUAL_STRING(R"({"node":"n-7"})", json::to_text(answer->config).c_str());
  JoinAnswer denial;
  denial.fleet = "lab";
  denial.to = std::string(kFingerprintDigits, '0');
  denial.why = "not ours";
  TEST_ASSERT_EQUAL_STRING("not ours", parse_answer(to_signed_text(denial))->why.c_str());
  const auto message = parse_ask_message(ask_message({"text \"\n", "key", "sig"}));
  TEST_ASSERT_EQUAL_STRING("text \"\n", message->text.c_str());
  TEST_ASSERT_EQUAL_STRING("key", message->key.c_str());
  TEST_ASSERT_EQUAL_STRING(
      "sig", parse_answer_message(answer_message({"t", {}, "sig"}))->signature.c_str());
}

TEST(a_serial_number_holds_nothing_that_steers_a_terminal_a_topic_or_a_shell) {
  for (const char* good : {"1", "1421023012345", "mac-00:1b:44:11:3a:b7", "A_b.c-D"}) {
    TEST_ASSERT_TRUE_MESSAGE(is_serial(good), good);
  }
  for (const char* bad :
       {"", " ", "a b", "a/b", "a\n", "\x1b[2J", "$(id)", "a;b", "\xc3\xa9", "a'b"}) {
    TEST_ASSERT_FALSE_MESSAGE(is_serial(bad), bad);
    JoinAsk changed = ask();
    changed.serial = bad;
    TEST_ASSERT_TRUE_MESSAGE(refuses(changed), bad);
  }
  TEST_ASSERT_TRUE(is_serial(std::string(64, 's')));
  TEST_ASSERT_FALSE(is_serial(std::string(65, 's')));
}

TEST(a_module_is_the_name_of_a_board_file_or_nothing) {
  JoinAsk changed = ask();
  changed.module = "../../etc/passwd";
  TEST_ASSERT_TRUE(refuses(changed));
  changed.module = "";
  TEST_ASSERT_FALSE(refuses(changed));
  changed.fleet = "Not A Fleet";
  TEST_ASSERT_TRUE(refuses(changed));
}

TEST(messages_that_are_too_long_or_of_another_form_are_refused) {
  TEST_ASSERT_FALSE(
      parse_ask_message(ask_message({std::string(kAskBytesMax, 'x'), "k", "s"})).has_value());
  TEST_ASSERT_FALSE(parse_ask_message(ask_message({"t", std::string(200, 'k'), "s"})).has_value());
  TEST_ASSERT_FALSE(parse_ask_message(ask_message({"t", "", "s"})).has_value());
  TEST_ASSERT_FALSE(parse_answer_message(std::string(kPayloadBytesMax + 1, ' ')).has_value());
  for (const char* text : {"", "{}", "[]", "null",
                           R"({"s":"laird.join-ask/2.0","signed":"","key":"aw==","sig":"aw=="})",
                           R"({"s":"laird.join-ask/1.0","signed":1,"key":"aw==","sig":"aw=="})",
                           R"({"s":"laird.join-ask/1.0","signed":"","key":"?","sig":"aw=="})"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_ask_message(text).has_value(), text);
  }
  JoinAnswer wrong = admission();
  wrong.node = "all";
  TEST_ASSERT_FALSE(parse_answer(to_signed_text(wrong)).has_value());
  wrong = admission();
  wrong.to = "short";
  TEST_ASSERT_FALSE(parse_answer(to_signed_text(wrong)).has_value());
  wrong = admission();
  wrong.config = json::Value();
  TEST_ASSERT_FALSE(parse_answer(to_signed_text(wrong)).has_value());
}

TEST(topics_of_joining_lie_in_a_branch_of_their_own) {
  TEST_ASSERT_EQUAL_STRING("laird/v1/lab/join/ask", join_ask_topic("lab").c_str());
  TEST_ASSERT_EQUAL_STRING("laird/v1/lab/join/answer/00ff",
                           join_answer_topic("lab", "00ff").c_str());
  TEST_ASSERT_EQUAL_UINT64(kFingerprintDigits, fingerprint_of("key").size());
}
