#include "trainer_protocol/to_agent.hpp"

#include <bit>
#include <string>

#include "json/value.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainer_protocol;
using Type = TrainerMessage::Type;

TEST(every_message_of_the_protocol_is_read) {
  auto m = parse_trainer_line(
      R"({"type":"ready","v":1,"samples":10,"loss":null,"planned_samples":600})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kReady);
  TEST_ASSERT_EQUAL_UINT64(10, m->samples);
  TEST_ASSERT_EQUAL_UINT64(600, m->planned_samples);
  m = parse_trainer_line(R"({"type":"progress","samples":20,"loss":0.5})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kProgress && m->loss == 0.5);
  m = parse_trainer_line(R"({"type":"checkpointed","samples":20,"loss":0.5})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kCheckpointed);
  m = parse_trainer_line(R"({"type":"done","samples":20,"loss":0.5})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kDone);
  m = parse_trainer_line(R"({"type":"error","message":"no data"})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kError);
  TEST_ASSERT_EQUAL_STRING("no data", m->text.c_str());
}

TEST(what_does_not_fit_is_refused) {
  for (const char* bad :
       {"", "{}", "[]", "nonsense", R"({"type":"progress","samples":-1,"loss":1})",
        R"({"type":"progress","samples":1.5,"loss":1})", R"({"type":"progress","samples":1})",
        R"({"type":"progress","samples":1,"loss":"0.5"})",
        R"({"type":"progress","samples":1,"loss":1e999})",
        R"({"type":"progress","samples":9007199254740993,"loss":1})",
        R"({"type":"ready","samples":1})", R"({"type":"ready","v":2,"samples":1})",
        R"({"type":"dance","samples":1})", "{\"type\":\"\xff\"}"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_trainer_line(bad).has_value(), bad);
  }
  TEST_ASSERT_FALSE(parse_trainer_line(std::string(5000, '[')).has_value());
}

// Most lines are plain progress and are read without a tree; what that reads, and what it leaves to
// the parser, must come out as the parser has it. A key nobody knows sends a line to the parser.
TEST(a_plain_progress_line_is_read_as_the_parser_reads_it) {
  const std::string counts[] = {"0",
                                "20",
                                "9007199254740992",
                                "9007199254740993",
                                "-1",
                                "01",
                                "1.",
                                "1e3",
                                "1.0",
                                "",
                                "18446744073709551616",
                                "+1",
                                "0x1"};
  const std::string losses[] = {"0.5",
                                "0",
                                "-0",
                                "-0.5",
                                "3",
                                "1e-3",
                                "1E+05",
                                "1.",
                                "1.e5",
                                ".5",
                                "01",
                                "1e",
                                "1e999",
                                "1e-999",
                                "4.9e-324",
                                "0.1e",
                                "NaN",
                                "inf",
                                "\"0.5\"",
                                "null",
                                "1 2",
                                "2.2250738585072011e-308",
                                "123456789012345678901234567890"};
  int read = 0;
  for (const std::string& count : counts) {
    for (const std::string& loss : losses) {
      for (const char* form : {R"({"type":"progress","samples":S,"loss":L})",
                               R"( { "loss" : L , "type": "progress", "samples":S } )",
                               R"({"type":"progress","samples":S,"loss":L)",
                               R"({"type":"progress","samples":S,"loss":L}})",
                               R"({"type":"progress","samples":S,"loss":L,})",
                               R"({"type":"progress","samples":S,"samples":2,"loss":L})",
                               R"({"type":"progress","loss":L,"loss":L,"samples":S})",
                               R"({"type":"done","samples":S,"loss":L})"}) {
        std::string line = form;
        for (std::size_t at; (at = line.find(":S")) != line.npos;) line.replace(at + 1, 1, count);
        for (std::size_t at; (at = line.find('L')) != line.npos;) line.replace(at, 1, loss);
        std::string parsed = line;
        parsed.insert(parsed.find('{') + 1, R"("x":0,)");
        const auto plain = parse_trainer_line(line);
        const auto slow = parse_trainer_line(parsed);
        TEST_ASSERT_EQUAL_MESSAGE(slow.has_value(), plain.has_value(), line.c_str());
        if (!plain) continue;
        ++read;
        TEST_ASSERT_TRUE_MESSAGE(plain->type == slow->type, line.c_str());
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(slow->samples, plain->samples, line.c_str());
        TEST_ASSERT_EQUAL_HEX64_MESSAGE(std::bit_cast<std::uint64_t>(slow->loss),
                                        std::bit_cast<std::uint64_t>(plain->loss), line.c_str());
      }
    }
  }
  TEST_ASSERT_TRUE(read > 50);
}

TEST(progress_lines_of_trainers_that_cannot_cooperate) {
  const auto m = parse_progress_line("laird: samples=1200 loss=0.35");
  TEST_ASSERT_TRUE(m.has_value());
  TEST_ASSERT_EQUAL_UINT64(1200, m->samples);
  TEST_ASSERT_EQUAL_DOUBLE(0.35, m->loss);
  for (const char* other :
       {"epoch 3", "laird: samples=x loss=1", "laird: samples=1 loss=nan",
        "laird: samples=1 loss=", "laird: samples=1 loss=1 x", " laird: samples=1 loss=1"}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_progress_line(other).has_value(), other);
  }
}

TEST(only_a_share_may_be_a_long_line) {
  const std::string data(60'000, 'A');
  auto m = parse_trainer_line(R"({"type":"share","to":"*","data":")" + data + R"("})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kToPeers && m->to.empty());
  TEST_ASSERT_EQUAL_UINT64(45'000, m->bytes.size());
  TEST_ASSERT_FALSE(parse_trainer_line(R"({"type":"share","to":"*","data":")" +
                                       std::string(62'000, 'A') + R"("})"));
  m = parse_trainer_line(R"({"type":"share","to":"n-2","data":"YWJj"})");
  TEST_ASSERT_TRUE(m.has_value() && m->to == "n-2" && m->bytes == "abc");
  TEST_ASSERT_FALSE(
      parse_trainer_line(R"({"type":"error","message":")" + std::string(5000, 'x') + R"("})"));
  TEST_ASSERT_FALSE(
      parse_trainer_line(R"({"type":"share","to":"*","data":")" + data + data + R"("})"));
  for (const char* bad :
       {R"({"type":"share","to":"*"})", R"({"type":"share","data":"YWJj"})",
        R"({"type":"share","to":"../x","data":"YWJj"})", R"({"type":"share","to":"*","data":""})",
        R"({"type":"share","to":"*","data":"?"})"}) {
    TEST_ASSERT_FALSE(parse_trainer_line(bad).has_value());
  }
}

TEST(a_yield_is_bounded) {
  const auto m = parse_trainer_line(R"({"type":"yield","for_ms":20})");
  TEST_ASSERT_TRUE(m.has_value() && m->type == Type::kYield && m->for_ns == 20'000'000);
  for (const char* bad :
       {R"({"type":"yield"})", R"({"type":"yield","for_ms":0})",
        R"({"type":"yield","for_ms":1001})", R"({"type":"yield","for_ms":"x"})"}) {
    TEST_ASSERT_FALSE(parse_trainer_line(bad).has_value());
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

TEST(what_a_trainer_writes_is_what_the_agent_reads) {
  const auto reread = [](std::string line) {
    TEST_ASSERT_EQUAL_UINT64(line.size() - 1, line.find('\n'));
    line.pop_back();
    const auto message = parse_trainer_line(line);
    TEST_ASSERT_TRUE_MESSAGE(message.has_value(), line.c_str());
    return *message;
  };
  const TrainerMessage ready = reread(ready_line(5, 0.5, true, 600));
  TEST_ASSERT_TRUE(ready.type == Type::kReady && ready.samples == 5);
  TEST_ASSERT_EQUAL_UINT64(600, ready.planned_samples);
  TEST_ASSERT_EQUAL_UINT64(
      0, reread(ready_line(0, std::nullopt, false, std::nullopt)).planned_samples);
  const TrainerMessage progress = reread(progress_line(kSamplesMax, 0.1));
  TEST_ASSERT_TRUE(progress.type == Type::kProgress && progress.samples == kSamplesMax);
  TEST_ASSERT_TRUE(progress.loss == 0.1);
  TEST_ASSERT_TRUE(reread(checkpointed_line(5, std::nullopt)).type == Type::kCheckpointed);
  TEST_ASSERT_TRUE(reread(done_line(5, 0.5)).type == Type::kDone);
  TEST_ASSERT_EQUAL_STRING("no \"data\"", reread(error_line("no \"data\"")).text.c_str());
  TEST_ASSERT_EQUAL_INT64(kYieldMax, reread(yield_line(kYieldMax)).for_ns);
  const std::string bytes(mqtt::kModelPartBytesMax, '\xff');
  const TrainerMessage share = reread(share_line("", bytes));
  TEST_ASSERT_TRUE(share.type == Type::kToPeers && share.to.empty() && share.bytes == bytes);
  TEST_ASSERT_EQUAL_STRING("n-2", reread(share_line("n-2", "abc")).to.c_str());
}

TEST(what_a_trainer_says_of_an_export_is_read_back) {
  const auto reread_exported = [](const Exported& said) {
    std::string line = exported_line(said);
    TEST_ASSERT_TRUE(line.size() <= kLineToAgentMax && line.back() == '\n');
    line.pop_back();
    const auto read = parse_exported_line(line);
    TEST_ASSERT_TRUE_MESSAGE(read.has_value(), line.c_str());
    return *read;
  };
  const Exported good = reread_exported({"/t/m.onnx", std::string(64, 'a'), 12, 900, ""});
  TEST_ASSERT_EQUAL_STRING("/t/m.onnx", good.path.c_str());
  TEST_ASSERT_EQUAL_STRING(std::string(64, 'a').c_str(), good.sha256.c_str());
  TEST_ASSERT_TRUE(good.bytes == 12 && good.samples == 900 && good.problem.empty());
  const Exported bad = reread_exported({"", "", 0, 5, "no \"room\""});
  TEST_ASSERT_EQUAL_STRING("no \"room\"", bad.problem.c_str());
  TEST_ASSERT_TRUE(reread_exported({"", "", 0, 5, std::string(9000, '"')}).problem.size() < 4096);
}

TEST(an_exported_line_that_lacks_something_is_refused) {
  for (const char* line : {R"({"type":"progress","samples":1,"loss":1})", R"({"type":"exported"})",
                           R"({"type":"exported","samples":1,"path":"/a","sha256":"12","bytes":1})",
                           R"({"type":"exported","samples":1,"path":"/a"})", "[]", ""}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_exported_line(line).has_value(), line);
  }
  // Nobody is sent one who did not ask: to the others it is a breach, as before.
  TEST_ASSERT_FALSE(
      parse_trainer_line(R"({"type":"exported","samples":1,"problem":"x"})").has_value());
}

TEST(a_group_is_read_as_it_was_written) {
  GroupStatus group;
  group.round = 82;
  group.rounds = 200;
  group.note = "made by n-1, n-2; without n-3 since round 80";
  group.boards = {{"n-1", 1500, 0.81}, {"n-2", 1400, std::nullopt}};
  group.waits_for = {"n-2"};
  group.accuracy = 0.8;
  group.epsilon = 3.25;
  group.delta = 1e-5;
  std::string line = group_line(group);
  line.pop_back();
  const auto read = parse_trainer_line(line);
  TEST_ASSERT_TRUE(read.has_value());
  TEST_ASSERT_TRUE(read->type == TrainerMessage::Type::kGroup && read->group == group);
  for (
      const char* bad :
      {R"({"type":"group","round":1,"rounds":2,"boards":[]})",
       R"({"type":"group","round":-1,"rounds":2,"boards":[],"waits_for":[]})",
       R"({"type":"group","round":1,"rounds":2,"boards":[{"node":"A b","rows":1}],"waits_for":[]})",
       R"({"type":"group","round":1,"rounds":2,"boards":[],"waits_for":[7]})"}) {
    TEST_ASSERT_FALSE(parse_trainer_line(bad).has_value());
  }
  // As many boards as a group has still fit a line.
  group.boards.assign(kGroupBoardsMax, {std::string(32, 'n'), 1'000'000, 0.123456789012345});
  group.waits_for.assign(kGroupBoardsMax, std::string(32, 'n'));
  line = group_line(group);
  line.pop_back();
  TEST_ASSERT_TRUE(parse_trainer_line(line).has_value());
}

TEST(the_question_for_the_meter_is_a_message) {
  const std::string line = meter_line();
  const Result<TrainerMessage> message = parse_trainer_line(line.substr(0, line.size() - 1));
  TEST_ASSERT_TRUE(message.has_value());
  TEST_ASSERT_TRUE(message->type == TrainerMessage::Type::kMeter);
}
