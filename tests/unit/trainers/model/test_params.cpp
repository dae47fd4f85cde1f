#include "trainers/model/params.hpp"

#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

std::string problems_of(Kind kind, std::string_view text, Params* out = nullptr) {
  const auto value = json::parse(text, "p.json");
  TEST_ASSERT_TRUE(value.has_value());
  std::vector<config::Problem> problems;
  const Params params = read_params(kind, *value, "p.json", problems);
  if (out != nullptr) *out = params;
  std::string all;
  for (const config::Problem& p : problems) all += p.text() + "\n";
  return all;
}

void expect(const std::string& all, const char* want) {
  TEST_ASSERT_TRUE_MESSAGE(all.find(want) != std::string::npos, (all + " lacks " + want).c_str());
}

}  // namespace

TEST(defaults_go_by_kind) {
  Params params;
  TEST_ASSERT_EQUAL_STRING(
      "", problems_of(Kind::kMlp, R"({"data":{"format":"synthetic"}})", &params).c_str());
  TEST_ASSERT_EQUAL_UINT64(1, params.hidden.size());
  TEST_ASSERT_EQUAL_UINT32(128, params.hidden[0]);
  TEST_ASSERT_EQUAL_DOUBLE(0.01, params.learning_rate);
  TEST_ASSERT_EQUAL_STRING(
      "", problems_of(Kind::kSvm, R"({"data":{"format":"synthetic"}})", &params).c_str());
  TEST_ASSERT_TRUE(params.hidden.empty());
}

TEST(every_problem_is_reported_at_once) {
  const std::string all = problems_of(Kind::kMlp, R"({"data":{"format":"idy"},
"learning_rat":1,
"batch":0,
"hidden":[0,"x"]})");
  expect(all, "p.json:1: /data/format: \"idy\" is not one of");
  expect(all, "p.json:2: /learning_rat: unknown key in params; did you mean \"learning_rate\"?");
  expect(all, "p.json:3: /batch: the value 0 is out of range; give 1 to 4096");
  expect(all, "p.json:4: /hidden/0");
  expect(all, "p.json:4: /hidden/1");
}

TEST(keys_of_another_format_or_kind_are_refused) {
  const std::string all = problems_of(
      Kind::kSoftmax,
      R"({"data":{"format":"idx","images":"a","rows":5},"hidden":[4],"target":"label"})");
  expect(all, "/data/labels: missing; format \"idx\" needs it");
  expect(all, "/data/rows: belongs to format \"synthetic\", not \"idx\"");
  expect(all, "/hidden: belongs to the trainer \"mlp\", not \"softmax\"");
  expect(all, "/target: belongs to the trainer \"linear\", not \"softmax\"");
}

TEST(contradictions_are_refused) {
  expect(problems_of(Kind::kSoftmax, R"({"data":{"format":"synthetic","classes":0}})"),
         "only the linear trainer");
  expect(problems_of(Kind::kSoftmax, R"({"data":{"format":"synthetic","classes":1}})"),
         "one class teaches nothing");
  expect(problems_of(Kind::kSvm, R"({"data":{"format":"synthetic"},"classes":[1,1]})"),
         "/classes/1: 1 is there twice");
  expect(problems_of(Kind::kSvm,
                     R"({"data":{"format":"synthetic","rows":20000000,"features":100000}})"),
         "needs more than 2 GiB");
}

TEST(the_reference_page_is_up_to_date) {
  const auto page = config::read_file(LAIRD_DOCS "/trainers.md", 1 << 20);
  TEST_ASSERT_TRUE(page.has_value());
  TEST_ASSERT_TRUE_MESSAGE(
      page->find(config::reference(params_schema())) != std::string::npos,
      "docs/trainers.md is behind: paste the output of `laird-train reference`");
}
