#include <string>

#include "mqtt/codec/topics.hpp"
#include "tests/harness/unit.hpp"

using laird::mqtt::is_node_id;
using laird::mqtt::is_valid_filter;
using laird::mqtt::matches;
using laird::mqtt::parse_topic;
using laird::mqtt::reply_topic_for;
using laird::mqtt::Topic;
using laird::mqtt::TopicKind;

TEST(every_topic_of_the_tree_parses_and_comes_back_the_same) {
  const struct {
    const char* text;
    Topic topic;
  } all[] = {
      {"laird/v1/lab/node/n-1/status", {TopicKind::kStatus, "lab", "n-1", ""}},
      {"laird/v1/lab/node/n-1/info", {TopicKind::kInfo, "lab", "n-1", ""}},
      {"laird/v1/lab/node/n-1/report", {TopicKind::kReport, "lab", "n-1", ""}},
      {"laird/v1/lab/node/n-1/task/night-run", {TopicKind::kTask, "lab", "n-1", "night-run"}},
      {"laird/v1/lab/node/n-1/coop/n-2", {TopicKind::kCoop, "lab", "n-1", "n-2"}},
      {"laird/v1/lab/node/n-1/tele/power", {TopicKind::kTelemetry, "lab", "n-1", "power"}},
      {"laird/v1/lab/node/n-1/evt/deadline-miss",
       {TopicKind::kEvent, "lab", "n-1", "deadline-miss"}},
      {"laird/v1/lab/ctl/n-1/cmd/submit", {TopicKind::kCommand, "lab", "n-1", "submit"}},
      {"laird/v1/lab/ctl/all/cmd/drain", {TopicKind::kCommand, "lab", "all", "drain"}},
      {"laird/v1/lab/ctl/all/config", {TopicKind::kFleetConfig, "lab", "all", ""}},
      {"laird/v1/lab/ctl/n-1/config", {TopicKind::kNodeConfig, "lab", "n-1", ""}},
      {"laird/v1/lab/res/op-alice/n-1", {TopicKind::kReply, "lab", "n-1", "op-alice"}},
  };
  for (const auto& [text, topic] : all) {
    const auto parsed = parse_topic(text);
    TEST_ASSERT_TRUE_MESSAGE(parsed.has_value(), text);
    TEST_ASSERT_TRUE_MESSAGE(*parsed == topic, text);
    TEST_ASSERT_EQUAL_STRING(text, laird::mqtt::to_text(topic).c_str());
  }
}

TEST(whatever_is_not_in_the_tree_is_refused) {
  const char* const wrong[] = {
      "",
      "laird",
      "laird/v1/",
      "laird/v2/lab/node/n-1/status",
      "/laird/v1/lab/node/n-1/status",
      "laird/v1/lab/node/n-1/status/",
      "laird/v1/lab/node/n-1",
      "laird/v1/lab/node/all/status",
      "laird/v1/lab/node/N-1/status",
      "laird/v1/LAB/node/n-1/status",
      "laird/v1/lab/node/n-1/stat",
      "laird/v1/lab/node/n-1/task",
      "laird/v1/lab/node/n-1/task/",
      "laird/v1/lab/node/n-1/task/a/b",
      "laird/v1/lab/node/n-1/task/..",
      "laird/v1/lab/node/+/status",
      "laird/v1/lab/node/#",
      "laird/v1/lab/ctl/n-1/cmd",
      "laird/v1/lab/ctl/n-1/cmd/Submit",
      "laird/v1/lab/ctl/n-1/configs",
      "laird/v1/lab/ctl//config",
      "laird/v1/lab/res/op-alice",
      "laird/v1/lab/res/op-alice/all",
      "laird/v1/lab/res/op-alice/n-1/x",
      "laird/v1/lab/xyz/n-1/status",
      "laird/v1/lab/node/012345678901234567890123456789012/status",
      "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
      "laird/v1/lab/node/n-1/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
  };
  for (const char* text : wrong) TEST_ASSERT_FALSE_MESSAGE(parse_topic(text).has_value(), text);
  TEST_ASSERT_FALSE(parse_topic(std::string("laird/v1/lab/node/n-1/status\0", 29)).has_value());
  TEST_ASSERT_FALSE(parse_topic(std::string(70'000, 'a')).has_value());
}

TEST(nobody_is_called_all) {
  TEST_ASSERT_TRUE(is_node_id("n-1"));
  TEST_ASSERT_FALSE(is_node_id("all"));
  TEST_ASSERT_FALSE(is_node_id("-x"));
  TEST_ASSERT_FALSE(is_node_id(""));
}

TEST(a_board_answers_only_under_its_own_name) {
  TEST_ASSERT_EQUAL_STRING(
      "laird/v1/lab/res/op-alice/n-1",
      reply_topic_for("laird/v1/lab/res/op-alice/n-1", "lab", "n-1", false)->c_str());
  TEST_ASSERT_EQUAL_STRING(
      "laird/v1/lab/res/op-alice/n-1",
      reply_topic_for("laird/v1/lab/res/op-alice", "lab", "n-1", true)->c_str());
  const char* const wrong[] = {"laird/v1/lab/res/op-alice/n-2",
                               "laird/v1/other/res/op-alice/n-1",
                               "laird/v1/lab/ctl/n-2/cmd/submit",
                               "laird/v1/lab/node/n-1/status",
                               "laird/v1/lab/res/op-alice",
                               "laird/v1/lab/res/+/n-1",
                               "",
                               "#"};
  for (const char* place : wrong) {
    TEST_ASSERT_FALSE_MESSAGE(reply_topic_for(place, "lab", "n-1", false).has_value(), place);
  }
  TEST_ASSERT_FALSE(
      reply_topic_for("laird/v1/lab/res/op-alice/n-1", "lab", "n-1", true).has_value());
  TEST_ASSERT_FALSE(reply_topic_for("laird/v1/lab/node", "lab", "status", true).has_value());
}

TEST(filters_match_as_the_standard_says) {
  const struct {
    const char* filter;
    const char* topic;
    bool matched;
  } cases[] = {
      {"a/b", "a/b", true},       {"a/b", "a/b/c", false}, {"a/b/c", "a/b", false},
      {"a/+", "a/b", true},       {"a/+", "a", false},     {"a/+", "a/b/c", false},
      {"a/+/c", "a/b/c", true},   {"+/+", "/b", true},     {"+", "/b", false},
      {"/+", "/b", true},         {"#", "a/b/c", true},    {"a/#", "a", true},
      {"a/#", "a/b/c", true},     {"a/#", "ab", false},    {"a/+/#", "a/b", true},
      {"a/+/#", "a", false},      {"#", "$SYS/x", false},  {"+/x", "$SYS/x", false},
      {"$SYS/#", "$SYS/x", true}, {"a//b", "a//b", true},  {"a/+/b", "a//b", true},
      {"a/b/", "a/b", false},     {"a", "A", false},       {"a/#/b", "a/x/b", false},
      {"a+", "ab", false},        {"", "", false},         {"+/#", "a", true},
  };
  for (const auto& [filter, topic, matched] : cases) {
    const std::string what = std::string(filter) + " on " + topic;
    TEST_ASSERT_EQUAL_MESSAGE(matched, matches(filter, topic), what.c_str());
  }
  TEST_ASSERT_TRUE(is_valid_filter("laird/v1/lab/node/+/coop/n-1"));
  for (const char* filter : {"", "a#", "#/a", "a/+b", "a/b+/c", "##", "++"}) {
    TEST_ASSERT_FALSE_MESSAGE(is_valid_filter(filter), filter);
  }
}
