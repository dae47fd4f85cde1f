#include "cli/command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

// A program with every kind of option, as the real ones have them.
struct Program {
  cli::Command app{"program: for the tests"};
  std::string file;
  std::vector<std::string> boards;
  int nodes = 3;
  double loss = 0.25;
  std::string output = "text";
  std::vector<std::string> marks;
  bool yes = false;
  int runs = 0;
  cli::Command* run = nullptr;

  Program() {
    app.require_subcommand();
    app.set_version("program 1");
    run = app.add_subcommand("run", "Run it.\nExample: program run a.json");
    run->add_option("file", file, "The file")->required();
    run->add_option("--boards", boards, "Which")->delimiter(',')->group("Where");
    run->add_option("--nodes", nodes, "How many")->check(cli::range(1, 10))->show_default();
    run->add_option("--loss", loss, "How much")->check(cli::range(0.0, 1.0));
    run->add_option("-o,--output", output, "How")->check(cli::one_of({"text", "json"}));
    run->add_option("--mark", marks, "What was done")->take_all();
    run->add_flag("-y,--yes", yes, "Do not ask");
    run->callback([this] { ++runs; });
  }

  // What the library prints is not the test's business.
  std::optional<int> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    std::fflush(nullptr);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int out = ::dup(STDOUT_FILENO);
    const int err = ::dup(STDERR_FILENO);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    const auto ended = app.parse(static_cast<int>(argv.size()), argv.data());
    std::fflush(nullptr);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    for (const int fd : {nowhere, out, err}) ::close(fd);
    return ended;
  }
};

}  // namespace

TEST(runs_the_command_that_was_named_with_its_values) {
  Program p;
  TEST_ASSERT_FALSE(p.parse({"run", "a.json", "--boards", "n-1,n-2", "--nodes", "7", "--loss",
                             "0.5", "-o", "json", "-y"})
                        .has_value());
  TEST_ASSERT_EQUAL_INT(1, p.runs);
  TEST_ASSERT_EQUAL_STRING("a.json", p.file.c_str());
  TEST_ASSERT_EQUAL_UINT(2, p.boards.size());
  TEST_ASSERT_EQUAL_STRING("n-2", p.boards[1].c_str());
  TEST_ASSERT_EQUAL_INT(7, p.nodes);
  TEST_ASSERT_EQUAL_DOUBLE(0.5, p.loss);
  TEST_ASSERT_EQUAL_STRING("json", p.output.c_str());
  TEST_ASSERT_TRUE(p.yes);
  TEST_ASSERT_TRUE(p.run->given("--nodes"));
}

TEST(a_list_may_be_given_word_by_word) {
  Program p;
  TEST_ASSERT_FALSE(p.parse({"run", "a.json", "--mark", "a", "--mark", "b"}).has_value());
  TEST_ASSERT_EQUAL_UINT(2, p.marks.size());
  TEST_ASSERT_EQUAL_STRING("b", p.marks[1].c_str());
}

TEST(an_option_that_is_not_given_keeps_its_value) {
  Program p;
  TEST_ASSERT_FALSE(p.parse({"run", "a.json"}).has_value());
  TEST_ASSERT_EQUAL_INT(3, p.nodes);
  TEST_ASSERT_FALSE(p.yes);
  TEST_ASSERT_FALSE(p.run->given("--nodes"));
}

TEST(a_wrong_command_line_ends_with_the_usage_code_and_runs_nothing) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"fly"},
                                             {"run"},
                                             {"run", "a.json", "--nodes", "11"},
                                             {"run", "a.json", "--nodes", "many"},
                                             {"run", "a.json", "--loss", "1.5"},
                                             {"run", "a.json", "-o", "yaml"},
                                             {"run", "a.json", "--unknown"}}) {
    Program p;
    const auto ended = p.parse(words);
    TEST_ASSERT_TRUE(ended.has_value());
    TEST_ASSERT_EQUAL_INT(cli::kUsageCode, *ended);
    TEST_ASSERT_EQUAL_INT(0, p.runs);
  }
}

TEST(help_and_version_end_well_and_run_nothing) {
  for (const char* word : {"--help", "--version"}) {
    Program p;
    const auto ended = p.parse({word});
    TEST_ASSERT_TRUE(ended.has_value());
    TEST_ASSERT_EQUAL_INT(0, *ended);
    TEST_ASSERT_EQUAL_INT(0, p.runs);
  }
}

TEST(tells_its_commands_and_options_for_completions) {
  const Program p;
  TEST_ASSERT_EQUAL_UINT(1, p.app.subcommands().size());
  const cli::Command& run = *p.app.subcommands().front();
  TEST_ASSERT_EQUAL_STRING("run", run.name().c_str());
  bool file = false;
  bool boards = false;
  bool yes = false;
  bool help = false;
  for (const cli::OptionInfo& option : run.options()) {
    const std::string name = option.long_names.empty() ? "" : option.long_names.front();
    if (option.positional) file = option.name == "file";
    if (name == "boards") boards = option.takes_value && option.group == "Where";
    if (name == "yes") yes = !option.takes_value && option.short_names.front() == "y";
    if (name == "help") help = true;
  }
  TEST_ASSERT_TRUE(file && boards && yes && help);
}
