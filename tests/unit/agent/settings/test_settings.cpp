#include "agent/settings/settings_loader.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

std::string all_problems(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/laird.json";
  std::ofstream(path) << text;
  std::vector<config::Problem> problems;
  static_cast<void>(load_settings(path, problems));
  std::string out;
  for (const config::Problem& p : problems) {
    out += std::to_string(p.line) + " " + p.path + ": " + p.what + "\n";
  }
  return out;
}

void assert_has(const std::string& text, const char* part) {
  TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, text.c_str());
}

}  // namespace

TEST(an_empty_config_is_a_whole_one) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/laird.json";
  std::ofstream(path) << R"({"trainers": {"t": {"exec": ["/bin/true"]}}})";
  std::vector<config::Problem> problems;
  const Settings settings = load_settings(path, problems);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  TEST_ASSERT_TRUE(settings.core.lanes.size() >= 2);
  TEST_ASSERT_TRUE(settings.core.memory_bytes > 0);
  TEST_ASSERT_EQUAL_STRING("foresight", settings.core.policy.c_str());
  TEST_ASSERT_EQUAL_STRING("/var/lib/laird/laird.sock", settings.control_socket.c_str());
}

TEST(every_problem_comes_at_once_with_line_path_and_remedy) {
  const std::string all = all_problems(
      "{\n\"polcy\": \"uniform\",\n\"slice\": \"1\",\n\"trainers\": {\"t\": {\"exec\": "
      "[\"./run.sh\"]}},\n\"tasks\": [\n{\"name\": \"a\", \"trainer\": \"u\", \"deadline\": "
      "\"tomorrow\", \"target_loss\": 1, \"memory\": \"1GB\"},\n{\"name\": \"a\", \"trainer\": "
      "\"t\", \"deadline\": \"5s\", \"target_loss\": 1, \"memory\": \"1GB\"}]}");
  assert_has(all, "2 /polcy: unknown key in laird.json; did you mean \"policy\"?");
  assert_has(all, "3 /slice: '1' has no unit; write a number and a unit");
  assert_has(all, "/trainers/t/exec/0: './run.sh' is a relative path; write an absolute one");
  assert_has(all, "/tasks/0/deadline: 'tomorrow' is neither a duration");
  assert_has(all, "/tasks/0/trainer: 'u' is not under \"trainers\"; add it there");
  assert_has(all, "/tasks/1/name: two tasks are named 'a'; rename one");
}

TEST(broken_json_is_one_problem_with_its_line) {
  assert_has(all_problems("{\n\"node\": \"a\",\n\"slice\" \"1s\"\n}"), "3 /: not valid JSON near");
}

TEST(deadlines_are_durations_or_utc_times) {
  const auto spec_of = [](const char* deadline, std::vector<config::Problem>& problems) {
    const auto value = json::parse(
        std::string(R"({"name":"a","trainer":"t","target_loss":1,"memory":"1GB","deadline":")") +
            deadline + "\"}",
        "x");
    return parse_task(*value, "x", problems);
  };
  std::vector<config::Problem> problems;
  TEST_ASSERT_EQUAL_INT64(90 * kSecond, spec_of("90s", problems).deadline_after);
  TEST_ASSERT_EQUAL_INT64(1801418400 * kSecond,
                          spec_of("2027-01-31T18:00:00Z", problems).deadline_wall);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  for (const char* bad : {"2027-01-31", "2027-13-31T18:00:00Z", "0s", "500d",
                          "2027-01-31T18:00:00+01:00", "2027-01-31T18:00:00Zx"}) {
    problems.clear();
    static_cast<void>(spec_of(bad, problems));
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, problems.size(), bad);
  }
}

TEST(a_weight_is_a_tenth_to_a_hundred_and_one_unless_given) {
  const auto weighing = [](const std::string& weight, std::vector<config::Problem>& problems) {
    const auto value = json::parse(R"({"name": "a", "trainer": "b", "deadline": "5m",
                                       "target_loss": 1, "memory": "20MB")" +
                                       weight + "}",
                                   "x");
    return parse_task(*value, "x", problems).weight_milli;
  };
  std::vector<config::Problem> none;
  TEST_ASSERT_EQUAL_UINT32(1000, weighing("", none));
  TEST_ASSERT_EQUAL_UINT32(2500, weighing(R"(, "weight": 2.5)", none));
  TEST_ASSERT_EQUAL_UINT32(100, weighing(R"(, "weight": 0.1)", none));
  TEST_ASSERT_TRUE(none.empty());
  for (const char* wrong : {R"(, "weight": 0)", R"(, "weight": 101)", R"(, "weight": "much")"}) {
    std::vector<config::Problem> problems;
    static_cast<void>(weighing(wrong, problems));
    TEST_ASSERT_EQUAL_UINT64(1, problems.size());
  }
}

TEST(utc_times_are_those_of_the_c_library) {
  // Leap days, the ends of months and years, and the first and last year that are taken.
  for (const std::time_t at : {31'536'000L, 68'169'600L, 951'782'400L, 951'868'799L, 1'078'012'800L,
                               1'709'164'800L, 1'735'689'599L, 4'107'542'400L, 9'214'646'399L}) {
    std::tm utc{};
    gmtime_r(&at, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const auto value = json::parse(
        std::string(R"({"name":"a","trainer":"t","target_loss":1,"memory":"1GB","deadline":")") +
            text + "\"}",
        "x");
    std::vector<config::Problem> problems;
    TEST_ASSERT_EQUAL_INT64_MESSAGE(at * kSecond, parse_task(*value, "x", problems).deadline_wall,
                                    text);
  }
}

TEST(settings_follow_from_a_config_and_its_surroundings_alone) {
  Surroundings around;
  around.resolve = [](const std::string& path) { return "/conf/" + path; };
  around.find_program = [](const std::string& program) -> Result<std::string> {
    if (program == "gone") return fail(Code::kNotFound, "no program 'gone'");
    return "/opt/" + program;
  };
  around.choose_board = [](const std::string& wish) -> Result<ChosenBoard> {
    if (wish != "auto") return fail(Code::kNotFound, "no board '" + wish + "'");
    ChosenBoard out;
    out.board.lanes = {{"cpu0", power::LaneKind::kCpu}, {"cpu1", power::LaneKind::kCpu}};
    out.notes = {"seen in a test"};
    return out;
  };
  around.cpu_cores = 6;
  const auto settings_of_text = [&around](const char* text,
                                          std::vector<config::Problem>& problems) {
    return parse_settings(*json::parse(text, "x.json"), "x.json", around, problems);
  };
  std::vector<config::Problem> problems;
  const Settings made = settings_of_text(
      R"({"state_dir":"state","trainers":{"t":{"exec":["train","-v"]}}})", problems);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  TEST_ASSERT_EQUAL_STRING("/conf/state", made.state_dir.c_str());
  TEST_ASSERT_EQUAL_STRING("/opt/train", made.trainers.at("t").argv[0].c_str());
  TEST_ASSERT_EQUAL_UINT32(3000, made.core.lanes.at(1).cores_milli);
  TEST_ASSERT_EQUAL_STRING("seen in a test", made.board_notes.at(0).c_str());
  static_cast<void>(
      settings_of_text(R"({"board":{"name":"b"},"trainers":{"t":{"exec":["gone"]}}})", problems));
  TEST_ASSERT_EQUAL_UINT64(2, problems.size());
  TEST_ASSERT_EQUAL_STRING("x.json: /board/name: no board 'b'", problems[0].text().c_str());
  TEST_ASSERT_EQUAL_STRING("no program 'gone'", problems[1].what.c_str());
}

TEST(a_trainer_may_be_an_image) {
  Surroundings around;
  around.resolve = [](const std::string& path) { return "/conf/" + path; };
  around.find_program = [](const std::string& name) -> Result<std::string> { return name; };
  around.choose_board = [](const std::string&) -> Result<ChosenBoard> { return ChosenBoard{}; };
  const auto read = [&around](const std::string& trainer, std::vector<config::Problem>& problems) {
    const std::string text = R"({"node":"n-1","trainers":{"t":)" + trainer + "}}";
    return parse_settings(*json::parse(text, "x.json"), "x.json", around, problems);
  };
  std::vector<config::Problem> problems;
  const Settings made = read(R"({"image":"localhost/a:1"})", problems);
  TEST_ASSERT_EQUAL_UINT64(0, problems.size());
  const TrainerProgram& program = made.trainers.at("t");
  TEST_ASSERT_EQUAL_STRING("localhost/a:1", program.what().c_str());
  TEST_ASSERT_EQUAL_STRING("/usr/bin/podman", program.engine.at(0).c_str());
  TEST_ASSERT_TRUE(program.argv.empty());
  TEST_ASSERT_TRUE(check_command(program).empty());
  for (const char* wrong : {R"({"image":"--privileged"})", R"({"image":"a b"})",
                            R"({"image":"a;b"})", "{}", R"({"image":"a","protocol":"lines"})"}) {
    problems.clear();
    static_cast<void>(read(wrong, problems));
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, problems.size(), wrong);
  }
}

TEST(a_trainers_own_check_is_known_or_declared) {
  const TrainerProgram built_in{{"/usr/bin/laird-train", "mlp"}, {}};
  const std::vector<std::string> command = check_command(built_in);
  TEST_ASSERT_EQUAL_UINT64(3, command.size());
  TEST_ASSERT_EQUAL_STRING("check", command[1].c_str());
  TrainerProgram own{{"/opt/own", "-v"}, {}};
  TEST_ASSERT_TRUE(check_command(own).empty());
  own.checks = true;
  TEST_ASSERT_EQUAL_STRING("--laird-check", check_command(own).back().c_str());
  TEST_ASSERT_EQUAL_UINT64(3, check_command(own).size());
  TEST_ASSERT_TRUE(check_command({{"/usr/bin/laird-train", "average"}, {}}).empty());
}

TEST(programs_are_never_looked_up_in_path) {
  TEST_ASSERT_FALSE(find_program("ls").has_value());
  TEST_ASSERT_FALSE(find_program("bin/ls").has_value());
  TEST_ASSERT_TRUE(find_program("/bin/ls").has_value());
}

TEST(the_reference_page_is_up_to_date) {
  std::ifstream in(LAIRD_SOURCE_DIR "/docs/configuration.md");
  std::ostringstream page;
  page << in.rdbuf();
  TEST_ASSERT_TRUE_MESSAGE(
      page.str() == settings_reference(),
      "run: build/release/bin/laird check --reference > docs/configuration.md");
}

TEST(the_example_of_the_demo_is_valid) {
  std::vector<config::Problem> problems;
  const Settings settings =
      load_settings(LAIRD_SOURCE_DIR "/examples/one_board/laird.json", problems);
  for (const config::Problem& p : problems) {
    // The trainers' programs are beside laird, not beside this test, in some builds.
    TEST_ASSERT_TRUE_MESSAGE(p.path.find("/trainers/") == 0, p.text().c_str());
  }
  TEST_ASSERT_TRUE(settings.tasks.empty());  // the demo adds them: tests/e2e/fleet/test_workload.py
}
