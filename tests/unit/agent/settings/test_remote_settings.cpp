#include "agent/settings/remote_settings.hpp"

#include "agent/settings/settings.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Value;

namespace {

Value parsed(const char* text) {
  auto value = json::parse(text, "test");
  TEST_ASSERT_TRUE_MESSAGE(value.has_value(), text);
  return *value;
}

void assert_json(const char* expected, const Value& value) {
  TEST_ASSERT_EQUAL_STRING(expected, json::to_text(value).c_str());
}

std::string keys(const std::vector<Change>& list) {
  std::string out;
  for (const Change& change : list) out += change.key + " ";
  return out;
}

}  // namespace

TEST(objects_merge_and_everything_else_replaces) {
  const Value base = parsed(R"({"a":1,"b":{"c":[1,2],"d":"x"}})");
  assert_json(R"({"a":1,"b":{"c":[3],"d":"x"},"e":true})",
              layered(base, parsed(R"({"b":{"c":[3]},"e":true})")));
  assert_json(R"({"a":1,"b":{"c":[1,2],"d":"x"}})", layered(base, Value::object()));
}

TEST(null_takes_away_what_the_file_says) {
  assert_json(R"({"b":{"d":1}})", layered(parsed(R"({"a":1,"b":{"c":2,"d":1}})"),
                                          parsed(R"({"a":null,"b":{"c":null},"x":null})")));
}

TEST(sameness_is_of_values_not_of_writing) {
  TEST_ASSERT_TRUE(same(parsed(R"({"a":1,"b":2.0})"), parsed(R"({"b":2,"a":1.0,"comment":"x"})")));
  TEST_ASSERT_FALSE(same(parsed(R"({"a":1})"), parsed(R"({"a":1,"b":2})")));
  TEST_ASSERT_FALSE(same(parsed(R"([1,2])"), parsed(R"([2,1])")));
  TEST_ASSERT_FALSE(same(parsed("\"1\""), parsed("1")));
}

TEST(only_what_differs_from_the_file_is_kept) {
  const Value base = parsed(R"({"node":"n-1","power":{"cap":"15W","every":"1s"}})");
  assert_json(R"({"power":{"every":"2s"}})",
              differing(base, parsed(R"({"node":"n-1","power":{"cap":"15W","every":"2s"}})")));
  assert_json("{}", differing(base, parsed(R"({"power":{"cap":"15W"},"slice":null})")));
  assert_json(R"({"power":{"cap":null}})", differing(base, parsed(R"({"power":{"cap":null}})")));
}

TEST(changes_are_listed_setting_by_setting) {
  const auto list = changes(parsed(R"({"a":{"b":1,"c":[1]},"d":1,"comment":"x"})"),
                            parsed(R"({"a":{"b":2,"c":[1]},"e":{"f":{"g":0}}})"));
  TEST_ASSERT_EQUAL_STRING("a.b d e.f.g ", keys(list).c_str());
  TEST_ASSERT_TRUE(list[1].to.is(json::Kind::kNull));
}

TEST(a_section_that_goes_away_is_the_change_of_all_in_it) {
  const Value before = parsed(R"({"power":{"helper":["x"],"cap":"15W"}})");
  TEST_ASSERT_EQUAL_STRING("power.helper power.cap ", keys(changes(before, parsed("{}"))).c_str());
  TEST_ASSERT_EQUAL_STRING("power.helper power.cap power ",
                           keys(changes(before, parsed(R"({"power":3})"))).c_str());
  TEST_ASSERT_EQUAL_STRING("trainers ",
                           keys(changes(parsed("{}"), parsed(R"({"trainers":{}})"))).c_str());
}

TEST(keys_name_settings) {
  Value v = parsed(R"({"a":{"b":1},"c":2})");
  TEST_ASSERT_EQUAL_INT64(1, find_key(v, "a.b")->as_integer());
  TEST_ASSERT_NULL(find_key(v, "a.x"));
  TEST_ASSERT_TRUE(set_key(v, "a.d.e", Value::integer(5)).has_value());
  TEST_ASSERT_FALSE(set_key(v, "c.x", Value::integer(5)).has_value());
  TEST_ASSERT_FALSE(set_key(v, "a..x", Value::integer(5)).has_value());
  TEST_ASSERT_FALSE(set_key(v, "", Value::integer(5)).has_value());
  assert_json(R"({"a":{"b":1,"d":{"e":5}},"c":2})", v);
  erase_key(v, "a.d.e");
  erase_key(v, "nothing.here");
  assert_json(R"({"a":{"b":1},"c":2})", v);
}

TEST(every_setting_is_open_or_locked_with_a_reason_of_its_own) {
  const auto decided = [](const std::string& key) {
    const std::string_view why = why_locked(key);
    return why.find("not among") == std::string_view::npos;
  };
  for (const config::Field& field : settings_schema().fields) {
    const std::string key(field.name);
    const bool sectioned = key == "board" || key == "power" || key == "fleet";
    if (!sectioned) {
      TEST_ASSERT_TRUE_MESSAGE(decided(key), key.c_str());
      continue;
    }
    for (const config::Field& below : field.of->fields) {
      TEST_ASSERT_TRUE_MESSAGE(decided(key + "." + std::string(below.name)), below.name.data());
    }
  }
}

TEST(what_would_give_more_than_the_right_to_configure_is_locked) {
  for (const char* key : {"node", "state_dir", "control_socket", "trainers", "trainers.x.exec",
                          "power.helper", "power.file", "board.name", "fleet.operators",
                          "fleet.tls.key", "fleet.tls", "fleet.insecure_lab", "fleet.name", "tasks",
                          "fleet", "power", "journal.total_max", "something.new"}) {
    TEST_ASSERT_FALSE_MESSAGE(why_locked(key).empty(), key);
  }
  for (const char* key : {"power.cap", "timing.stop_grace", "fleet.brokers", "policy"}) {
    TEST_ASSERT_TRUE_MESSAGE(why_locked(key).empty(), key);
  }
  TEST_ASSERT_FALSE(why_locked("policyx").empty());
}

TEST(environment_values_and_comments_are_not_shown) {
  assert_json(
      R"~({"trainers":{"t":{"exec":["x"],"env":{"TOKEN":"(hidden)"}}}})~",
      shown(parsed(R"({"comment":"c","trainers":{"t":{"exec":["x"],"env":{"TOKEN":"s"}}}})")));
}
