#include "trainers/protocol.hpp"

#include <array>
#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

namespace {

constexpr std::string_view kStart =
    R"({"type":"start","v":1,"task":"a","dir":"/d","params":{"x":1},"report_every":5,"seed":-3})";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  TEST_ASSERT_TRUE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

}  // namespace

TEST(reads_every_message) {
  const auto start = parse_message(kStart);
  TEST_ASSERT_TRUE(start.has_value());
  const auto& s = std::get<from_agent::Start>(*start);
  TEST_ASSERT_EQUAL_STRING("/d", s.folder.c_str());
  TEST_ASSERT_EQUAL_UINT64(5, s.report_every);
  TEST_ASSERT_EQUAL_HEX64(static_cast<std::uint64_t>(-3), s.seed);
  const auto run = parse_message(R"({"type":"run","until":12})");
  TEST_ASSERT_EQUAL_UINT64(12, std::get<from_agent::Run>(*run).until);
  TEST_ASSERT_TRUE(
      std::holds_alternative<from_agent::Pause>(*parse_message(R"({"type":"pause"})")));
  TEST_ASSERT_TRUE(
      std::holds_alternative<from_agent::Checkpoint>(*parse_message(R"({"type":"checkpoint"})")));
  TEST_ASSERT_TRUE(std::holds_alternative<from_agent::Stop>(*parse_message(R"({"type":"stop"})")));
}

TEST(refuses_what_is_no_message) {
  for (const char* bad :
       {"", "{", "[]", "null", "\"run\"", "{}", R"({"type":1})", R"({"type":"run"})",
        R"({"type":"run","until":-1})", R"({"type":"run","until":1.5})",
        R"({"type":"run","until":"9"})", R"({"type":"run","until":9007199254740993})",
        R"({"type":"run","until":1e400})", "{\"type\":\"stop\"}{\"type\":\"stop\"}", "\xff\xfe",
        "[[[[[[[[[[[[[[[[[[[[[[[[[["}) {
    const auto r = parse_message(bad);
    TEST_ASSERT_FALSE_MESSAGE(r.has_value(), bad);
    TEST_ASSERT_TRUE_MESSAGE(r.error().code == Code::kInvalid, bad);
  }
  const auto unknown = parse_message(R"({"type":"dance"})");
  TEST_ASSERT_TRUE(unknown.error().code == Code::kNotFound);
}

TEST(a_bad_start_says_which_field) {
  for (const auto& [from, to, why] : std::initializer_list<std::array<const char*, 3>>{
           {R"("v":1)", R"("v":2)", "start: \"v\""},
           {R"("dir":"/d")", R"("dir":"d")", "absolute path"},
           {R"("params":{"x":1})", R"("params":[])", "\"params\""},
           {R"("report_every":5)", R"("report_every":0)", "\"report_every\""},
           {R"("seed":-3)", R"("seed":0.5)", "\"seed\""},
           {R"("task":"a")", R"("task":3)", "\"task\""}}) {
    const auto r = parse_message(replaced(kStart, from, to));
    TEST_ASSERT_FALSE(r.has_value());
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(r.error().context.c_str(), why), why);
  }
}

TEST(writes_lines_as_documented) {
  TEST_ASSERT_EQUAL_STRING(
      "{\"type\":\"ready\",\"v\":1,\"samples\":0,\"loss\":null,\"resumed\":false,"
      "\"planned_samples\":null}\n",
      ready_line(0, std::nullopt, false, std::nullopt).c_str());
  TEST_ASSERT_EQUAL_STRING("{\"type\":\"progress\",\"samples\":5,\"loss\":0.5}\n",
                           progress_line(5, 0.5).c_str());
}

TEST(an_error_always_fits_its_line_and_stays_valid) {
  for (const char* unit : {"a", "\x01", "\xc3\xa9", "\"\\"}) {
    std::string message;
    while (message.size() < 20'000) message += unit;
    const std::string line = error_line(message);
    TEST_ASSERT_TRUE(line.size() <= kLineToAgentMax);
    TEST_ASSERT_TRUE(json::parse(line, "line").has_value());
  }
}
