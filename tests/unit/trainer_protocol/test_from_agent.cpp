#include "trainer_protocol/from_agent.hpp"

#include <array>
#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainer_protocol;

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
  const auto start = parse_from_agent(kStart);
  TEST_ASSERT_TRUE(start.has_value());
  const auto& s = std::get<Start>(*start);
  TEST_ASSERT_EQUAL_STRING("/d", s.folder.c_str());
  TEST_ASSERT_EQUAL_UINT64(5, s.report_every);
  TEST_ASSERT_EQUAL_HEX64(static_cast<std::uint64_t>(-3), s.seed);
  const auto run = parse_from_agent(R"({"type":"run","until":12})");
  TEST_ASSERT_EQUAL_UINT64(12, std::get<Run>(*run).until);
  TEST_ASSERT_TRUE(std::holds_alternative<Pause>(*parse_from_agent(R"({"type":"pause"})")));
  TEST_ASSERT_TRUE(
      std::holds_alternative<Checkpoint>(*parse_from_agent(R"({"type":"checkpoint"})")));
  TEST_ASSERT_TRUE(std::holds_alternative<Stop>(*parse_from_agent(R"({"type":"stop"})")));
}

TEST(refuses_what_is_no_message) {
  for (const char* bad :
       {"", "{", "[]", "null", "\"run\"", "{}", R"({"type":1})", R"({"type":"run"})",
        R"({"type":"run","until":-1})", R"({"type":"run","until":1.5})",
        R"({"type":"run","until":"9"})", R"({"type":"run","until":9007199254740993})",
        R"({"type":"run","until":1e400})", "{\"type\":\"stop\"}{\"type\":\"stop\"}", "\xff\xfe",
        "[[[[[[[[[[[[[[[[[[[[[[[[[["}) {
    const auto r = parse_from_agent(bad);
    TEST_ASSERT_FALSE_MESSAGE(r.has_value(), bad);
    TEST_ASSERT_TRUE_MESSAGE(r.error().code == Code::kInvalid, bad);
  }
  const auto unknown = parse_from_agent(R"({"type":"dance"})");
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
    const auto r = parse_from_agent(replaced(kStart, from, to));
    TEST_ASSERT_FALSE(r.has_value());
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(r.error().context.c_str(), why), why);
  }
}

namespace {

// As the splitter hands it on.
FromAgent reread(std::string line) {
  TEST_ASSERT_EQUAL_UINT64(line.size() - 1, line.find('\n'));
  line.pop_back();
  const auto message = parse_from_agent(line);
  TEST_ASSERT_TRUE_MESSAGE(message.has_value(), line.c_str());
  return *message;
}

}  // namespace

TEST(what_the_agent_writes_is_what_a_trainer_reads) {
  const json::Value params = *json::parse(R"({"text":"two\nlines"})", "params");
  const FromAgent start_read =
      reread(line_of(Start{"a", "/tmp/x", params, 7, ~0ULL, 3, "/tmp/before"}));
  const auto& start = std::get<Start>(start_read);
  TEST_ASSERT_EQUAL_STRING("a", start.task.c_str());
  TEST_ASSERT_EQUAL_STRING("/tmp/x", start.folder.c_str());
  TEST_ASSERT_EQUAL_STRING("two\nlines", start.params.find("text")->as_string().c_str());
  TEST_ASSERT_EQUAL_UINT64(7, start.report_every);
  TEST_ASSERT_EQUAL_HEX64(~0ULL, start.seed);
  TEST_ASSERT_EQUAL_INT(3, start.threads);
  TEST_ASSERT_EQUAL_STRING("/tmp/before", start.warm.c_str());
  TEST_ASSERT_EQUAL_UINT64(500, std::get<Run>(reread(line_of(Run{500}))).until);
  TEST_ASSERT_TRUE(std::holds_alternative<Pause>(reread(line_of(Pause{}))));
  TEST_ASSERT_TRUE(std::holds_alternative<Checkpoint>(reread(line_of(Checkpoint{}))));
  TEST_ASSERT_TRUE(std::holds_alternative<Stop>(reread(line_of(Stop{}))));
  TEST_ASSERT_EQUAL_STRING(
      "/a \"b\"/m.onnx", std::get<Export>(reread(line_of(Export{"/a \"b\"/m.onnx"}))).path.c_str());
  const FromAgent peers_read =
      reread(line_of(Peers{"n-1", 9, {{"n-2", PeerState::kDone}, {"n-3", PeerState::kLeft}}}));
  const auto& peers = std::get<Peers>(peers_read);
  TEST_ASSERT_EQUAL_STRING("n-1", peers.self.c_str());
  TEST_ASSERT_EQUAL_UINT64(9, peers.life);
  TEST_ASSERT_EQUAL_UINT64(2, peers.peers.size());
  TEST_ASSERT_EQUAL_STRING("n-2", peers.peers[0].node.c_str());
  TEST_ASSERT_TRUE(peers.peers[0].state == PeerState::kDone);
  TEST_ASSERT_TRUE(peers.peers[1].state == PeerState::kLeft);
  const std::string bytes(mqtt::kModelPartBytesMax, '\0');
  const FromAgent peer_read = reread(peer_line("n-2", bytes));
  TEST_ASSERT_EQUAL_STRING("n-2", std::get<Peer>(peer_read).from.c_str());
  TEST_ASSERT_TRUE(std::get<Peer>(peer_read).bytes == bytes);
}

TEST(the_lines_of_the_agent_are_as_documented) {
  TEST_ASSERT_EQUAL_STRING("{\"type\":\"run\",\"until\":500}\n", line_of(Run{500}).c_str());
  TEST_ASSERT_EQUAL_STRING("{\"type\":\"pause\"}\n", line_of(Pause{}).c_str());
}

TEST(an_export_needs_an_absolute_path) {
  for (const char* line : {R"({"type":"export"})", R"({"type":"export","path":"m.onnx"})",
                           R"({"type":"export","path":3})"}) {
    const auto r = parse_from_agent(line);
    TEST_ASSERT_TRUE(!r.has_value() && r.error().code == Code::kInvalid);
  }
}

TEST(what_the_meter_counted_goes_over_the_line) {
  Metered told;
  told.above_idle_j = 12.5;
  told.metered_s = 60.25;
  told.readings = 600;
  const auto read = [](const Metered& said) {
    const std::string line = line_of(said);
    const Result<FromAgent> message = parse_from_agent(line.substr(0, line.size() - 1));
    TEST_ASSERT_TRUE(message.has_value());
    return std::get<Metered>(*message);
  };
  TEST_ASSERT_EQUAL_DOUBLE(12.5, read(told).above_idle_j);
  TEST_ASSERT_EQUAL_DOUBLE(60.25, read(told).metered_s);
  TEST_ASSERT_EQUAL_UINT64(600, read(told).readings);
  told.problem = "no \"meter\"";
  TEST_ASSERT_EQUAL_STRING("no \"meter\"", read(told).problem.c_str());
  TEST_ASSERT_FALSE(parse_from_agent(R"({"type":"metered","readings":1})").has_value());
}
