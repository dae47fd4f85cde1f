#include "promote/trtexec_words.hpp"

#include <csignal>
#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::promote;

TEST(the_version_is_read_from_the_first_line) {
  const auto text = [](const char* line) {
    const std::optional<Version> v = version_in(line);
    return v ? v->text() : "none";
  };
  TEST_ASSERT_EQUAL_STRING(
      "8.0.1", text("&&&& RUNNING TensorRT.trtexec [TensorRT v8001] # trtexec").c_str());
  TEST_ASSERT_EQUAL_STRING("8.5.2", text("[TensorRT v8502]").c_str());
  TEST_ASSERT_EQUAL_STRING("10.3.0", text("[TensorRT v100300] [b30]").c_str());
  TEST_ASSERT_EQUAL_STRING("10.13.3", text("[TensorRT v101303] [b9]").c_str());
  TEST_ASSERT_EQUAL_STRING("none", text("usage: trtexec").c_str());
  TEST_ASSERT_EQUAL_STRING("none", text("[TensorRT vNext]").c_str());
}

TEST(answers_of_the_named_output_are_read) {
  const Ports ports{"input", 4, "logits", 2};
  const char* text =
      R"([ { "name" : "probabilities" , "dimensions" : "2x2" , "values" : [1,1,1,1] },
                          { "name" : "logits" , "dimensions" : "2x2" , "values" : [1, -2.5, 3e-2, 4] } ])";
  const auto answers = parse_answers(text, ports, 2);
  TEST_ASSERT_TRUE(answers.has_value());
  TEST_ASSERT_EQUAL_FLOAT(-2.5F, (*answers)[1]);
  TEST_ASSERT_EQUAL_FLOAT(0.03F, (*answers)[2]);
}

TEST(answers_that_are_cut_short_or_no_numbers_are_refused) {
  const Ports ports{"input", 4, "logits", 2};
  for (const char* text : {"", "[]", "{}", R"([{"name":"logits","values":[1,2,3]}])",
                           R"([{"name":"logits","values":[1,2,3,nan]}])",
                           R"([{"name":"logits","values":[1,2,3,"4"]}])",
                           R"([{"name":"other","values":[1,2,3,4]}])"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_answers(text, ports, 2).has_value(), text);
  }
}

TEST(times_give_quantiles_and_rows_a_second) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) {
    text += (i == 0 ? "" : ",") + std::string("{\"startH2dMs\":") + std::to_string(2 * i) +
            ",\"endD2hMs\":" + std::to_string(2 * i + 2) +
            ",\"latencyMs\":" + std::to_string(1 + i) + "}";
  }
  const auto timing = parse_times(text + "]", 8);
  TEST_ASSERT_TRUE(timing.has_value());
  TEST_ASSERT_EQUAL_UINT32(100, timing->runs);
  TEST_ASSERT_EQUAL_DOUBLE(50'000.0, timing->latency_us_p50);
  TEST_ASSERT_EQUAL_DOUBLE(95'000.0, timing->latency_us_p95);
  TEST_ASSERT_EQUAL_DOUBLE(99'000.0, timing->latency_us_p99);
  TEST_ASSERT_EQUAL_DOUBLE(8 * 100 / 0.2, timing->rows_per_s);
  TEST_ASSERT_FALSE(parse_times("[]", 1).has_value());
}

TEST(a_failure_is_one_sentence) {
  const Error killed = failure_of("", -1, SIGKILL, "building fp16");
  TEST_ASSERT_TRUE(killed.code == Code::kFull);
  const Error other = failure_of("x\n[11/18] [E] Could not parse\nmore\n", 1, 0, "building fp32");
  TEST_ASSERT_EQUAL_STRING("trtexec failed while building fp32 (exit code 1): Could not parse",
                           other.context.c_str());
  TEST_ASSERT_TRUE(failure_of("No importer registered for op: Foo.", 1, 0, "x").code ==
                   Code::kInvalid);
}
