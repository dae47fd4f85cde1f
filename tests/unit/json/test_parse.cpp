#include <string>

#include "json/value.hpp"
#include "tests/harness/unit.hpp"

using laird::json::Kind;
using laird::json::parse;
using laird::json::ParseLimits;
using laird::json::Value;

namespace {

std::string error_of(std::string_view text, const ParseLimits& limits = {}) {
  const auto r = parse(text, "f.json", limits);
  return r ? "" : r.error().context;
}

void assert_contains(const std::string& text, const char* part) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, text.c_str());
}

}  // namespace

TEST(keeps_the_line_of_each_value) {
  const auto r = parse("{\n \"a\": 1,\n \"b\": [\n  true,\n  \"x\"]\n}", "f.json");
  TEST_ASSERT_TRUE(r.has_value());
  TEST_ASSERT_EQUAL_INT(2, r->find("a")->line());
  TEST_ASSERT_EQUAL_INT(4, r->find("b")->items()[0].line());
  TEST_ASSERT_EQUAL_INT(5, r->find("b")->items()[1].line());
}

TEST(an_error_names_file_and_line) {
  assert_contains(error_of("{\n\"a\": 1,\n\"b\" 2}"), "f.json:3: not valid JSON near");
  assert_contains(error_of("{\"a\":"), "f.json:1:");
  assert_contains(error_of(""), "f.json:1:");
}

TEST(an_error_has_its_line_as_a_number) {
  TEST_ASSERT_EQUAL_INT(3, parse("{\n\"a\": 1,\n\"b\" 2}", "f:7.json").error().line);
  TEST_ASSERT_EQUAL_INT(2, parse("{\"a\": 1,\n\"a\": 2}", "f.json").error().line);
  ParseLimits small;
  small.bytes_max = 4;
  TEST_ASSERT_EQUAL_INT(0, parse("[1,2,3]", "f.json", small).error().line);
}

TEST(refuses_duplicate_keys_and_trailing_text) {
  // Also in a long object, where the two stand far apart.
  std::string many = "{\"first\":0";
  for (int i = 0; i < 5'000; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  assert_contains(error_of(many + ",\"first\":2}"), "\"first\" is there twice");
  assert_contains(error_of(many + ",\"k4999\":2}"), "\"k4999\" is there twice");
  TEST_ASSERT_TRUE(laird::json::parse(many + "}", "test").has_value());
  assert_contains(error_of("{\"a\":1,\"a\":2}"), "\"a\" is there twice");
  TEST_ASSERT_TRUE(!error_of("{} x").empty());
}

TEST(refuses_what_is_too_deep_or_too_large) {
  assert_contains(error_of(std::string(10000, '[')), "nested deeper than 32");
  ParseLimits small;
  small.bytes_max = 4;
  assert_contains(error_of("[1,2,3]", small), "the limit is 4");
  small = {};
  small.values_max = 2;
  assert_contains(error_of("[1,2,3]", small), "more than 2 values");
}

TEST(refuses_invalid_utf8_and_out_of_range_numbers) {
  TEST_ASSERT_TRUE(!error_of("\"\xff\"").empty());
  TEST_ASSERT_TRUE(!error_of("1e999").empty());
}

TEST(comments_only_where_they_are_allowed) {
  ParseLimits lenient;
  lenient.comments = true;
  TEST_ASSERT_EQUAL_STRING("", error_of("// hi\n{/* x */}", lenient).c_str());
  TEST_ASSERT_TRUE(!error_of("// hi\n{}").empty());
}

TEST(numbers_and_text_round_trip) {
  const char* text = R"({"i":-9223372036854775808,"d":0.1,"w":2.0,"s":"a\"\\\n\u0001é","n":null})";
  const auto r = parse(text, "f.json");
  TEST_ASSERT_TRUE(r.has_value());
  TEST_ASSERT_EQUAL_STRING(text, to_text(*r).c_str());
  TEST_ASSERT_TRUE(r->find("w")->is(Kind::kNumber));
  TEST_ASSERT_TRUE(r->find("i")->as_integer() == INT64_MIN);
}

TEST(looking_up_what_is_not_there_is_an_answer) {
  const Value v = Value::object().set("a", 1);
  TEST_ASSERT_NULL(v.find("b"));
  TEST_ASSERT_NULL(v.find("a", Kind::kString));
  TEST_ASSERT_NULL(Value::integer(3).find("a"));
}

TEST(plain_values_become_what_they_are) {
  const char* text = "text";
  const Value v = Value::array()
                      .add(true)
                      .add(-3)
                      .add(std::uint32_t{4'000'000'000})
                      .add(UINT64_MAX)
                      .add(2.0)
                      .add(0.5F)
                      .add(text)
                      .add(std::string("of its own"))
                      .add(std::string_view("seen"));
  TEST_ASSERT_EQUAL_STRING(
      R"([true,-3,4000000000,9223372036854775807,2.0,0.5,"text","of its own","seen"])",
      to_text(v).c_str());
  static_assert(!std::is_convertible_v<const int*, Value> && !std::is_convertible_v<char, Value> &&
                !std::is_convertible_v<Kind, Value> &&
                !std::is_convertible_v<std::nullptr_t, Value>);
}
