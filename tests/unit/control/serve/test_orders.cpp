#include "control/serve/orders.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control::serve;

namespace {

void assert_arguments(const char* wanted, const char* body) {
  const auto order = parse_order(body);
  TEST_ASSERT_TRUE_MESSAGE(order.has_value(), order ? "" : order.error().context.c_str());
  std::string all;
  for (const std::string& one : order->arguments) all += (all.empty() ? "" : " ") + one;
  TEST_ASSERT_EQUAL_STRING(wanted, all.c_str());
}

}  // namespace

TEST(an_order_becomes_the_verb_that_a_person_would_type) {
  assert_arguments("cancel a --node n-1 --yes", R"({"verb":"cancel","board":"n-1","task":"a"})");
  assert_arguments("pause a --node n-1", R"({"verb":"pause","board":"n-1","task":"a"})");
  assert_arguments("drain n-1 --yes", R"({"verb":"drain","board":"n-1"})");
  assert_arguments("cap set 15W --for 1h --node n-1",
                   R"({"verb":"cap","board":"n-1","power":"15W","for":"1h"})");
  assert_arguments("cap clear", R"({"verb":"cap","power":"clear"})");
  assert_arguments("submit -f - --any", R"({"verb":"submit","task":"{}"})");
  TEST_ASSERT_EQUAL_STRING("{}", parse_order(R"({"verb":"submit","task":"{}"})")->input.c_str());
}

TEST(what_could_be_taken_for_an_option_or_is_not_known_is_refused) {
  for (const char* bad :
       {"", "[]", "{}", R"({"verb":"purge","board":"n-1"})",
        R"({"verb":"cancel","board":"--all","task":"a"})",
        R"({"verb":"cancel","board":"n-1","task":"-y"})", R"({"verb":"cancel","task":"a"})",
        R"({"verb":"drain","board":""})", R"({"verb":"drain","board":7})",
        R"({"verb":"cap","power":"--budget"})", R"({"verb":"cap","power":"15"})",
        R"({"verb":"cap","power":"15W","for":"-y"})", R"({"verb":"submit"})",
        R"({"verb":"drain","board":"n-1","more":1})"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_order(bad).has_value(), bad);
  }
}
