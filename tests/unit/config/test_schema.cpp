#include "config/schema.hpp"

#include <cstring>
#include <string>

#include "base/time.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::config;

namespace {

constexpr std::string_view kColours[] = {"red", "green"};
constexpr Field kPartFields[] = {
    {.name = "id", .type = Type::kName, .why = "Names the part."},
    {.name = "wait",
     .type = Type::kDuration,
     .why = "How long.",
     .fallback = "\"5s\"",
     .min = 1e9,
     .max = 60e9},
};
constexpr Schema kPart{"part", "A part.", kPartFields};
constexpr Field kRootFields[] = {
    {.name = "parts", .type = Type::kList, .why = "The parts.", .max = 3, .of = &kPart},
    {.name = "colour",
     .type = Type::kChoice,
     .why = "Looks.",
     .fallback = "\"red\"",
     .choices = kColours},
    {.name = "count",
     .type = Type::kInteger,
     .why = "How many.",
     .fallback = "2",
     .min = 1,
     .max = 10},
    {.name = "note", .type = Type::kText, .why = "Free.", .fallback = kOptional, .max = 10},
};
constexpr Schema kRoot{"root", "The whole.", kRootFields};

std::vector<Problem> problems_of(std::string_view text, json::Value* out = nullptr) {
  const auto parsed = json::parse(text, "x.json");
  TEST_ASSERT_TRUE(parsed.has_value());
  std::vector<Problem> problems;
  json::Value v = normalise(kRoot, *parsed, "x.json", problems);
  if (out != nullptr) *out = std::move(v);
  return problems;
}

}  // namespace

TEST(fills_in_defaults_and_normalises_units) {
  json::Value v;
  TEST_ASSERT_EQUAL_UINT64(
      0, problems_of(R"({"parts":[{"id":"a","wait":"2s"},{"id":"b"}]})", &v).size());
  TEST_ASSERT_EQUAL_INT64(2 * kSecond, v.find("parts")->items()[0].find("wait")->as_integer());
  TEST_ASSERT_EQUAL_INT64(5 * kSecond, v.find("parts")->items()[1].find("wait")->as_integer());
  TEST_ASSERT_EQUAL_STRING("red", v.find("colour")->as_string().c_str());
  TEST_ASSERT_NULL(v.find("note"));
}

TEST(reports_every_problem_at_once_with_place_and_remedy) {
  const auto p = problems_of(
      "{\n\"parts\": [\n{\"id\": \"A b\", \"wait\": \"2h\"},\n{\"wiat\": \"3s\"}],\n"
      "\"colour\": \"gren\",\n\"count\": 11,\n\"note\": \"longer than ten\"}");
  std::string all;
  for (const Problem& x : p) all += x.text() + "\n";
  for (const char* want :
       {"x.json:3: /parts/0/id: \"A b\" is no name",
        "x.json:3: /parts/0/wait: the value 2h is out of range; give 1s to 1m",
        "x.json:4: /parts/1/wiat: unknown key in part; did you mean \"wait\"?",
        "/parts/1/id: missing; Names the part.",
        "x.json:5: /colour: \"gren\" is not one of \"red\", \"green\"; did you mean \"green\"?",
        "x.json:6: /count: the value 11 is out of range; give 1 to 10",
        "x.json:7: /note: the length 15 is out of range"}) {
    TEST_ASSERT_TRUE_MESSAGE(all.find(want) != std::string::npos, (all + " lacks " + want).c_str());
  }
  TEST_ASSERT_EQUAL_UINT64(7, p.size());
}

TEST(a_wrong_kind_says_what_was_expected) {
  const auto p = problems_of(R"({"parts": {}, "count": "3"})");
  TEST_ASSERT_EQUAL_UINT64(2, p.size());
  TEST_ASSERT_EQUAL_STRING("expected an array, found an object", p[0].what.c_str());
  TEST_ASSERT_EQUAL_STRING("expected a whole number, found a string", p[1].what.c_str());
}

TEST(comments_and_dollar_keys_are_allowed_everywhere) {
  TEST_ASSERT_EQUAL_UINT64(
      0, problems_of(R"({"$schema":"x","parts":[{"id":"a","comment":"hi"}]})").size());
}

TEST(the_reference_lists_every_field_once) {
  const std::string page = reference(kRoot);
  TEST_ASSERT_TRUE(page.find("| `wait` | duration | `\"5s\"` | 1s to 1m | How long. |") !=
                   std::string::npos);
  TEST_ASSERT_TRUE(page.find("| `id` | name | required |  | Names the part. |") !=
                   std::string::npos);
}

TEST(a_list_of_integers_checks_each_one) {
  static constexpr Field kFields[] = {{.name = "sizes",
                                       .type = Type::kIntegers,
                                       .why = "Sizes.",
                                       .fallback = "[]",
                                       .min = 1,
                                       .max = 9}};
  static constexpr Schema kSizes{"sizes", "Sizes.", kFields};
  std::vector<Problem> problems;
  const auto good = json::parse(R"({"sizes":[1,9]})", "x");
  const json::Value v = normalise(kSizes, *good, "x", problems);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  TEST_ASSERT_EQUAL_INT64(9, v.find("sizes")->items()[1].as_integer());
  const auto bad = json::parse(R"({"sizes":[0, "a", 2]})", "x");
  (void)normalise(kSizes, *bad, "x", problems);
  TEST_ASSERT_EQUAL_UINT64(2, problems.size());
  TEST_ASSERT_EQUAL_STRING("/sizes/0", problems[0].path.c_str());
  TEST_ASSERT_EQUAL_STRING("/sizes/1", problems[1].path.c_str());
}

TEST(writes_a_file_whole_or_says_which_one_failed) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/page.html";
  TEST_ASSERT_TRUE(write_file(path, "a longer text").has_value());
  TEST_ASSERT_TRUE(write_file(path, "shorter").has_value());
  TEST_ASSERT_EQUAL_STRING("shorter", read_file(path, 100)->c_str());
  const Status nowhere = write_file(path + "/below-a-file", "x");
  TEST_ASSERT_FALSE(nowhere.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(nowhere.error().text().c_str(), "below-a-file"));
  // The text fits the buffer, so that only closing finds the disk full.
  TEST_ASSERT_FALSE(write_file("/dev/full", "x").has_value());
}
